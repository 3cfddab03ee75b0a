"""The command line itself: finds the verb, loads only what that verb needs, tells errors in one line."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys

import click

from muisti.errors import MuistiError
from muisti.surfaces.cli.main import VERBS

_MODULE_OF = {verb: module for module, verbs in VERBS.items() for verb in verbs}


class LazyGroup(click.Group):
    """Imports a verb's module only when that verb is called: a hook that runs on every prompt must start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order of a newcomer's needs."""
        return list(_MODULE_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb."""
        if cmd_name not in _MODULE_OF:
            return None
        module = importlib.import_module(f"muisti.surfaces.cli.{_MODULE_OF[cmd_name]}")
        commands: dict[str, click.Command] = module.COMMANDS
        return commands[cmd_name]


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every verb takes --json, --vault PATH and --help.",
)
@click.version_option(package_name="muisti", message="muisti %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Memory that you own: Markdown files that you can read, search that finds them.

    \b
    muisti save "We chose PostgreSQL as our database" --kind decision
    muisti search "which database did we choose?"
    """  # noqa: D301  # \b keeps click from folding the two lines
    if ctx.invoked_subcommand is None:
        from muisti.surfaces.cli.welcome import welcome

        welcome(ctx)


def run() -> None:
    """Run the command; an error of ours is one line, and an exit code that is not 0."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # better a question mark than no answer
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the reader of our output has gone
        sys.exit(0)
    except (MuistiError, OSError) as error:
        if "--json" in sys.argv:
            problem = {"error": type(error).__name__, "message": str(error)}
            if isinstance(error, MuistiError):
                problem |= {"title": error.title, "next_step": error.next_step}
            click.echo(json.dumps(problem, ensure_ascii=False), err=True)
        else:
            from muisti.surfaces.cli.render import visible

            click.echo(f"Error: {visible(str(error))}", err=True)
        sys.exit(error.exit_code if isinstance(error, MuistiError) else 1)
