"""Open Policy Agent's server as a peer of the service: the published rules in Rego.

Rego has no `&&` inside an expression: a disjunction and a negation become rules of their own.
OPA answers with the names of the rules that hold and keeps no record; the service also decides,
remembers, and writes its decision to disk before it answers.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.server.served import SERVER_CORE, pinned, stop
from benchmarks.traffic.translation import REQUEST_MEMBERS, is_common
from benchmarks.traffic.workload import iterate_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.traffic.workload import Rule

ADDRESS = "127.0.0.1:18474"
PATH = "/v1/data/rules/matched"
TESTS = {"contains": "contains", "starts": "startswith", "ends": "endswith"}


def common_rules(count: int) -> list[Rule]:
    """The rules among ``count`` published ones that Rego can express as well."""
    return [rule for rule in iterate_rules(count) if is_common(rule.tree)]


def to_rego(rules: Sequence[Rule]) -> str:
    """A module whose ``matched`` holds the ids of the rules that hold."""
    writer = _Writer()
    for rule in rules:
        writer.rule(f"matched contains {json.dumps(rule.rule_id)}", rule.tree)
    return "package rules\n\nimport rego.v1\n\n" + "\n".join(writer.lines) + "\n"


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._helpers = 0

    def rule(self, head: str, tree: list[Any]) -> None:
        body = "\n".join(f"    {line}" for line in self._body(tree))
        self.lines.append(f"{head} if {{\n{body}\n}}")

    def _helper(self, *trees: list[Any]) -> str:
        """The name of a rule that holds when one of the trees does."""
        self._helpers += 1
        name = f"part_{self._helpers}"
        for tree in trees:
            self.rule(name, tree)
        return name

    def _body(self, tree: list[Any]) -> list[str]:
        match tree:
            case ["and", *operands]:
                return [line for operand in operands for line in self._body(operand)]
            case ["or", *operands]:
                return [self._helper(*operands)]
            case ["not", operand]:
                return [f"not {self._helper(operand)}"]
            case ["has", name, key]:
                return [f"object.get({_map(name)}, {json.dumps(key)}, null) != null"]
            case ["eq", field, text]:
                return [f"{_subject(field)} == {json.dumps(text)}"]
            case ["ne", field, text]:
                return [f"{_subject(field)} != {json.dumps(text)}"]
            case ["in", field, texts]:
                return [f"{_subject(field)} in {{{', '.join(map(json.dumps, texts))}}}"]
            case [kind, field, text]:
                return [f"{TESTS[kind]}({_subject(field)}, {json.dumps(text)})"]
        raise ValueError(f"no form for `{tree[0]}`")


def _map(name: str) -> str:
    return "input.fields" if name == "fields" else f"input.request.{name}"


def _subject(field: str) -> str:
    name, dot, key = field.partition(".")
    if dot:
        return f'object.get({_map(name)}, {json.dumps(key)}, "")'
    return (
        f"input.{name}" if name == "source" else f"input.request.{REQUEST_MEMBERS.get(name, name)}"
    )


@contextmanager
def opa(program: str, rules: Sequence[Rule], directory: Path) -> Iterator[None]:
    """OPA's server with these rules, on the server's core."""
    module = directory / "rules.rego"
    module.write_text(to_rego(rules))
    command = [program, "run", "--server", "--addr", ADDRESS, "--log-level", "error", str(module)]
    process = subprocess.Popen(pinned(command, SERVER_CORE))
    try:
        _wait()
        yield
    finally:
        stop(process)


def ask(event: bytes) -> set[str]:
    """The ids of the rules that OPA finds to hold."""
    connection = http.client.HTTPConnection(ADDRESS, timeout=30)
    headers = {"content-type": "application/json"}
    connection.request("POST", PATH, b'{"input":%b}' % event, headers)
    return set(json.loads(connection.getresponse().read())["result"])


def _wait() -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection(ADDRESS, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError("OPA did not start")
