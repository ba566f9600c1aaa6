"""Runs the command ``tidegate`` for ``python -m tidegate``."""

from tidegate.cli.main import main

main()
