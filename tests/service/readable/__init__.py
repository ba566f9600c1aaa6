"""Whatever is accepted can be read: generated events, sent and read back by every route.

``python -m tests.service.readable --events 100000`` is the long run.
"""
