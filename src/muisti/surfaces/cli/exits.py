"""How a command ends: an error is one line on standard error and a non-zero exit code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable

from muisti.errors import MuistiError, redact_message
from muisti.surfaces.cli.vaults import echo


def run_to_exit(command: Callable[[], object]) -> None:
    """Run a command, and exit if it fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a question mark is better than a traceback
    try:
        command()
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:
        echo("\nAborted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):  # what they still hold goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)
    except (MuistiError, OSError) as error:
        if "--json" in sys.argv:
            problem = {"error": type(error).__name__, "message": redact_message(str(error))}
            if isinstance(error, MuistiError):
                problem |= {"title": error.title, "next_step": error.next_step}
            echo(json.dumps(problem, ensure_ascii=False), err=True)
        else:
            from muisti.surfaces.cli.render import replace_unprintable

            echo(f"error: {replace_unprintable(redact_message(str(error)))}", err=True)
        sys.exit(error.exit_code if isinstance(error, MuistiError) else 1)
