"""`muisti serve`: start the server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muisti.errors import SettingsError, describe_reading
from muisti.filesystem import is_occupied
from muisti.locations import find_database
from muisti.settings import IN_MEMORY, SETTINGS_FILE, find_vault
from muisti.surfaces.cli.shared import common_options, note, note_trust, print_json
from muisti.surfaces.extras import check_installed

if TYPE_CHECKING:
    from muisti.surfaces.rest.config import ServerConfig


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; one that other machines can reach requires a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--token",
    envvar="MUISTI_TOKEN",
    help="Token that clients must send. Visible to other users; prefer --token-file.",
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="File with the token (chmod 600)."
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Another host name of this server; may be repeated.",
)
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="URL",
    help="Web page that may call the API (CORS); may be repeated.",
)
@click.option(
    "--documents",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder whose Markdown clients may index; may be repeated.",
)
@click.option(
    "--tenants",
    is_flag=True,
    help="Serve all tenants of a PostgreSQL database; the token of a request decides which.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@common_options
def serve(
    vault: str | None, as_json: bool, open_page: bool, token_file: Path | None, **options: Any
) -> None:
    """Start the web page, the REST API and MCP over HTTP.

    Creates the vault if there is none.
    """
    check_installed("muisti serve")
    from muisti import bootstrap
    from muisti.surfaces.rest.config import ServerConfig
    from muisti.surfaces.rest.server import serve as run

    config = ServerConfig(
        host=options["host"],
        port=options["port"],
        tenants=options["tenants"],
        token=options["token"] if token_file is None else _read_token(token_file),
        allowed_hosts=options["allow_host"],
        allowed_origins=tuple(origin.rstrip("/").lower() for origin in options["allow_origin"]),
        document_folders=tuple(folder.expanduser().absolute() for folder in options["documents"]),
    )
    if options["tenants"]:
        _serve_tenants(vault, config, as_json=as_json)
        return
    is_new = False
    if find_database(vault) is None:
        root = find_vault(vault)
        is_new = str(root) != IN_MEMORY and not is_occupied(root / SETTINGS_FILE)
    with bootstrap.open(vault, role="server", create=True) as memory:
        note_trust(memory)
        if is_new and not as_json:
            click.echo(f"Created vault: {memory.location}")

        def announce(ready: ServerConfig) -> None:
            url, token = ready.base_url, ready.token
            if as_json:
                print_json({"url": url, "vault": memory.location, "token": token is not None})
            else:
                served = f"Serving {memory.location} at {url} (API: {url}/docs)."
                click.echo(f"{served} Press Ctrl+C to stop.")
            sys.stdout.flush()
            if open_page:
                import threading
                import webbrowser

                # The browser swaps the token for a cookie at once.
                address = url if token is None else f"{url}/?token={token}"
                threading.Timer(0.5, webbrowser.open, (address,)).start()

        run(memory, config, announce)
    note("Stopped.")


def _serve_tenants(store: str | None, config: ServerConfig, *, as_json: bool) -> None:
    """Serve all tenants of a database until a signal comes."""
    address = find_database(store)
    if address is None:
        raise SettingsError("--tenants needs a database: --store postgresql://user@host/database")
    from muisti.bootstrap_tenants import TenantVaults
    from muisti.surfaces.rest.server import serve as run

    vaults = TenantVaults(address)

    def announce(ready: ServerConfig) -> None:
        if as_json:
            print_json({"url": ready.base_url, "vault": vaults.name, "token": True})
        else:
            click.echo(f"Serving the tenants of {vaults.name} at {ready.base_url}.")
        sys.stdout.flush()

    try:
        run(vaults, config, announce)
    finally:
        vaults.close()
    note("Stopped.")


def _read_token(path: Path) -> str:
    """Return the token in a file. Raises SettingsError if others can read it, or we cannot."""
    try:
        is_shared = path.stat().st_mode & 0o077
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = describe_reading(error)
        raise SettingsError(f"cannot read the token file {path}: {reason}") from error
    if is_shared and sys.platform != "win32":
        raise SettingsError(f"{path} is readable by other users; run chmod 600 {path}")
    return text


COMMANDS = {"serve": serve}
