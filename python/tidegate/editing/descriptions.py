"""The meaning of fields and functions in words, for editors and the field catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.functions.registry import Function

DESCRIPTIONS: Mapping[str, str] = {
    "request.method": "method, in upper case",
    "request.protocol": "protocol of the request, such as HTTP/1.1",
    "request.scheme": "http or https, as the source says",
    "request.host": "host name in lower case, without a port",
    "request.path": "canonical path: decoded once, without empty and dot segments",
    "request.raw_path": "path as received",
    "request.query": "query as received, without its question mark",
    "request.arguments": "names and values of the query, then of a form or JSON body; at most 256",
    "request.query_params": "query parameters by name",
    "request.headers": "headers by name in lower case",
    "request.cookies": "cookies by name",
    "request.route_params": "parameters of the application's route by name",
    "request.user_agent": "user agent of the client",
    "request.referer": "where the client says it comes from",
    "request.content_type": "content type of the request",
    "request.client_ip": "address of the client, behind trusted proxies too",
    "request.body": "the body, when it is JSON",
    "source": "label of the origin of the event",
    "observed_at": "when the source saw the request",
    "fields": "free fields by name",
    "derived.ip_version": "4, 6, or 0 without an address",
    "derived.ip_subnet": "the /24 or /48 network of the client address",
    "derived.client_network": "the network that one client commonly has: /32, or /64 of IPv6",
    "derived.client_ip_problem": "why the client has no address, else empty",
    "derived.path_segments": "segments of the canonical path",
    "derived.path_extension": "extension of the last segment, in lower case",
    "derived.lenient_path": "path as the most lenient of back ends reads it",
    "derived.repeated_params": "names of query parameters that have several values",
    "derived.repeated_cookies": "names of cookies that have several values",
    "derived.arguments_incomplete": "whether the request may have arguments that aren't read",
    "derived.ua_family": "browser family of the user agent",
    "derived.ua_os": "operating system of the user agent",
    "derived.ua_device": "device family of the user agent",
    "derived.is_bot": "whether the user agent says it is a crawler",
    "derived.country": "country of the client address",
    "derived.asn": "number of the network of the client address",
    "derived.as_org": "owner of the network of the client address",
    "agent.operator": "company that runs the agent",
    "agent.product": "name of the agent",
    "agent.purpose": "search, training, user, monitoring, feed or other",
    "agent.proof": "what proves the agent: signature, range or dns; else name, or none",
    "agent.claims": "the agent that the client says it is",
    "agent.is_provable": "whether the operator publishes the addresses of the claimed agent",
    "agent.signature_problem": "why the signature of the request proves nothing, else empty",
}
"""By the name of the field."""


def description_of(function: Function) -> str:
    """The description of a function, with an example; Markdown, a line for each paragraph."""
    meanings = dict.fromkeys(each.meaning.__doc__ or "" for each in function.overloads)
    return "\n\n".join(filter(None, map(_plain, meanings)))


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
