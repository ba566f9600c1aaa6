"""Secrets in every place and form that is listed, and values that only look like secrets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest

from secret_places import Place, lookalikes, places
from tidegate.evaluation import native, redact

KEY = b"k" * 32
PLACES, LOOKALIKES = list(places()), list(lookalikes())


@pytest.fixture(params=[redact.Redactor, native.Redactor])
def redactor(request: pytest.FixtureRequest) -> Any:
    return request.param([], KEY)


def test_the_lists_are_long() -> None:
    """There are 300 places and forms and 100 look-alikes at least, each once."""
    assert len(PLACES) >= 300
    assert len(LOOKALIKES) >= 100
    assert Counter(each.name for each in LOOKALIKES).most_common(1)[0][1] == 1


def test_every_place_has_its_secret() -> None:
    """The secret of a place is in its event, so the search for it means something."""
    assert [each.name for each in PLACES if each.secret not in _text(each)] == []


def test_no_secret_is_in_clear(redactor: Any) -> None:
    """A secret is in no event as it is kept."""
    kept = ((each, redactor.redact(orjson.dumps(each.event)).decode()) for each in PLACES)
    assert [(each.name, text) for each, text in kept if each.secret in text] == []


def test_redacting_twice_changes_nothing(redactor: Any) -> None:
    """An event that was redacted stays as it is, to the byte."""
    once = [redactor.redact(orjson.dumps(each.event)) for each in PLACES]
    assert [redactor.redact(each) for each in once] == once


def test_lookalikes_are_kept(redactor: Any) -> None:
    """A value that only looks like a secret is kept."""
    kept = ((each, orjson.loads(redactor.redact(orjson.dumps(each.event)))) for each in LOOKALIKES)
    assert [(each.name, event) for each, event in kept if event != each.event] == []


def test_both_redact_alike() -> None:
    """Both redactors keep the same of every event, to the byte."""
    ours, reference = native.Redactor([], KEY), redact.Redactor([], KEY)
    bodies = [orjson.dumps(each.event) for each in [*PLACES, *LOOKALIKES]]
    assert [ours.redact(body) for body in bodies] == [reference.redact(body) for body in bodies]


def _text(place: Place) -> str:
    return orjson.dumps(place.event).decode()
