"""Calls to servers that aren't trusted, with limits on time, size, place and form.

Only the HTTP library's transport is used, not its client: nothing follows a redirect by itself,
keeps a cookie, or reads a proxy from the environment.
"""

from tidegate.fetching.exchange import FetchError, exchange, trusted
from tidegate.fetching.fetcher import Fetcher

__all__ = ["FetchError", "Fetcher", "exchange", "trusted"]
