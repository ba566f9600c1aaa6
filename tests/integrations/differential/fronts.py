"""The examples of proxies as they ship, in front of the recording site in place of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.integrations.edges import EXAMPLES

FRONTS = ("nginx", "caddy", "envoy")


def in_front_of(site_port: int, name: str, directory: Path) -> Path:
    """A copy of an example whose site is at a port of this machine.

    Args:
        site_port: of the site.
        name: of the example.
        directory: gets the copy.
    """
    folder = directory / name
    shutil.copytree(EXAMPLES / name, folder)
    file, change = _CHANGES[name]
    text = (folder / file).read_text()
    (folder / file).write_text(change(text, site_port))
    return folder


def _nginx(text: str, site_port: int) -> str:
    """Says, too, how nginx itself reads the address, where a header can hold that."""
    front, mark, _ = text.partition("# The site.\n")
    assert mark
    told = "proxy_set_header Host $http_host;"
    shown = 'map $uri $differential_uri { "~^[^\\x00-\\x20\\x7f]+\\z" $uri; default ""; }\n'
    added = (
        "\n        proxy_set_header X-Proxy-Path $differential_uri;"
        "\n        proxy_set_header X-Proxy-Host $host;"
    )
    return shown + _replaced(front, told, told + added).replace("${SITE_PORT}", str(site_port))


def _caddy(text: str, site_port: int) -> str:
    front, mark, _ = text.partition("# The site.\n")
    assert mark
    return _replaced(front, "{$SITE_PORT:8001}", str(site_port))


def _envoy(text: str, site_port: int) -> str:
    lines = text.splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if "direct_response:" in line)
    last = next(at for at, line in enumerate(lines) if "append_action" in line)
    indent = lines[first][: lines[first].index("direct")]
    lines[first : last + 1] = [f"{indent}route: {{cluster: site}}\n"]
    return "".join(lines) + _SITE_OF_ENVOY.replace("PORT", str(site_port))


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


_SITE_OF_ENVOY = """\
    - name: site
      type: STATIC
      connect_timeout: 1s
      load_assignment:
        cluster_name: site
        endpoints:
          - lb_endpoints:
              - endpoint:
                  address: {socket_address: {address: 127.0.0.1, port_value: PORT}}
"""
_CHANGES: Mapping[str, tuple[str, Callable[[str, int], str]]] = {
    "nginx": ("tidegate.conf.template", _nginx),
    "caddy": ("Caddyfile", _caddy),
    "envoy": ("envoy.yaml", _envoy),
}
