"""Integrations at the edge of a site: middleware, and responses to a proxy's auth requests.

``conventions`` defines for all of them how to carry out a decision; ``forward_auth`` translates
between proxies and decisions.
"""

from tidegate.edge.asgi import AsgiMiddleware
from tidegate.edge.wsgi import WsgiMiddleware

__all__ = ["AsgiMiddleware", "WsgiMiddleware"]
