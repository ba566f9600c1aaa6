"""Proxies that were set to fail open, as their examples say how."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integrations.asking import ask
from tests.integrations.edges import EXAMPLES, Edge, running
from tests.server.deciding import Deciding, Service, deciding


def opened(name: str, directory: Path) -> Path:
    """A copy of an example that fails open."""
    folder = directory / name
    shutil.copytree(EXAMPLES / name, folder)
    file = folder / {"nginx": "tidegate.conf.template", "envoy": "envoy.yaml"}[name]
    text = file.read_text()
    if name == "envoy":
        file.write_text(text.replace("failure_mode_allow: false", "failure_mode_allow: true"))
        return folder
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("    #     if "))
    end = next(at for at, line in enumerate(lines) if line.startswith("    #     proxy_pass"))
    place = max(at for at, line in enumerate(lines) if line.strip() == "return 502;")
    lines[place : place + 1] = [
        line.replace("    #     ", "        ") for line in lines[begin : end + 1]
    ]
    file.write_text("\n".join(lines))
    return folder


@pytest.fixture
def alone(tmp_path: Path, process: None) -> Iterator[Service]:
    """A service that a test may stop."""
    with deciding(tmp_path / "data") as made:
        yield made


@pytest.mark.parametrize("name", ["nginx", "envoy"])
def test_without_the_service_a_visitor_passes(
    name: str, alone: Service, tmp_path: Path, proxy: None
) -> None:
    """Without the service visitors pass, except those whose request cannot be decided on."""
    key = alone.tenant().key
    with running(name, alone.base_url, key, tmp_path, opened(name, tmp_path)) as edge:
        check_that_nobody_chooses_it(edge)
        alone.process.terminate()
        alone.process.wait(30)
        assert ask(edge.base_url, "/").status == 200


def check_that_nobody_chooses_it(edge: Edge) -> None:
    """A visitor with too much of something is refused while the service is there."""
    many = "&".join(f"a{number}=" for number in range(300))
    assert ask(edge.base_url, f"/?{many}").status == 403
    assert ask(edge.base_url, "/", {"cookie": "a=" + "b" * 6_000 + ";a=" * 300}).status in (
        400,
        403,
    )
    headers = {f"x-{number}": "1" for number in range(99)}
    assert ask(edge.base_url, "/", headers).status in (403, 431)


@pytest.mark.parametrize("name", ["nginx", "envoy"])
def test_a_block_stays_one(name: str, shop: Deciding, tmp_path: Path) -> None:
    """A block stays one, also with a status that would be a failure to the proxy."""
    folder = opened(name, tmp_path)
    with running(name, shop.service.base_url, shop.key, tmp_path, folder) as edge:
        assert [ask(edge.base_url, path).status for path in ("/closed", "/free")] == [403, 200]
