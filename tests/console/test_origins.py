"""A page of another origin writes nothing, and a stolen token ends with the session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser import Watched
from tests.service.service_process import Service

ATTACK = """async ({ base, tenant }) => {
  const writes = [
    ['POST', `/api/v1/tenants/${tenant}/actions`, '{"name": "stolen", "expression": "true"}'],
    ['POST', `/api/v1/tenants/${tenant}/active-mitigations/lift`, '{"reason": "stolen"}'],
    ['POST', `/api/v1/tenants/${tenant}/policies/order`, '{"policy_ids": []}'],
    ['POST', '/api/v1/auth/local/token', '{"email": "a@example.test", "password": "b"}'],
  ];
  for (const [method, path, body] of writes) {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      await fetch(base + path, {
        method, body, mode: 'no-cors', credentials: 'include', headers: { 'content-type': type },
      }).catch(() => {});
    }
    await fetch(base + path, {
      method, body, credentials: 'include', headers: { 'content-type': 'application/json' },
    }).then(() => { throw new Error('read'); }, () => {});
    const form = document.createElement('form');
    const frame = document.createElement('iframe');
    frame.name = 'sink';
    Object.assign(form, { method, action: base + path, target: 'sink', enctype: 'text/plain' });
    const field = document.createElement('input');
    Object.assign(field, { name: '{"name": "stolen", "expression": "true", "x": "', value: '"}' });
    form.append(field);
    document.body.append(frame, form);
    const sent = new Promise((resolve) => { frame.onload = resolve; });
    form.submit();
    await sent;
    frame.remove();
  }
}"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of a site of another origin."""
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_another_origin_writes_nothing(
    browser: Browser, owner: Watched, service: Service, elsewhere: str
) -> None:
    """Forms and calls of another site, in the browser of somebody who is logged in, change
    nothing, and read nothing."""
    audit = f"/tenants/{service.tenant_id}/audit?limit=1"
    before = service.control("GET", audit).json()
    actions = service.control("GET", f"/tenants/{service.tenant_id}/actions").json()
    context = owner.page.context
    assert context in browser.contexts
    page = context.new_page()
    page.goto(elsewhere)
    page.evaluate(ATTACK, {"base": service.base_url, "tenant": service.tenant_id})
    assert service.control("GET", audit).json() == before
    assert service.control("GET", f"/tenants/{service.tenant_id}/actions").json() == actions
