"""The command ``tidegate``: one file for each subcommand."""
