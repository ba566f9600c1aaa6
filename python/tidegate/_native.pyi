"""The native extension.  Only ``tidegate.evaluation.native`` and ``tidegate.engine`` import it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final

from tidegate.errors import EventError
from tidegate.evaluation.envelope import Context, Strictness
from tidegate.evaluation.matches import Matches
from tidegate.policy.backend import ServedColumns

__all__ = [
    "FACTS",
    "AddressDatabase",
    "AddressDatabases",
    "Calls",
    "Engine",
    "Frozen",
    "LearnedNames",
    "PlainForm",
    "Prepared",
    "ProofKeys",
    "Redactor",
    "RuleSet",
    "count_log",
    "write_rows",
]

_T = TypeVar("_T")

@final
class Prepared:
    """An event encoded for one rule set, to be evaluated many times."""

@final
class RuleSet:
    """Programs compiled from a bundle: JSON with fields, lists, limits and canonical trees.

    A context is an event as a dict, as JSON bytes, or prepared.

    Args:
        sample: events that the index learns the frequency of conditions from.

    Raises:
        CanonicalFormError: the bundle is malformed.
    """

    def __new__(cls, bundle: bytes, sample: Sequence[bytes] = ...) -> RuleSet: ...
    def __len__(self) -> int: ...
    def ids(self) -> list[str]:
        """The ids of the programs, in order."""

    def with_changes(self, bundle: bytes, removed: Sequence[str]) -> RuleSet:
        """The set without some programs, and with those of a bundle in place of others.

        Only the programs of the bundle count. Unchanged programs are shared.

        Raises:
            CanonicalFormError: the bundle is malformed.
            KeyError: a program to remove doesn't exist.
        """

    def evaluate(self, index: int, context: Context) -> Any:
        """The value of one program.

        Raises:
            EvaluationError: the evaluation ended in an error.
            EventError: the event is refused.
            IndexError: the program of this number doesn't exist.
        """

    def outcome(
        self, index: int, context: Context
    ) -> tuple[bytes | None, str | None, tuple[int, int] | None, int]:
        """The end of one evaluation: VALUE as JSON, or an error's code and span; and the cost.

        Raises:
            EventError: the event is refused.
            IndexError: the program of this number doesn't exist.
        """

    def match(self, context: Context, errors: bool = False) -> Matches:
        """Ids of the programs that are true, in order.

        With ``errors``, also id to code of those that fail.

        Raises:
            EventError: the event is refused.
        """

    def match_batch(
        self, contexts: Sequence[Context], errors: bool = False
    ) -> list[Matches | EventError]:
        """As :meth:`match` for each; a refused event has its error in its place."""

    def stats(self) -> dict[str, Any]:
        """The figures of the index, by name."""

    def prepare(self, context: Mapping[str, Any] | bytes, events: Strictness = ...) -> Prepared:
        """Encode an event once.

        Raises:
            EventError: the event is refused, by its form or by what ``events`` takes.
            ValueError: the strictness doesn't exist.
        """

@final
class AddressDatabase:
    """An address database (MaxMind DB) that was checked whole.

    Args:
        content: of its file; a copy is kept.

    Raises:
        ValueError: it isn't a database, is damaged, or has neither countries nor autonomous
            systems.
    """

    def __new__(cls, content: bytes) -> AddressDatabase: ...
    @property
    def kind(self) -> str:
        """Its type, as its maker names it."""

    @property
    def built_at(self) -> int:
        """When it was made, in seconds since 1970."""

    @property
    def broken(self) -> int:
        """Lookups that found an entry that can't be used."""

    @property
    def fields(self) -> list[str]:
        """The fields that it gives."""

@final
class AddressDatabases:
    """Address databases that are asked in order; the first answer counts."""

    def __new__(cls, databases: list[AddressDatabase]) -> AddressDatabases: ...

