"""How the console is handed out: what is cached, compressed, allowed."""

from __future__ import annotations

import gzip

import httpx2 as httpx
import pytest
from tests.console.conftest import ASSETS
from tests.service.service_process import Service


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/any/where"])
def test_every_page_of_the_console_is_one_page(service: Service, path: str) -> None:
    """Each address gives the page, which is asked for anew each time."""
    answer = httpx.get(service.base_url + path)
    assert answer.status_code == 200
    assert answer.text == (ASSETS / "index.html").read_text()
    assert answer.headers["cache-control"] == "no-cache"
    again = httpx.get(service.base_url + path, headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_the_policy_of_the_page_allows_no_inline_script(service: Service) -> None:
    """The page may run its own files and no text, and Trusted Types are demanded."""
    policy = httpx.get(f"{service.base_url}/console/").headers["content-security-policy"]
    assert "unsafe-inline" not in policy
    assert "data:" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_files_are_immutable_and_compressed(service: Service) -> None:
    """A file is kept by the browser for ever, in the best form it takes."""
    script = next((ASSETS / "assets").glob("index-*.js"))
    address = f"{service.base_url}/console/assets/{script.name}"
    answer = httpx.get(address, headers={"accept-encoding": "gzip, br;q=0"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.content == script.read_bytes()
    assert gzip.decompress(script.with_name(script.name + ".gz").read_bytes()) == answer.content
    plain = httpx.get(address, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize("path", ["/console/assets/none.js", "/console/assets/..%2findex.html"])
def test_what_was_not_built_is_not_there(service: Service, path: str) -> None:
    """No name leads out of the files of the build."""
    assert httpx.get(service.base_url + path).status_code == 404


def test_a_browser_at_the_root_is_led_to_the_console(service: Service) -> None:
    """So is a program, whose answer also has links to the interface."""
    page = httpx.get(f"{service.base_url}/", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/console/")
    program = httpx.get(f"{service.base_url}/")
    assert (program.status_code, program.headers["location"]) == (303, "/console/")
    assert "service-desc" in program.headers["link"]


def test_the_console_takes_no_writes(service: Service) -> None:
    """A form of another origin finds nothing to write to."""
    assert httpx.post(f"{service.base_url}/console/", data={"a": "b"}).status_code == 405
