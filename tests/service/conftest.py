"""Fixtures of tests against a whole service."""

from service_process import service

__all__ = ["service"]