@final
class Engine:
    """Active definitions: decisions out, state kept between them.  Threads may share one.

    ``received_at`` is in nanoseconds since 1970.  Answers are JSON: the record and the snapshot
    of docs/decision.md.

    Args:
        bundle: the JSON of ``tidegate.policy.definitions.bundle``.
        databases: contents of address databases.
        sample: events that the index learns the frequency of conditions from.
        redactor: keeps secrets out of keys, state, effects and records.
        events: which events it decides on.
        proof_keys: read the proofs of challenges; without, none is read.

    Raises:
        CanonicalFormError: the bundle is malformed.
        ValueError: a database is invalid.
    """

    def __new__(
        cls,
        bundle: bytes,
        databases: list[bytes] = ...,
        sample: Sequence[bytes] = ...,
        redactor: Redactor | None = ...,
        events: Strictness = ...,
        proof_keys: ProofKeys | None = ...,
    ) -> Engine: ...
    def decide_record(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = ...,
        proofs: bytes | None = ...,
    ) -> bytes:
        """Decide, remember, and give the full record.

        Args:
            event: the event.
            received_at: when it arrived.
            ended_at: where the budget is known to have ended, in place of counting; empty when
                it is known not to have.
            proofs: what is known of the proofs that the event shows, in place of reading them: a
                JSON array of what records have as ``proof``.

        Raises:
            EventError: the event is refused.
            ValueError: the budget ended at no place of the definitions.
        """

    def decide_json(self, body: bytes, received_at: int) -> bytes:
        """Decide, remember, and give the answer to the caller.

        Raises:
            EventError: the event is refused.
        """

    def decide_batch(self, bodies: list[bytes], received_at: int) -> list[bytes | EventError]:
        """As :meth:`decide_json` for each; a refused event has its error in its place."""

    def serve(
        self, body: bytes, received_at: int, decision_id: str, proofs: bytes | None = ...
    ) -> ServedColumns:
        """Decide, remember, and give all that a service needs.

        Raises:
            EventError: the event is refused.
        """

    def read_calls(
        self,
        bodies: list[bytes],
        is_runtime: list[bool],
        secret: bytes,
        databases: AddressDatabases | None = ...,
    ) -> Calls:
        """Read hot calls, of the runtime endpoint or else of the beacon.

        Args:
            bodies: the events.
            is_runtime: for each, whether it is of the runtime endpoint.
            secret: the key that hashes idempotency keys.
            databases: say where clients are; an event without `geo` gets it, and is recorded so.

        Raises:
            ValueError: the secret is longer than 64 bytes, or the lists differ in length.
        """

    def located(self, body: bytes, databases: AddressDatabases) -> bytes:
        """The event with what databases know of its client as the member `geo`.

        An event that has the member stays as it is, and so does one of whose client nothing is
        known.

        Raises:
            EventError: the event is refused.
        """

    def apply_effects(self, effects: Iterable[bytes]) -> None:
        """Repeat decisions by their effects.

        Raises:
            EffectsError: one is malformed; those before it are applied, nothing of it is.
        """

    def count_late(self, effects: bytes, now: int) -> bytes:
        """Count a decision that was made elsewhere, at its time; the effects here.

        Raises:
            EffectsError: they are malformed; nothing is counted.
        """

    def peek(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = ...,
        proofs: bytes | None = ...,
    ) -> bytes:
        """The record that :meth:`decide_record` would give; nothing is remembered.

        Raises:
            EventError: the event is refused.
            ValueError: the budget ended at no place of the definitions.
        """

    def entity_states(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = ...,
        proofs: bytes | None = ...,
    ) -> bytes:
        """A snapshot with only the keys of the event's entities.

        Raises:
            EventError: the event is refused.
            ValueError: the budget ended at no place of the definitions.
        """

    def work_of(self, body: bytes, received_at: int) -> tuple[int, int, int]:
        """Units of work that the decision would take now: of the search of the index, of entities,
        of actions and policies.  Nothing is remembered.

        Raises:
            EventError: the event is refused.
        """

    def snapshot(self) -> bytes:
        """The whole state."""

    def restore(self, snapshot: bytes) -> None:
        """Take over a state; a refused one changes nothing.

        Raises:
            SnapshotError: it is of another version or tenant, or malformed.
        """

    def with_change(self, change: bytes) -> Engine | None:
        """As :meth:`with_definitions`, by the JSON of ``policy.definitions.bundle.change``.

        Unchanged parts are shared with this engine.  None if changes have left so much behind
        that all is better made anew.

        Raises:
            CanonicalFormError: the change is malformed, or one of other definitions.
        """

    def layered(self) -> int:
        """How many rules of the index changed since its base was built."""

    def rebuild(self) -> None:
        """Build one index of all; decisions go on meanwhile, and use it when it is ready."""

    def freeze(self) -> Frozen:
        """A copy of the state, made at once."""

    def with_definitions(
        self, bundle: bytes, sample: Sequence[bytes] = ..., redactor: Redactor | None = ...
    ) -> Engine:
        """An engine that takes over this state, and what this engine does from now on.

        Its index learns from the sample, as a new engine's does.

        Raises:
            CanonicalFormError: the bundle is malformed.
            SnapshotError: it is of another tenant.
        """

    def active_mitigations(
        self, at: int, limit: int, after: tuple[str, str, str, str] | None
    ) -> bytes:
        """Mitigations that have not ended, after the one of a name: a JSON array."""

    def lift(
        self, definition: str, key: bytes, policy: str, clause: str | None, at: int
    ) -> bytes | None:
        """End the mitigations that a policy, or one of its clauses, has set; the effects, or
        None."""

    def revoke_pass(self, pass_id: bytes, expires_at: int, at: int) -> bytes | None:
        """Revoke a pass of an id of 16 bytes; the effects, or None when it is revoked already or
        has expired."""

    def is_revoked(self, pass_id: bytes) -> bool:
        """Whether a pass was revoked, as long as that is remembered."""

    def entity_state(self, definition: str, key: bytes, at: int) -> bytes | None:
        """The state of an entity, as JSON, or None when nothing is known of it."""

    def find_entity(self, entity_id: str) -> bytes | None:
        """Definition and key of the entity of an id, as JSON, or None when it is not known."""

    def stats(self) -> dict[str, int]:
        """Keys held, their bound, and evictions."""

