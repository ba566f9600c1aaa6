"""Who am I: a token from the login, kept under its name, gone with the sign-out."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.service.service_process import Service

from browser import Watched

STORED = "localStorage.getItem('service.auth_token')"


def test_the_token_leaves_the_address_at_once(owner: Watched, service: Service) -> None:
    """After the callback the token is in the storage, and in no address or history entry."""
    page = owner.page
    assert page.evaluate(STORED) == service.owner_token
    assert service.owner_token not in page.url
    page.go_back()
    assert service.owner_token not in page.url
    owner.require_silence()


def test_without_a_token_the_login_is_shown(visitor: Watched) -> None:
    """A visitor of a deep link logs in first."""
    visitor.page.goto("/console/example-shop/decisions")
    visitor.page.wait_for_url("**/login")
    expect(visitor.page.get_by_label("Password")).to_be_visible()
    visitor.require_silence()


def test_a_wrong_password_is_said_where_it_was_typed(visitor: Watched) -> None:
    """The refusal of the service stands above the form and stays."""
    page = visitor.page
    page.goto("/login")
    page.get_by_label("Email").fill("owner@example.test")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong")


def test_a_token_that_ended_leads_to_the_login(owner: Watched) -> None:
    """A 401 forgets the token, and the login leads back to where it happened."""
    page = owner.page
    page.evaluate("localStorage.setItem('service.auth_token', 'stale')")
    page.goto("/console/example-shop/policies")
    page.wait_for_url("**/login")
    assert page.evaluate(STORED) is None
