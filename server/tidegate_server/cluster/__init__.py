"""The logic of a cluster, without IO: which member decides for a tenant, and may answer.

State machines take messages, ticks, and results from the log, and return messages and requests to
the log.  Nothing here reads a clock, a socket, a file or a random number: a service drives the
machines with the real ones, and ``tests/simulation`` with a seed
(docs/decisions/0030-logic-without-io.md).
"""