@final
class ProofKeys:
    """A reader of the proofs of a tenant's challenges, defined by ``tidegate.policy.proofs``.

    Args:
        tenant: its id, 16 bytes.
        proof_key: 32 bytes.
        sealing_key: 32 bytes.
    """

    def __new__(cls, tenant: bytes, proof_key: bytes, sealing_key: bytes) -> ProofKeys: ...

@final
class Frozen:
    """A state at one moment."""

    def snapshot(self) -> bytes:
        """The state as JSON; the interpreter is released meanwhile."""

    def write(self, take: Callable[[bytes], object]) -> None:
        """Hand over JSON, in pieces of about a megabyte; an error of ``take`` ends it."""

@final
class Calls:
    """Hot calls of one tenant, in the order they came, read and not yet decided on."""

    @property
    def refusals(self) -> list[tuple[int, EventError | _RefusedCall]]:
        """The calls that will not be decided on, by their number, and why."""

    @property
    def keyed(self) -> tuple[list[int], list[bytes], list[bytes]]:
        """The calls with an idempotency key: their numbers, hashes of the keys, and of the bodies.

        The hash that stands for a key is BLAKE2b of 16 bytes, keyed, over the 16 bytes of the
        tenant's id, the endpoint, a zero byte and the key. The hash of a body, 16 bytes too, is of
        what its JSON says: space, escapes and the order of members do not change it.
        """

    def decide(
        self,
        ids: bytes,
        api_key_ids: list[str],
        received_at: int,
        base_url: str,
        redactor: Redactor,
        aside: Sequence[int] = ...,
        trace_ids: Sequence[str | None] | None = None,
    ) -> _BlockColumns:
        """Decide on the calls that are not refused, in order, and remember them.

        Args:
            ids: 16 bytes for each call: the id of its decision.
            api_key_ids: the key that each came with.
            received_at: nanoseconds since 1970.
            base_url: of the service, for the URLs of challenges.
            redactor: makes what is kept of the events.
            aside: numbers of deferred calls, which are not decided on.
            trace_ids: the trace of each call, in 32 hexadecimal digits; None without any.

        Raises:
            ValueError: there are not as many ids or keys as calls.
        """

_RefusedCall: TypeAlias = Literal["other-tenant", "empty", "key-length"]
"""The event names another tenant; holds nothing; its idempotency key is empty or too long."""

_BlockColumns: TypeAlias = tuple[
    list[bytes | None],
    list[tuple[int, EventError]],
    int,
    bytes,
    bytes,
    bytes,
    bytes,
    list[tuple[str, str, int]],
    list[tuple[str, str, str, int]],
    int,
    int,
    list[tuple[str, int]],
    int,
]
"""The parts of a ``tidegate.evaluation.native.Block``, in its order."""

