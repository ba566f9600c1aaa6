"""``tidegate repl``: expressions as they are typed, against one event."""
