"""The command ``tidegate``: one file for each of its commands."""
