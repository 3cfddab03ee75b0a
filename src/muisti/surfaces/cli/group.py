"""The click group: loads the module of the command that runs, and prints errors."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from muisti.errors import redact_message
from muisti.surfaces.cli.exits import run_to_exit
from muisti.surfaces.cli.main import GROUPS, MODULES
from muisti.surfaces.cli.simple_search import COMPLETE_VARIABLE

_ALIASES = {"chat": "conversation"}
"""Former names of commands. They keep working, unlisted (contract M2)."""


class OutputClosed(Exception):
    """The reader of our output has exited, as `head` does."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is needed."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the command line. Raises OutputClosed, for which click would exit with 1."""
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError as error:
            raise OutputClosed from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise OutputClosed from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, group by group."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name or former name, or None."""
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in MODULES:
            return None
        module = importlib.import_module(f"muisti.surfaces.cli.{MODULES[name]}")
        commands: dict[str, click.Command] = module.COMMANDS
        command = commands[name]
        if ctx.resilient_parsing:  # a shell asks how to complete a line
            from muisti.surfaces.cli.complete import add_completion

            add_completion(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each group."""
        widest = max(map(len, MODULES))
        for title, names in GROUPS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    rows.append((name.ljust(widest), command.get_short_help_str(limit=80)))
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`muisti COMMAND --help` describes one command. Most take --json and --vault PATH.",
)
@click.version_option(package_name="muisti", message="muisti %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Memory for AI agents, in Markdown files you own.

    \b
    muisti save "We chose PostgreSQL as our database" --kind decision
    muisti search "which database did we choose?"
    """  # noqa: D301  # \b keeps click from joining the two lines
    if ctx.invoked_subcommand is None:
        from muisti.surfaces.cli.welcome import print_welcome

        print_welcome(ctx)


def run() -> None:
    """Run the command. An error is one line on standard error and a non-zero exit code."""
    run_to_exit(_run_click)


def _run_click() -> None:
    """Run the command, and exit for what only click raises."""
    try:
        cli.main(prog_name="muisti", complete_var=COMPLETE_VARIABLE, standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:  # its message is the whole help
        click.echo(error.message, err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        from muisti.surfaces.cli.usage_errors import describe_usage_error

        message = redact_message(describe_usage_error(error))
        click.echo(f"error: {message}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("Aborted.", err=True)
        sys.exit(130)
    except OutputClosed as error:
        raise BrokenPipeError from error
