"""Settings, declared once.

Each setting has one name and three spellings: ``store.url`` in the file, ``TIDEGATE_STORE_URL`` in
the environment, ``--store-url`` on the command line.  A flag overrides the environment, the
environment the file, the file the default.

The classes are in several files because, before Python 3.13, the library that turns them into flags
parses the whole file of each class at the start of every command.
"""
