"""The tests that define what a store keeps of tenants, definitions and keys."""

from __future__ import annotations

from functools import partial

import attrs
import pytest
from sqlalchemy import Connection
from tests.store_contract.examples import (
    LATER_NS,
    OTHER_TENANT,
    POLICY,
    START_NS,
    TENANT,
    StorePlaces,
    done,
    numbered,
    tenant,
)
from tests.store_contract.people import OperatorContract

from tidegate_server.stores.base import ConflictError, NotFoundError, StaleRevisionError
from tidegate_server.stores.decision_log import replay_jobs, snapshots
from tidegate_server.stores.decision_log.replay_jobs import Difference, ReplayJob
from tidegate_server.stores.decision_log.snapshots import Snapshot
from tidegate_server.stores.objects import (
    api_keys,
    audit,
    definitions,
    list_refreshes,
    tenants,
    versions,
)
from tidegate_server.stores.objects.api_keys import ApiKey
from tidegate_server.stores.objects.audit import AuditEntry
from tidegate_server.stores.objects.definitions import Definition
from tidegate_server.stores.objects.list_refreshes import ListRefresh
from tidegate_server.stores.port import Store


class ListRefreshContract(StorePlaces):
    """The refreshes of a list are one row, for the source that it has."""

    def test_refreshes_are_kept_by_list_and_source(self, shop: Store) -> None:
        """A later refresh takes the place of the one before, and of that of another source."""
        first = ListRefresh(
            tenant_id=TENANT,
            list_id=numbered(1),
            source="a",
            refused_at_ns=START_NS,
            code="source-empty",
            detail="no entries",
        )
        again = attrs.evolve(first, source="b", refreshed_at_ns=LATER_NS)
        other = attrs.evolve(first, list_id=numbered(2))
        for each in (first, again, other):
            done(shop.write(partial(list_refreshes.put, refresh=each)))
        with shop.read() as connection:
            found = list_refreshes.of_tenant(connection, TENANT)
            assert found == {numbered(1): again, numbered(2): other}
            assert list_refreshes.find(connection, TENANT, numbered(1), "b") == again
            assert list_refreshes.find(connection, TENANT, numbered(1), "a") is None
            assert list_refreshes.refused(connection) == 1
        assert (again.is_refused, other.is_refused) == (False, True)
        assert (again.checked_at_ns, other.checked_at_ns) == (LATER_NS, START_NS)

    def test_refreshes_go_with_their_list_and_tenant(self, shop: Store) -> None:
        """Those of lists that are gone are forgotten, and a deleted tenant leaves none."""
        for number in (1, 2):
            made = ListRefresh(tenant_id=TENANT, list_id=numbered(number), source="a")
            done(shop.write(partial(list_refreshes.put, refresh=made)))
        done(shop.write(partial(list_refreshes.forget, tenant_id=TENANT, lists=[numbered(1)])))
        with shop.read() as connection:
            assert set(list_refreshes.of_tenant(connection, TENANT)) == {numbered(2)}
        done(shop.write(lambda connection: tenants.delete(connection, TENANT)))
        with shop.read() as connection:
            assert not list_refreshes.of_tenant(connection, TENANT)


