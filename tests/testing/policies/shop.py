"""A shop's definitions and a file of tests for them."""

from __future__ import annotations

from pathlib import Path

DEFINITIONS = """\
apiVersion: tidegate/v1
actions:
  - name: Login failure
    expression: >-
      request.method == "POST" && request.path == "/account/login" && fields["status"] == "401"
entities:
  - name: Address
    key_fields: [derived.client_network]
mitigations:
  - {name: Block, mode: Block, ttl_seconds: 900, block: {status_code: 429}}
  - {name: Challenge, mode: Challenge, ttl_seconds: 0}
policies:
  - name: Credential stuffing
    clauses:
      - name: one address
        actions: [login_failure]
        entity: address
        mitigation: block
        window: {duration_seconds: 600, threshold: 5}
  - name: Scanners
    clauses:
      - name: admin
        expression: request.path.startsWith("/admin") || request.path == "/.env"
        mitigation: challenge
"""
TESTS = """\
apiVersion: tidegate.test/v1
definitions: shop.yaml
start: 2026-03-02T10:00:00Z
events:
  login:
    request: {method: POST, path: /account/login, client_ip: 192.0.2.7}
    fields: {status: "401"}
tests:
  - name: the fifth failure of an address is blocked, for 15 minutes, and no other address with it
    steps:
      - {send: login, times: 4, every: 2s, expect: {action: allow}}
      - send: login
        after: 2s
        expect: {action: block, policy: credential-stuffing, clause: one address}
      - {send: login, with: {request.client_ip: 198.51.100.9}, expect: {action: allow, fired: []}}
      - {send: login, after: 15m, expect: {action: allow}}
"""


def write(folder: Path, tests: str = TESTS, definitions: str = DEFINITIONS) -> Path:
    """The definitions and the tests in a folder; the path of the tests."""
    (folder / "shop.yaml").write_text(definitions)
    path = folder / "shop.tidegate-test.yaml"
    path.write_text(tests)
    return path


def of_steps(*steps: str) -> str:
    """A file with one test of these steps."""
    head = TESTS.partition("tests:\n")[0]
    return f"{head}tests:\n  - name: steps\n    steps:\n" + "".join(
        f"      - {each}\n" for each in steps
    )
