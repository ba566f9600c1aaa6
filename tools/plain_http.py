"""Calls of HTTP, each on a connection of its own.

The functions of httpx2 read the certificates of the machine for each call, which takes longer than
the call.  These read them once for all calls of a process.
"""

from __future__ import annotations

import ssl
from functools import partial

import httpx2

CONTEXT = ssl.create_default_context()
"""For a client, as its ``verify``."""

request = partial(httpx2.request, verify=CONTEXT)
get = partial(httpx2.get, verify=CONTEXT)
post = partial(httpx2.post, verify=CONTEXT)
