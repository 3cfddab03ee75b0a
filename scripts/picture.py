"""Draw docs/demo.svg: the output of `muisti demo`, for the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DOCS = Path(__file__).parent.parent / "docs"
# The standard template fetches its font from the network; any monospaced font works.
OFFLINE = re.sub(
    r"@font-face \{\{.*?\n    \}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL
).replace("Fira Code, ", "")


def main() -> None:
    """Run the demo as on a terminal and draw it."""
    code = "from muisti.surfaces.cli.main import cli; cli(['demo'], color=True)"
    environment = {**os.environ, "COLUMNS": "104"}
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout
    console = Console(record=True, width=104, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ muisti demo\n" + output.rstrip("\n")))
    console.save_svg(
        str(DOCS / "demo.svg"), title="muisti demo", theme=MONOKAI, code_format=OFFLINE
    )


if __name__ == "__main__":
    main()