@final
class LearnedNames:
    """The captured names of one tenant in a part of the log.

    Args:
        known: the names known before.
        most: names known and new together; further ones are not learned.
    """

    def __new__(cls, known: Sequence[str], most: int) -> LearnedNames: ...
    def learn(self, lines: bytes) -> int:
        """Learn from lines of the log, the oldest first, with a line feed between two.

        Returns:
            How many bytes all that was learned takes, about.

        Raises:
            ValueError: they are not UTF-8.
        """

    def names(self) -> list[str]:
        """The names that were seen, as ``fields.account`` or ``request.headers.x-app``."""

    def rows(self, stored: Sequence[tuple[str, bytes]]) -> str:
        """Rows as JSON arrays: name, type, example, events that have it, sketch of its values in
        hexadecimal, when it was last seen.  The first has no name and counts the events; without
        events it is missing too.

        Args:
            stored: names with their sketches of before, which are counted in.
        """

    @staticmethod
    def distinct(sketch: bytes) -> int | None:
        """An estimate of the number of values in a sketch; None where it is invalid."""

@final
class PlainForm(Generic[_T]):
    """Recognises requests in the plain form, the one that nearly every client writes.

    A plain request is a POST over HTTP/1.1 to one of the targets, in printable ASCII, with at most
    32 headers; ``host``, ``x-service-api-key``, ``content-type: application/json`` and
    ``content-length``, in decimal, are there once each, and ``x-request-id`` and ``traceparent`` at
    most once; nothing else says how it is framed, encoded or answered.  Every parser of HTTP reads
    a recognised request alike.

    Args:
        targets: paths, and what stands for each in the result.
        max_head: bytes that the request line and the headers have together.
        max_body: bytes that a body has.
    """

    def __new__(
        cls, targets: Sequence[tuple[str, _T]], max_head: int, max_body: int
    ) -> PlainForm[_T]: ...
    def read(self, data: bytes) -> tuple[_T, bytes, bytes | None, bytes | None, bytes] | None:
        """The target, API key, request id, ``traceparent`` and body of one whole plain request.

        Returns:
            None when the data is anything else, be it more or less than one request.
        """

@final
class Redactor:
    """Replaces the secrets of events by keyed hashes: docs/fields.md, "What is kept of an event".

    Args:
        patterns: names of members that hold secrets; ``*`` stands for any run;
            one that begins with ``!`` names members that hold none.
        key: what the hashes are made with.
        read: members of an event, each by the names on the way to it. Of members that have names of
            their own only these are kept, as far as they aren't secrets. None keeps all.

    Raises:
        ValueError: the patterns are too large together.
    """

    def __new__(
        cls, patterns: Sequence[str], key: bytes, read: Sequence[Sequence[str]] | None = ...
    ) -> Redactor: ...
    def redact(self, body: bytes) -> bytes:
        """The event without its secrets, as compact JSON.

        Raises:
            EventError: the body isn't a strict JSON object within the limits of an event.
        """

    def link(self, text: str) -> str:
        """A path or URL without its secrets."""

    def text(self, name: str, text: str) -> str:
        """A text that stood under a name which isn't a secret, without its secrets."""

    def secret(self, name: str, text: str) -> str:
        """The hash that replaces a secret; a value that is such a hash already stays as it is."""

FACTS: dict[str, int]
"""Bounds that the engine has, by their names in :mod:`tidegate.limits`."""

def count_log(index: bytes, first: int) -> tuple[list[tuple[int, bytes, str]], str]:
    """The rows that a store derives from the index of decisions of its log.

    Args:
        index: arrays of ``encode_index`` of the decision log, joined by commas.
        first: number of the first decision.

    Returns:
        For each bucket of idempotency keys (the hour of receipt shifted left by 16, and in the
        low bits those of the decision's number divided by 65,536) its number, for each key in
        order 16 bytes of its hash and 16 of the fingerprint, and their decisions' numbers as JSON;
        then rows of counts as JSON: tenant, policy (empty: every decision), minute, total, monitor,
        challenge, block, errors, time of the last match or null, of the last receipt.

    Raises:
        ValueError: the index is invalid.
    """

def write_rows(
    columns: Sequence[tuple[str, bool, bytes, bytes, bytes | None]], after: str, count: int
) -> list[bytes | int]:
    """As :func:`tidegate.frames.rows.write_rows`, which is the definition.

    Raises:
        ValueError: a column has no UTF-8, or offsets that aren't those of its texts.
    """
