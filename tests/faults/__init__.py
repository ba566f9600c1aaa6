"""Faults made on purpose: processes killed, disks filled, stops under load."""