class TenantContract(StorePlaces):
    """Tenants are kept apart by name and found by id."""

    def test_a_tenant_is_kept_as_it_was_given(self, shop: Store) -> None:
        """A tenant is read back as it was written."""
        with shop.read() as connection:
            assert tenants.find(connection, TENANT) == tenant()
            assert tenants.find_by_slug(connection, "bank").tenant_id == OTHER_TENANT
            found = tenants.page(connection, 10)
            assert [each.tenant_id for each in found] == [TENANT, OTHER_TENANT]
            assert tenants.page(connection, 1, after=TENANT) == found[1:]
            with pytest.raises(NotFoundError, match="tenant"):
                tenants.find(connection, numbered(1))

    def test_names_and_slugs_are_unique(self, shop: Store) -> None:
        """The conflict names the value that two tenants share."""
        twin = attrs.evolve(tenant(numbered(1)), slug="twin")
        with pytest.raises(ConflictError, match="name"):
            done(shop.write(lambda connection: tenants.create(connection, twin)))
        with pytest.raises(ConflictError, match="slug"):
            done(shop.write(lambda c: tenants.change(c, TENANT, LATER_NS, slug="bank")))

    def test_a_change_counts_and_is_guarded(self, shop: Store) -> None:
        """Each change is a revision; a change for another revision is refused."""
        settings = {"retention_days": 7}

        def change(connection: Connection) -> int:
            return tenants.change(
                connection, TENANT, LATER_NS, expected_revision=1, settings=settings
            )

        assert done(shop.write(change)) == 2
        with pytest.raises(StaleRevisionError) as stale:
            done(shop.write(change))
        assert (stale.value.expected, stale.value.found) == (1, 2)
        with pytest.raises(NotFoundError):
            done(shop.write(lambda c: tenants.change(c, numbered(1), LATER_NS, name="x")))
        with shop.read() as connection:
            found = tenants.find(connection, TENANT)
        assert (found.revision, found.updated_at_ns) == (2, LATER_NS)
        assert found.settings == {"retention_days": 7}

    def test_changes_of_definitions_are_counted(self, shop: Store) -> None:
        """One number says whether an engine is out of date."""
        assert done(shop.write(lambda c: tenants.count_definition_change(c, TENANT))) == 2
        with pytest.raises(NotFoundError):
            done(shop.write(lambda c: tenants.count_definition_change(c, numbered(1))))
        with shop.read() as connection:
            assert tenants.definition_revisions(connection, 0) == {
                TENANT: (2, 1),
                OTHER_TENANT: (1, 1),
            }

    def test_what_belongs_to_a_tenant_goes_with_it(self, shop: Store) -> None:
        """No definition of a deleted tenant is left."""
        done(shop.write(lambda c: definitions.create(c, definition(1))))
        done(shop.write(lambda c: tenants.delete(c, TENANT, expected_revision=1)))
        with shop.read() as connection:
            assert definitions.of_tenant(connection, TENANT) == []
            assert list(tenants.definition_revisions(connection, 0)) == [OTHER_TENANT]
        with pytest.raises(NotFoundError):
            done(shop.write(lambda c: tenants.delete(c, TENANT)))


def definition(number: int, kind: definitions.Kind = "action", name: str = "") -> Definition:
    """An object of a document."""
    name = name or f"name {number}"
    return Definition(
        tenant_id=TENANT,
        kind=kind,
        object_id=numbered(number),
        slug=name.replace(" ", "-"),
        name=name,
        body={"name": name, "expression": "true"},
        position=number,
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )


