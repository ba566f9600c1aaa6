"""The service's store: the port, its two implementations, and a file for each kind of object.

An implementation is imported on demand: a daemon needs only the port.
"""
