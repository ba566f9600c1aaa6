"""Calls a Tidegate service: decisions on requests, events in batches, proofs of challenges.

``Client`` is for threads, ``AsyncClient`` for asyncio.  They don't use the engine; their other
dependencies are in the extra ``client``.
"""

from tidegate.client.async_client import AsyncClient
from tidegate.client.batcher import Batching
from tidegate.client.client import Client
from tidegate.client.errors import ClientError, ErrorDetail
from tidegate.client.events import EncodedEvent
from tidegate.client.results import (
    BeaconResponse,
    DeliveryCounts,
    FailedEvent,
    FailMode,
    RuntimeDecision,
)
from tidegate.client.retries import Backoff
from tidegate.client.world import World
from tidegate.event_form import Event, RequestContext

__all__ = [
    "AsyncClient",
    "Backoff",
    "Batching",
    "BeaconResponse",
    "Client",
    "ClientError",
    "DeliveryCounts",
    "EncodedEvent",
    "ErrorDetail",
    "Event",
    "FailMode",
    "FailedEvent",
    "RequestContext",
    "RuntimeDecision",
    "World",
]
