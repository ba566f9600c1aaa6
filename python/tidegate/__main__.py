"""``python -m tidegate`` is the command ``tidegate``."""

from tidegate.cli.main import main

main()
