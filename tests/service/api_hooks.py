"""Facts for a fuzzing run of the interface that the document cannot state.

Loaded by schemathesis in the process that ``api_fuzzing`` starts.  Three things: ids and
expressions that are good are used where the generated ones are well-formed, so that requests get
past the first look-up; calls that end something are given something of their own to end; and a
good request may be refused for a reason that no schema has words for.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any
from uuid import uuid4

import hypothesis
import schemathesis
from access_rows import OBJECTS
from access_world import Connection, bearer

_GIVEN = json.loads(os.environ["TIDEGATE_FUZZ"])
_IDS: dict[str, str] = _GIVEN["ids"]
_REFERENCES = {
    "user_id": "user_id",
    "mitigation_id": "mitigation_id",
    "entity_definition_id": "entity_definition_id",
    "action_ids": "action_id",
}
_UUID = re.compile(r"[0-9a-fA-F-]{36}")
_EXPRESSIONS = ("true", 'request.path == "/"', 'fields["a"] in ["b"] || request.method.size() > 3')
_EXPRESSION_BYTES = 16_384
_UNSAYABLE = {
    "stale-revision": "the present revision is not in the document",
    "conflict": "what is there already is not in the document",
    "invalid-definitions": "definitions must hold together",
    "empty-payload": "one of two members must hold something",
    "idempotency-key-reused": "a key stands for the first body it came with",
    "body-too-large": "schemas have no bound of the whole",
    "invalid-event": "an event has bounds of its whole, and times that exist",
}
"""Codes that a request may be answered with though it is as the schema has it, and why."""
_SHAPE = {"wrong-type", "unknown-member", "missing-member", "wrong-length", "invalid-value"}
"""Codes of findings that a schema can say; ``server.conversion`` gives no others."""
_TAGS = re.compile(r'\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*')
_owner = bearer(_GIVEN["token"])

# The examples done, schemathesis has the search go on for more that are accepted, without a bound:
# for a body as large as an event that is minutes of shrinking.
setattr(hypothesis, "target", lambda *_, **__: None)  # noqa: B010, typed as a function


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    """Ids that lead somewhere, where the generated one is well-formed."""
    if path_parameters is None:
        return None
    return {
        name: _IDS.get(name, value) if _UUID.fullmatch(str(value)) else value
        for name, value in path_parameters.items()
    }


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Expressions and references that are good, where the generated ones are well-formed."""
    return _better(body)


def _better(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {each: _better(inner, each) for each, inner in value.items()}
        case list():
            return [_better(each, name) for each in value]
        case str() if name in _REFERENCES and _UUID.fullmatch(value):
            return _IDS[_REFERENCES[name]]
        case str() if name.endswith("expression") and 0 < len(value) <= _EXPRESSION_BYTES:
            return _EXPRESSIONS[len(value) % len(_EXPRESSIONS)]
        case str() if name == "key_fields" and 0 < len(value) <= _EXPRESSION_BYTES:
            return "request.client_ip"
    return value


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Something of its own for a call that ends something."""
    name = case.operation.definition.raw.get("operationId", "").removesuffix("-bare")
    if name == "revoke-token" and "Authorization" in (case.headers or {}):
        case.headers["Authorization"] = f"Bearer {_GIVEN['spare_token']}"
    given = case.path_parameters or {}
    last = list(given)[-1] if given else ""
    if case.method.upper() != "DELETE" or given.get("tenant_id") != _IDS["tenant_id"]:
        return
    if name == "delete-tenant":
        made = _made("/api/v1/tenants", {"name": f"Ends {uuid4()}"})
        case.path_parameters = {**given, "tenant_id": made["tenant_id"]}
    elif last in OBJECTS and given[last] == _IDS[last]:
        case.path_parameters = {**given, last: _new(last)}


def _new(name: str) -> str:
    path, body = OBJECTS[name]
    text = json.dumps(body).replace("{unique}", f"ends {uuid4()}")
    where = f"/api/v1/tenants/{_IDS['tenant_id']}/{path}"
    return str(_made(where, json.loads(text))[name])


def _made(path: str, body: Any) -> Any:
    # Every call of a hook may be on another thread.
    answer = Connection(_GIVEN["base_url"]).send("POST", path, _owner, body)
    assert answer.status == 201, answer.content
    return answer.json()


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether a finding is one."""
    kind = type(failure).__name__
    if kind == "RejectedPositiveData":
        return not _is_unsayable(response) and not _has_bad_tags(case)
    if kind == "AcceptedNegativeData" and case.operation.path.endswith("/beacon/events"):
        # Each event of a batch is refused for itself, in the answer.
        return not any("problem" in item for item in response.json())
    return True


def _is_unsayable(response: Any) -> bool:
    problem = response.json()
    if problem["code"] in _UNSAYABLE:
        return True
    errors = problem.get("errors", ())
    return problem["code"] == "invalid-request" and not any(
        each.get("code") in _SHAPE for each in errors
    )


def _has_bad_tags(case: Any) -> bool:
    """Schemathesis counts `0` as good for a header with a pattern that it is not of."""
    headers = {name.lower(): value for name, value in (case.headers or {}).items()}
    tags = [headers[name] for name in ("if-match", "if-none-match") if name in headers]
    return any(not _TAGS.fullmatch(each) for each in tags)