class DefinitionContract(StorePlaces):
    """Definitions are kept in order, one by one and as a whole."""

    def test_an_object_is_found_by_its_tenant_and_kind(self, shop: Store) -> None:
        """An id of another tenant or kind finds nothing."""
        done(shop.write(lambda c: definitions.create(c, definition(1))))
        with shop.read() as connection:
            assert definitions.find(connection, TENANT, "action", numbered(1)) == definition(1)
            for tenant_id, kind in ((OTHER_TENANT, "action"), (TENANT, "policy")):
                with pytest.raises(NotFoundError):
                    definitions.find(connection, tenant_id, kind, numbered(1))  # type: ignore[arg-type]

    def test_pages_follow_the_order_of_the_document(self, shop: Store) -> None:
        """Pages are ordered by position, then by id; a new object goes to the end."""

        def fill(connection: Connection) -> None:
            for number, position in ((3, 0), (1, 5), (2, 5), (4, 9)):
                definitions.create(connection, attrs.evolve(definition(number), position=position))

        done(shop.write(fill))
        with shop.read() as connection:
            first = definitions.page(connection, TENANT, "action", 2)
            after = (first[-1].position, first[-1].object_id)
            rest = definitions.page(connection, TENANT, "action", 9, after)
            assert definitions.next_position(connection, TENANT, "action") == 10
            assert definitions.next_position(connection, TENANT, "policy") == 0
            assert definitions.of_tenant(connection, TENANT) == first + rest
        assert [each.object_id for each in first + rest] == [numbered(n) for n in (3, 1, 2, 4)]

    def test_what_is_known_and_did_not_change_is_not_read_again(self, shop: Store) -> None:
        """Changed, moved and new objects are read; one of the same id and another kind stays
        known."""
        known = [definition(number) for number in range(4)] + [definition(1, "policy")]
        marked = [attrs.evolve(each, name=f"known {each.name}") for each in known]

        def edit(c: Connection) -> None:
            for each in known:
                definitions.create(c, each)
            definitions.change(c, TENANT, "action", numbered(1), LATER_NS, name="changed")
            definitions.delete(c, TENANT, "action", numbered(2))
            definitions.create(c, attrs.evolve(definition(9), position=-1))

        done(shop.write(edit))
        with shop.read() as connection:
            found = definitions.of_tenant(connection, TENANT, marked)
            anew = definitions.of_tenant(connection, TENANT)
        names = ["name 9", "known name 0", "changed", "known name 3", "known name 1"]
        assert [each.name for each in found] == names
        assert [each.object_id for each in found] == [each.object_id for each in anew]

    def test_names_are_unique_in_tenant_and_kind(self, shop: Store) -> None:
        """The same name may stand for an action and a policy, and in another tenant."""
        done(shop.write(lambda c: definitions.create(c, definition(1, name="a"))))
        done(shop.write(lambda c: definitions.create(c, definition(1, "policy", name="a"))))
        other = attrs.evolve(definition(1, name="a"), tenant_id=OTHER_TENANT)
        done(shop.write(lambda c: definitions.create(c, other)))
        with pytest.raises(ConflictError):
            done(shop.write(lambda c: definitions.create(c, definition(2, name="a"))))
        stranger = attrs.evolve(definition(3), tenant_id=numbered(9))
        with pytest.raises(NotFoundError):
            done(shop.write(lambda c: definitions.create(c, stranger)))

    def test_a_change_and_a_deletion_are_guarded(self, shop: Store) -> None:
        """Each change needs the revision it was made for, if it names one."""
        done(shop.write(lambda c: definitions.create(c, definition(1))))
        place = (TENANT, "action", numbered(1))
        body = {"name": "name 1", "expression": "false"}
        change = definitions.change
        assert done(shop.write(lambda c: change(c, *place, LATER_NS, body=body))) == 2  # type: ignore[arg-type]
        with pytest.raises(StaleRevisionError):
            done(shop.write(lambda c: definitions.delete(c, *place, expected_revision=1)))  # type: ignore[arg-type]
        done(shop.write(lambda c: definitions.delete(c, *place, expected_revision=2)))  # type: ignore[arg-type]
        with pytest.raises(NotFoundError):
            done(shop.write(lambda c: definitions.delete(c, *place)))  # type: ignore[arg-type]

    def test_a_whole_document_is_put_in_place(self, shop: Store) -> None:
        """Objects that stay the same keep their revision; names may change hands."""
        before = [definition(1, name="a"), definition(2, name="b"), definition(3)]
        after = [
            attrs.evolve(definition(1, name="b"), revision=70),
            definition(3),
            definition(4, "policy"),
        ]

        def put(wanted: list[Definition]) -> definitions.Replacement:
            with shop.read() as connection:
                present = definitions.of_tenant(connection, TENANT)
                generation = tenants.generation(connection, TENANT)
            found = definitions.compare(present, wanted, LATER_NS)
            gone = [*found.deleted, *(old for old, _ in found.changed)]
            made = [*found.created, *(new for _, new in found.changed)]
            rows = definitions.rows_of(made, generation)
            done(shop.write(lambda c: definitions.swap(c, TENANT, gone, rows)))
            return found

        put(before)
        replaced = put(after)
        assert [each.object_id for each in replaced.created] == [numbered(4)]
        assert [(old.name, new.name) for old, new in replaced.changed] == [("a", "b")]
        assert [each.object_id for each in replaced.deleted] == [numbered(2)]
        with shop.read() as connection:
            found = definitions.of_tenant(connection, TENANT)
        assert [(each.name, each.revision) for each in found] == [
            ("b", 2),
            ("name 3", 1),
            ("name 4", 1),
        ]
        again = put(after)
        assert again == definitions.Replacement((), (), ())

    def test_every_version_of_a_policy_is_kept(self, shop: Store) -> None:
        """Versions count from 1 for each policy, and stay when it is gone."""
        for policy, name in ((POLICY, "a"), (POLICY, "b"), (numbered(1), "c")):
            body = {"name": name}
            done(shop.write(lambda c: versions.save(c, TENANT, policy, body, "ann", START_NS)))  # noqa: B023
        with shop.read() as connection:
            found = versions.page(connection, TENANT, POLICY, 10)
            assert [(each.version, each.body["name"]) for each in found] == [(2, "b"), (1, "a")]
            assert versions.page(connection, TENANT, POLICY, 10, before=2) == found[1:]
            assert versions.find(connection, TENANT, POLICY, 1).actor == "ann"
            with pytest.raises(NotFoundError):
                versions.find(connection, OTHER_TENANT, POLICY, 1)


