"""`python -m muisti` is the command `muisti`."""

from muisti.surfaces.cli.main import main

main()
