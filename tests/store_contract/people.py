"""The tests that define what a store keeps of people: operators, identities, roles, tokens."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection
from tests.store_contract.examples import (
    LATER_NS,
    OTHER_TENANT,
    START_NS,
    TENANT,
    StorePlaces,
    done,
    numbered,
)

from tidegate_server.stores.base import ConflictError, NotFoundError
from tidegate_server.stores.objects import (
    identities,
    memberships,
    operators,
    revoked_tokens,
    tenants,
)
from tidegate_server.stores.objects.identities import Identity
from tidegate_server.stores.objects.memberships import Membership
from tidegate_server.stores.objects.operators import Operator
from tidegate_server.stores.port import Store


def invite(
    connection: Connection, number: int, email: str, role: str, now_ns: int = START_NS
) -> Membership:
    """Give an address a role."""
    return memberships.put(connection, TENANT, numbered(number), role, now_ns, email=email)


def identity(issuer: str, subject: str, number: int) -> Identity:
    """An identity of an operator."""
    return Identity(
        issuer=issuer, subject=subject, operator_id=numbered(number), created_at_ns=START_NS
    )


def operator(number: int, email: str) -> Operator:
    """A person."""
    return Operator(
        operator_id=numbered(number),
        name="Ann",
        email=email,
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )


class OperatorContract(StorePlaces):
    """Operators, their rights, and their tokens."""

    @pytest.fixture
    def staffed(self, shop: Store) -> Store:
        """A store with two operators, the first an Owner."""

        def fill(connection: Connection) -> None:
            operators.create(connection, operator(1, "Ann@Example.com"))
            operators.create(connection, operator(2, "bob@example.com"))
            owner = memberships.put(
                connection, TENANT, numbered(1), "Owner", START_NS, accepted_at_ns=START_NS
            )
            assert owner.accepted_at_ns == START_NS

        done(shop.write(fill))
        return shop

    def test_an_address_is_one_operator(self, staffed: Store) -> None:
        """An operator is found by e-mail address, however its letters are written."""
        with staffed.read() as connection:
            assert operators.find_by_email(connection, "ANN@example.com").name == "Ann"
            assert len(operators.page(connection, 10)) == 2
            assert len(operators.page(connection, 10, after=numbered(1))) == 1
            with pytest.raises(NotFoundError):
                operators.find(connection, numbered(3))
        with pytest.raises(ConflictError, match="email"):
            done(staffed.write(lambda c: operators.create(c, operator(3, "BOB@example.com"))))
        # The Kelvin sign isn't a k, whatever Unicode says of its lower case.
        done(staffed.write(lambda c: operators.create(c, operator(4, "mi\u212ae@example.com"))))
        with staffed.read() as connection, pytest.raises(NotFoundError):
            operators.find_by_email(connection, "mike@example.com")

    def test_an_operator_is_disabled_by_a_change(self, staffed: Store) -> None:
        """A change is a revision like any other."""
        change = operators.change
        assert done(staffed.write(lambda c: change(c, numbered(1), LATER_NS, disabled=True))) == 2
        with staffed.read() as connection:
            assert operators.find(connection, numbered(1)).disabled

    def test_a_membership_is_made_and_changed(self, staffed: Store) -> None:
        """Writing a membership again changes its role."""
        put = memberships.put
        made = done(staffed.write(lambda c: put(c, TENANT, numbered(2), "Viewer", START_NS)))
        changed = done(staffed.write(lambda c: put(c, TENANT, numbered(2), "Admin", LATER_NS)))
        assert (made.role, made.revision) == ("Viewer", 1)
        assert (changed.role, changed.revision, changed.updated_at_ns) == ("Admin", 2, LATER_NS)
        with staffed.read() as connection:
            assert len(memberships.page(connection, TENANT, 10)) == 2
            assert memberships.page(connection, TENANT, 10, after=numbered(1)) == [changed]
            assert memberships.of_operator(connection, numbered(2)) == [changed]
            mine = tenants.page_of_operator(connection, numbered(2), 10)
            assert [each.tenant_id for each in mine] == [TENANT]

    def test_a_membership_may_wait_for_an_address(self, staffed: Store) -> None:
        """A waiting membership has its own id, and is one, however the address is written."""
        done(staffed.write(lambda c: invite(c, 9, "Eve@Example.com", "Viewer")))
        with pytest.raises(ConflictError):
            done(staffed.write(lambda c: invite(c, 8, "eve@example.com", "Admin")))
        with staffed.read() as connection:
            found = memberships.find_by_email(connection, TENANT, "EVE@example.com")
            assert (found.user_id, found.email) == (numbered(9), "eve@example.com")
            assert memberships.is_invited(connection, "eve@EXAMPLE.com")
            for tenant_id, email in ((OTHER_TENANT, "eve@example.com"), (TENANT, "x@example.com")):
                with pytest.raises(NotFoundError):
                    memberships.find_by_email(connection, tenant_id, email)

    def test_an_address_shows_no_operator_who_was_never_here(self, staffed: Store) -> None:
        """A membership is found by its operator's address once it is accepted, not before."""
        put, find = memberships.put, memberships.find_by_email
        done(staffed.write(lambda c: put(c, TENANT, numbered(2), "Viewer", START_NS)))
        with staffed.read() as connection, pytest.raises(NotFoundError):
            find(connection, TENANT, "bob@example.com")
        done(staffed.write(lambda c: memberships.accept(c, TENANT, numbered(2), LATER_NS)))
        with staffed.read() as connection:
            assert find(connection, TENANT, "bob@example.com").user_id == numbered(2)

    def test_what_waits_for_an_address_is_claimed_once(self, staffed: Store) -> None:
        """The operator of the address has the role from then on; nothing waits any more."""
        done(staffed.write(lambda c: invite(c, 9, "bob@example.com", "Admin")))
        claim = memberships.claim
        found = done(staffed.write(lambda c: claim(c, "BOB@example.com", numbered(2), LATER_NS)))
        assert [each.user_id for each in found] == [numbered(9)]
        assert done(staffed.write(lambda c: claim(c, "bob@example.com", numbered(2), 9))) == []
        with staffed.read() as connection:
            mine = memberships.find(connection, TENANT, numbered(2))
            assert (mine.role, mine.email, mine.accepted_at_ns) == ("Admin", None, LATER_NS)
            assert not memberships.is_invited(connection, "bob@example.com")
            with pytest.raises(NotFoundError):
                memberships.find(connection, TENANT, numbered(9))

    @pytest.mark.parametrize(
        ("given_at", "role"), [(START_NS + 1, "Admin"), (START_NS - 1, "Viewer")]
    )
    def test_of_two_roles_the_later_holds(self, staffed: Store, given_at: int, role: str) -> None:
        """An operator who is a member already gets the role of the address if it is the newer."""
        put = memberships.put
        done(staffed.write(lambda c: put(c, TENANT, numbered(2), "Viewer", START_NS)))
        done(staffed.write(lambda c: invite(c, 9, "bob@example.com", "Admin", given_at)))
        claim = memberships.claim
        done(staffed.write(lambda c: claim(c, "bob@example.com", numbered(2), LATER_NS)))
        with staffed.read() as connection:
            found = memberships.page(connection, TENANT, 10)
        assert [each.role for each in found] == ["Owner", role]

    def test_a_claim_leaves_the_last_owner(self, staffed: Store) -> None:
        """A lower role that waited for the address of the last Owner goes away."""
        done(staffed.write(lambda c: invite(c, 9, "ann@example.com", "Viewer", LATER_NS)))
        claim = memberships.claim
        done(staffed.write(lambda c: claim(c, "ann@example.com", numbered(1), LATER_NS + 1)))
        with staffed.read() as connection:
            found = memberships.page(connection, TENANT, 10)
        assert [(each.user_id, each.role) for each in found] == [(numbered(1), "Owner")]

    def test_an_identity_is_one_operator(self, staffed: Store) -> None:
        """Issuer and subject together name an operator, exactly as they are written."""
        ann = identity("https://id.example.test", "ann", 1)
        done(staffed.write(lambda c: identities.add(c, ann)))
        with staffed.read() as connection:
            assert identities.find(connection, ann.issuer, "ann") == ann
            for issuer, subject in ((ann.issuer + "/", "ann"), (ann.issuer, "Ann"), ("", "")):
                with pytest.raises(NotFoundError):
                    identities.find(connection, issuer, subject)
        with pytest.raises(ConflictError):
            done(staffed.write(lambda c: identities.add(c, identity(ann.issuer, "ann", 2))))
        with pytest.raises(NotFoundError):
            done(staffed.write(lambda c: identities.add(c, identity(ann.issuer, "nobody", 7))))

    def test_a_membership_may_name_nobody(self, staffed: Store) -> None:
        """Giving a role does not reveal whether such an operator exists."""
        put = memberships.put
        made = done(staffed.write(lambda c: put(c, TENANT, numbered(9), "Viewer", START_NS)))
        assert made.accepted_at_ns is None

    def test_a_membership_is_accepted_once(self, staffed: Store) -> None:
        """A membership is accepted when its operator first uses it; later uses, and uses of no
        membership, change nothing."""
        put, accept, user = memberships.put, memberships.accept, numbered(2)
        done(staffed.write(lambda c: put(c, TENANT, user, "Viewer", START_NS)))
        done(staffed.write(lambda c: accept(c, TENANT, user, LATER_NS)))
        done(staffed.write(lambda c: accept(c, TENANT, user, LATER_NS + 1)))
        done(staffed.write(lambda c: accept(c, TENANT, numbered(9), LATER_NS)))
        with staffed.read() as connection:
            found = memberships.find(connection, TENANT, user)
        assert (found.accepted_at_ns, found.revision) == (LATER_NS, 1)

    def test_a_tenant_is_never_without_an_owner(self, staffed: Store) -> None:
        """The last Owner can be neither removed nor demoted; one of two can."""
        put = memberships.put
        with pytest.raises(ConflictError, match="last Owner"):
            done(staffed.write(lambda c: memberships.delete(c, TENANT, numbered(1))))
        with pytest.raises(ConflictError, match="last Owner"):
            done(
                staffed.write(lambda c: memberships.put(c, TENANT, numbered(1), "Admin", LATER_NS))
            )
        done(staffed.write(lambda c: put(c, TENANT, numbered(2), "Owner", LATER_NS)))
        with pytest.raises(ConflictError, match="last Owner"):  # the other one never came
            done(staffed.write(lambda c: memberships.delete(c, TENANT, numbered(1))))
        done(staffed.write(lambda c: memberships.accept(c, TENANT, numbered(2), LATER_NS)))
        done(staffed.write(lambda c: memberships.delete(c, TENANT, numbered(1))))
        with pytest.raises(NotFoundError):
            done(staffed.write(lambda c: memberships.delete(c, TENANT, numbered(1))))

    def test_a_revoked_token_stays_revoked_until_its_end(self, store: Store) -> None:
        """A revoked token is forgotten after its own expiry, when it is refused anyway."""
        revoke = revoked_tokens.revoke
        for is_first in (True, False):
            assert done(store.write(lambda c: revoke(c, "jti", LATER_NS, START_NS))) is is_first
        with store.read() as connection:
            assert revoked_tokens.is_revoked(connection, "jti")
            assert not revoked_tokens.is_revoked(connection, "other")
            assert revoked_tokens.live(connection, START_NS) == {"jti"}
            assert revoked_tokens.live(connection, LATER_NS) == set()
        assert done(store.write(lambda c: revoked_tokens.prune(c, LATER_NS))) == 1