def api_key(number: int, **values: object) -> ApiKey:
    """A key."""
    key = ApiKey(
        api_key_id=numbered(number),
        tenant_id=TENANT,
        name=f"key {number}",
        rate_limit_per_minute=6_000,
        prefix=f"prefix{number}",
        secret_hash=bytes([number]) * 32,
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )
    return attrs.evolve(key, **values)  # type: ignore[arg-type]


class ApiKeyContract(StorePlaces):
    """Keys live until they expire or are revoked."""

    def test_live_keys_are_those_that_count(self, shop: Store) -> None:
        """Revoked and expired keys are listed, and no longer count."""

        def fill(connection: Connection) -> None:
            api_keys.create(connection, api_key(1))
            api_keys.create(connection, api_key(2, expires_at_ns=START_NS + 10))
            api_keys.create(connection, api_key(3))
            api_keys.revoke(connection, TENANT, numbered(3), START_NS)

        done(shop.write(fill))
        with shop.read() as connection:
            at_first = [each.name for each in api_keys.live(connection, START_NS)]
            later = [each.name for each in api_keys.live(connection, START_NS + 10)]
            assert len(api_keys.page(connection, TENANT, 10)) == 3
            assert api_keys.page(connection, OTHER_TENANT, 10) == []
            with pytest.raises(NotFoundError):
                api_keys.find(connection, OTHER_TENANT, numbered(1))
        assert (at_first, later) == (["key 1", "key 2"], ["key 1"])

    def test_a_rotated_key_has_two_secrets_for_a_while(self, shop: Store) -> None:
        """The old secret stays with the new one, with its end."""
        done(shop.write(lambda c: api_keys.create(c, api_key(1))))
        new = b"n" * 32
        place = (TENANT, numbered(1))
        assert done(shop.write(lambda c: api_keys.rotate(c, *place, new, LATER_NS, START_NS))) == 2
        with shop.read() as connection:
            found = api_keys.find(connection, *place)
        assert (found.secret_hash, found.previous_secret_hash) == (new, b"\1" * 32)
        assert found.previous_secret_until_ns == LATER_NS

    def test_a_revoked_key_stays_as_it_was(self, shop: Store) -> None:
        """Revoking twice changes nothing; the first time is the time."""
        done(shop.write(lambda c: api_keys.create(c, api_key(1))))
        place = (TENANT, numbered(1))
        for now_ns in (START_NS, LATER_NS):
            assert done(shop.write(lambda c: api_keys.revoke(c, *place, now_ns))) == 2  # noqa: B023
        with shop.read() as connection:
            assert api_keys.find(connection, *place).revoked_at_ns == START_NS

    def test_use_is_noted_without_a_revision(self, shop: Store) -> None:
        """Using a key does not count as a change."""
        done(shop.write(lambda c: api_keys.create(c, api_key(1))))
        done(shop.write(lambda c: api_keys.used(c, {numbered(1): LATER_NS, numbered(2): 1})))
        done(shop.write(lambda c: api_keys.used(c, {})))
        with shop.read() as connection:
            found = api_keys.find(connection, TENANT, numbered(1))
        assert (found.last_used_at_ns, found.revision) == (LATER_NS, 1)

    def test_prefixes_are_unique_everywhere(self, shop: Store) -> None:
        """A prefix finds one key."""
        done(shop.write(lambda c: api_keys.create(c, api_key(1))))
        twin = api_key(2, prefix="prefix1", tenant_id=OTHER_TENANT)
        with pytest.raises(ConflictError, match="prefix"):
            done(shop.write(lambda c: api_keys.create(c, twin)))

    def test_secrets_do_not_show(self) -> None:
        """The printed form of a key has nothing of its secret."""
        assert "secret_hash" not in repr(api_key(1))


