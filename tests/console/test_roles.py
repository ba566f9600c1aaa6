"""Controls that a role may not use are disabled with the reason, and refused by the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser import Watched
from tests.server.deciding import Deciding, deciding

ROLES = ("Viewer", "Analyst", "Admin", "Owner")
READ_FROM = {"decisions": 1, "active": 1, "traffic": 1, "replay": 1, "audit": 1, "settings": 2}
"""Pages that a role reads only from some place in ``ROLES`` on."""
ADMIN = ROLES.index("Admin")


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deciding]:
    """A tenant with an operator of each role."""
    with deciding(tmp_path_factory.mktemp("roles")) as service:
        yield service.tenant()


@pytest.fixture(params=ROLES)
def role(request: pytest.FixtureRequest) -> str:
    """The name of a role; the test runs once for each."""
    return str(request.param)


@pytest.fixture
def member(browser: Browser, decided: Deciding, role: str) -> Iterator[Page]:
    """A page of an operator with the role."""
    base_url = decided.service.base_url
    context = browser.new_context(base_url=base_url)
    context.set_default_timeout(20_000)
    page = Watched.of(context, base_url).page
    page.goto(f"/console/#access_token={decided.by(role).token}")
    page.get_by_role("heading", name="Overview").wait_for()
    yield page
    context.close()


def test_a_role_sees_what_it_may_and_why_not_more(
    member: Page, decided: Deciding, role: str
) -> None:
    """Pages that are refused say which role reads them; forms that may not be saved say who may."""
    rank = ROLES.index(role)
    slug = decided.by(role).get(decided.path).json()["slug"]
    for path, needed in READ_FROM.items():
        member.goto(f"/console/{slug}/{path}")
        refused = member.get_by_text("Your role is")
        shown = member.get_by_role("heading", level=1)
        expect(shown.or_(refused)).to_be_visible()
        assert (refused.count() == 1) is (rank < needed), path
    for kind in ("actions", "mitigations", "lists", "entity-definitions", "policies"):
        member.goto(f"/console/{slug}/{kind}/new")
        save = member.get_by_role("button", name="Save", exact=True)
        expect(save).to_be_visible()
        assert save.is_disabled() is (rank < ADMIN), kind
        assert save.get_attribute("title") == (
            "Requires the role Admin or Owner." if rank < ADMIN else ""
        )
    member.goto(f"/console/{slug}/packs/scraping")
    preview = member.get_by_role("button", name="Preview")
    expect(preview).to_be_visible()
    assert preview.is_disabled() is (rank < ADMIN)
    answer = decided.by(role).post(f"{decided.path}/actions", {"name": role, "expression": "true"})
    assert (answer.status_code == 403) is (rank < ADMIN)
