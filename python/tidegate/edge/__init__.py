"""Integrations at the boundary of a site: middleware, and answers to a proxy's questions.

``conventions`` says what becomes of a decision, for all of them; ``forward_auth`` translates
between proxies and decisions.
"""

from tidegate.edge.asgi import AsgiMiddleware
from tidegate.edge.wsgi import WsgiMiddleware

__all__ = ["AsgiMiddleware", "WsgiMiddleware"]
