"""The field catalog with the values that the newest events have."""

from __future__ import annotations

from tests.server.deciding import Deciding, Service


def busy(service: Service) -> Deciding:
    shop = service.tenant()
    for path in ("/login", "/login", "/"):
        shop.decide(path, fields={"password": "hunter2"})
    return shop


def test_fields_have_their_values(service: Service) -> None:
    """Declared and derived fields and actions have fill rates, and values, when asked for; a
    secret is shown as its hash, without a literal."""
    shop = busy(service)
    plain = {each["name"]: each for each in shop.get("field-catalog", limit=500)}
    assert plain["request.path"]["fill_rate"] is None
    assert plain["request.path"]["top_values"] is None
    found = {each["name"]: each for each in shop.get("field-catalog", limit=500, values=True)}
    path = found["request.path"]
    assert (path["fill_rate"], path["distinct_estimate"], path["events"]) == (1, 2, 3)
    assert [(each["literal"], each["count"]) for each in path["top_values"]] == [
        ('"/login"', 2),
        ('"/"', 1),
    ]
    assert found["actions.login"]["top_values"][0] == {"value": True, "literal": "true", "count": 2}
    assert found["derived.ip_version"]["top_values"][0]["value"] == 4
    (secret,) = found["fields.password"]["top_values"]
    assert secret["literal"] is None
    assert "hunter2" not in str(found)


def test_who_may_not_read_events_sees_no_values(service: Service) -> None:
    """A Viewer sees rates and no values."""
    found = busy(service).get("field-catalog", role="Viewer", limit=500, values=True)
    assert {each["top_values"] for each in found if each["top_values"]} == set()
    assert any(each["fill_rate"] for each in found if each["name"] == "request.path")
