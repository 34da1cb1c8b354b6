"""``python -m spanloom`` is the command ``spanloom``."""

from spanloom.cli.main import main

main()