class RecordContract(StorePlaces):
    """The audit trail, snapshots and replay jobs."""

    def test_the_audit_trail_is_paged_and_filtered(self, shop: Store) -> None:
        """The newest first, of one tenant."""
        entries = [
            AuditEntry(
                audit_id=numbered(number),
                tenant_id=OTHER_TENANT if number == 5 else TENANT,
                at_ns=START_NS + number,
                actor="ann" if number % 2 else "bob",
                action="update",
                kind="policy",
                object_id=str(POLICY),
                before=None,
                after={"n": number},
            )
            for number in range(6)
        ]

        def fill(connection: Connection) -> None:
            for each in entries:
                audit.add(connection, each)

        done(shop.write(fill))
        with shop.read() as connection:
            assert audit.page(connection, TENANT, 2) == [entries[4], entries[3]]
            assert audit.page(connection, TENANT, 9, before=numbered(1)) == [entries[0]]
            assert audit.page(connection, TENANT, 9, actor="ann") == [entries[3], entries[1]]
            within = audit.page(connection, TENANT, 9, from_ns=START_NS + 1, to_ns=START_NS + 3)
            assert within == [entries[2], entries[1]]
            assert audit.page(connection, TENANT, 9, kind="policy", object_id="none") == []

    def test_the_last_two_snapshots_are_kept(self, shop: Store) -> None:
        """The newest comes first; one for the same number takes its place."""
        for seq, body in ((1, b"a"), (2, b"b"), (3, b"c"), (3, b"d")):
            taken = Snapshot(
                tenant_id=TENANT, seq=seq, revision=1, body=body, created_at_ns=START_NS
            )
            done(shop.write(lambda c: snapshots.save(c, taken)))  # noqa: B023
        with shop.read() as connection:
            found = list(snapshots.newest(connection, TENANT))
            assert [(each.seq, each.body) for each in found] == [(3, b"d"), (2, b"b")]
            assert list(snapshots.newest(connection, OTHER_TENANT)) == []

    def test_a_replay_job_runs_from_start_to_end(self, shop: Store) -> None:
        """A replay is started once; its differences are paged in order."""
        for number in (1, 2):
            new = ReplayJob(
                job_id=numbered(number),
                tenant_id=TENANT,
                request={"hours": 1},
                actor="ann",
                created_at_ns=START_NS,
                updated_at_ns=START_NS,
            )
            done(shop.write(lambda c: replay_jobs.create(c, new, b"a draft")))  # noqa: B023
        place = (TENANT, numbered(1))
        started = done(shop.write(lambda c: replay_jobs.start(c, *place, LATER_NS)))
        assert (started.status, started.started_at_ns) == ("running", LATER_NS)
        with pytest.raises(ConflictError, match="running"):
            done(shop.write(lambda c: replay_jobs.start(c, *place, LATER_NS)))
        with shop.read() as connection:
            assert replay_jobs.is_busy(connection, TENANT)
            assert not replay_jobs.is_busy(connection, OTHER_TENANT)
        found = [
            Difference(
                ordinal=number,
                decision_id=numbered(number),
                recorded={"action": "allow"},
                replayed={"action": "block"},
            )
            for number in range(5)
        ]
        advanced = done(shop.write(lambda c: replay_jobs.advance(c, *place, 100, found, LATER_NS)))
        assert advanced.progress == 100
        ended = done(shop.write(lambda c: replay_jobs.finish(c, *place, {"block": 5}, LATER_NS)))
        assert (ended.status, ended.result) == ("done", {"block": 5})
        with pytest.raises(ConflictError, match="done"):
            done(shop.write(lambda c: replay_jobs.advance(c, *place, 101, [], LATER_NS)))
        assert done(shop.write(lambda c: replay_jobs.cancel(c, *place, LATER_NS))) == ended
        with shop.read() as connection:
            assert replay_jobs.differences(connection, *place, 3) == found[:3]
            assert replay_jobs.differences(connection, *place, 9, after=2) == found[3:]
            listed = replay_jobs.page(connection, TENANT, 9)
            assert [each.job_id for each in listed] == [numbered(2), numbered(1)]
            assert replay_jobs.page(connection, TENANT, 9, before=numbered(2)) == listed[1:]
            assert replay_jobs.draft_of(connection, *place) == b"a draft"
            assert replay_jobs.draft_of(connection, OTHER_TENANT, numbered(1)) is None
            with pytest.raises(NotFoundError):
                replay_jobs.differences(connection, OTHER_TENANT, numbered(1), 3)

    def test_a_job_that_was_interrupted_has_failed(self, shop: Store) -> None:
        """Nobody continues an interrupted job; a cancelled one does not continue either."""
        for number in (1, 2, 3):
            new = ReplayJob(
                job_id=numbered(number),
                tenant_id=TENANT,
                request={},
                actor="ann",
                created_at_ns=START_NS,
                updated_at_ns=START_NS,
            )
            done(shop.write(lambda c: replay_jobs.create(c, new)))  # noqa: B023
        done(shop.write(lambda c: replay_jobs.start(c, TENANT, numbered(1), START_NS)))
        done(shop.write(lambda c: replay_jobs.cancel(c, TENANT, numbered(3), START_NS)))
        with pytest.raises(ConflictError, match="cancelled"):
            done(shop.write(lambda c: replay_jobs.start(c, TENANT, numbered(3), START_NS)))
        why = "bad draft"
        done(shop.write(lambda c: replay_jobs.fail(c, TENANT, numbered(1), why, LATER_NS)))
        assert done(shop.write(lambda c: replay_jobs.fail_interrupted(c, LATER_NS, 0))) == 1
        with shop.read() as connection:
            found = [replay_jobs.find(connection, TENANT, numbered(n)) for n in (1, 2, 3)]
            assert not replay_jobs.is_busy(connection, TENANT)
        assert [each.status for each in found] == ["failed", "failed", "cancelled"]
        assert found[0].error == why


class ObjectContract(
    TenantContract,
    DefinitionContract,
    ListRefreshContract,
    ApiKeyContract,
    OperatorContract,
    RecordContract,
):
    """All the tests of objects."""
