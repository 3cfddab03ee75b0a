"""The verb that starts the server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muisti.errors import SettingsError
from muisti.surfaces.cli.shared import common, note, print_json
from muisti.surfaces.extras import check_installed

if TYPE_CHECKING:
    from muisti.surfaces.rest.config import ServerConfig


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; another machine needs a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="0: any that is free.",
)
@click.option(
    "--token",
    envvar="MUISTI_TOKEN",
    help="What clients have to show. Others may see it here: better use a file.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="A file with the token, which only you can read.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further name of this server; may be repeated.",
)
@click.option(
    "--allow-origin", multiple=True, metavar="URL", help="A web page that may ask; may be repeated."
)
@click.option(
    "--documents",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Clients may have Markdown in it searched.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@common
def serve(
    vault: str | None, as_json: bool, open_page: bool, token_file: Path | None, **options: Any
) -> None:
    """Serve the vault to programs (REST) and to your browser, until Ctrl+C."""
    check_installed("muisti serve")
    from muisti import bootstrap
    from muisti.surfaces.rest.config import ServerConfig
    from muisti.surfaces.rest.server import serve as run

    serving = ServerConfig(
        host=options["host"],
        port=options["port"],
        token=options["token"] if token_file is None else _token_in(token_file),
        allowed_hosts=options["allow_host"],
        allowed_origins=tuple(origin.rstrip("/").lower() for origin in options["allow_origin"]),
        document_folders=tuple(folder.expanduser().absolute() for folder in options["documents"]),
    )
    with bootstrap.open(vault, role="server") as memory:
        run(
            memory,
            serving,
            lambda ready: _tell(ready, memory.location, as_json=as_json, open_page=open_page),
        )
    note("Stopped.")


def _token_in(path: Path) -> str:
    """The token of a file that nobody else can read. Raises SettingsError."""
    try:
        shared = path.stat().st_mode & 0o077
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the token cannot be read ({error})") from error
    if shared and sys.platform != "win32":
        raise SettingsError(f"{path}: others can read the token; chmod 600 {path}")
    return text


def _tell(serving: ServerConfig, root: str, *, as_json: bool, open_page: bool) -> None:
    """Where it is. The browser gets the token, if there is one, in the address, and at once a cookie in its place."""
    if as_json:
        print_json({"url": serving.base_url, "vault": root, "token": serving.token is not None})
    else:
        click.echo(
            f"Serving {root} at {serving.base_url} (API: {serving.base_url}/docs). Ctrl+C stops."
        )
    sys.stdout.flush()
    if open_page:
        import threading
        import webbrowser

        address = serving.base_url + ("" if serving.token is None else f"/?token={serving.token}")
        threading.Timer(0.5, webbrowser.open, (address,)).start()


COMMANDS = {"serve": serve}
