"""The self-test of challenges: green when visitors get through, red with the reason when not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.deciding import Deciding, Service, deciding, made

ORIGIN = "https://shop.example"
GREEN: dict[str, Any] = {"provider": "pow", "difficulty": 1}


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A service whose address is public, as far as it knows, without keys of Turnstile."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        settings = {"server_port": str(free.getsockname()[1])}
    settings["server_public_url"] = "https://gate.example.com"
    with deciding(tmp_path_factory.mktemp("public"), **settings) as found:
        yield found


def shop(service: Service, *challenges: dict[str, Any], **members: Any) -> Deciding:
    """A tenant with a mitigation for each challenge."""
    mitigations = [
        {"name": f"Ask {number}", "mode": "Challenge", "challenge": challenge, **members}
        for number, challenge in enumerate(challenges)
    ]
    return service.tenant({"apiVersion": "tidegate/v1", "mitigations": mitigations})


def said(tenant: Deciding) -> tuple[str, str]:
    """The colour, and all reasons."""
    found = tenant.get("challenge/self-test", role="Viewer")
    reasons = [*found["reasons"], *(why for each in found["providers"] for why in each["reasons"])]
    return found["status"], "; ".join(reasons)


def test_it_is_green_when_all_is_well(public: Service) -> None:
    """Though another provider, which no mitigation uses, has no keys."""
    tenant = shop(public, GREEN)
    found = tenant.get("challenge/self-test", role="Viewer")
    assert (found["status"], found["reasons"]) == ("green", [])
    assert found["public_url"] == "https://gate.example.com"
    providers = {each["provider"]: each for each in found["providers"]}
    assert (providers["pow"]["status"], providers["pow"]["reasons"]) == ("green", [])
    assert providers["pow"]["mitigations"] == ["Ask 0"]
    assert (providers["turnstile"]["status"], providers["turnstile"]["mitigations"]) == ("red", [])


def test_it_is_red_when_nothing_challenges(public: Service) -> None:
    """No mitigation, or a disabled one alone."""
    for tenant in (shop(public), shop(public, GREEN, enabled=False)):
        status, reasons = said(tenant)
        assert (status, "no challenge mitigation" in reasons) == ("red", True)


def test_it_is_red_when_keys_are_missing(public: Service) -> None:
    """One mitigation uses a provider that was not set up, another one that works."""
    status, reasons = said(shop(public, GREEN, {"provider": "turnstile"}))
    assert (status, "challenge.turnstile_secret" in reasons) == ("red", True)


def test_it_warns_of_challenges_that_may_not_lead_back(public: Service) -> None:
    """It stays green, since a call may name a return URL, and says who isn't sent back."""
    tenant = shop(public, GREEN, {**GREEN, "default_return_url_template": f"{ORIGIN}/back"})
    found = tenant.get("challenge/self-test", role="Viewer")
    (warning,) = found["warnings"]
    assert (found["status"], "`ask-0`" in warning, "`ask-1`" in warning) == ("green", True, False)
    settings = {"settings": {"return_url_origins": [ORIGIN]}}
    made(tenant.by("Owner").patch(tenant.path, settings))
    assert tenant.get("challenge/self-test", role="Viewer")["warnings"] == []


def test_a_template_of_no_origin_cannot_be_stored(public: Service) -> None:
    """A template of no origin is refused where it is written, so the self-test stays green."""
    tenant = shop(public, {**GREEN, "default_return_url_template": f"{ORIGIN}/back"})
    owner = tenant.by("Owner")
    made(owner.patch(tenant.path, {"settings": {"return_url_origins": [ORIGIN]}}))
    assert said(tenant)[0] == "green"
    other = {"settings": {"return_url_origins": ["https://other.example"]}}
    assert owner.patch(tenant.path, other).status_code == 422
    assert said(tenant)[0] == "green"
