"""The address databases that say where clients are.

The place of a client is stated in its event before the decision and recorded with it, so
nothing that decides again needs a database.
"""
