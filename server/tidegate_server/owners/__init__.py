"""Calls to the owners of partitions, on other nodes or in other server workers."""
