"""Events as lines of nginx's access log."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode


def nginx_line(event: dict[str, Any]) -> str:
    """An event as nginx would log it, in its combined form."""
    request, fields = event["request"], event["fields"]
    query = urlencode(request["query_params"])
    target = request["path"] + (f"?{query}" if query else "")
    time = datetime.fromisoformat(event["observed_at"]).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return (
        f"{_escaped(request['client_ip'])} - - [{time}]"
        f' "{_escaped(request["method"])} {_escaped(target)} HTTP/1.1"'
        f" {fields.get('status', '-')} {fields.get('content_length', '-')}"
        f' "{_escaped(request["headers"].get("referer", "-"))}"'
        f' "{_escaped(request.get("user_agent") or "-")}"\n'
    )


def _escaped(text: str) -> str:
    return "".join(
        each if each.isascii() and each.isprintable() and each not in '"\\' else _bytes(each)
        for each in text
    )


def _bytes(character: str) -> str:
    return "".join(f"\\x{each:02X}" for each in character.encode("utf-8", "surrogatepass"))
