"""What is most likely not meant in the saved definitions."""

from __future__ import annotations

from tests.server.deciding import Deciding, made

NEVER = 'request.method == "get"'


def test_saved_definitions_have_the_warnings_of_their_writes(shop: Deciding) -> None:
    """An object has the warnings that its write answered; one without any is left out."""
    admin = shop.by("Admin")
    before = {each["id"] for each in shop.get("definitions/findings", role="Viewer")}
    wanted = {"name": "Never", "clauses": [{"expression": NEVER, "final": True}]}
    saved = made(admin.post(f"{shop.path}/policies", wanted))
    assert saved["warnings"]
    found = shop.get("definitions/findings", role="Viewer")
    (about,) = (each for each in found if each["id"] not in before)
    assert (about["kind"], about["id"], about["name"]) == ("policy", saved["policy_id"], "Never")
    assert about["warnings"] == saved["warnings"]
    changed = {"clauses": [{"expression": "request.path.contains('x')", "final": True}]}
    place = f"{shop.path}/policies/{saved['policy_id']}"
    assert admin.patch(place, changed).status_code == 200
    again = shop.get("definitions/findings")
    assert {each["id"] for each in again} == before
