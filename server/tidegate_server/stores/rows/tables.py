"""The tables, defined once for SQLite and PostgreSQL.

Times are integers of nanoseconds since 1970, in columns that end in ``_ns``; ids are 16 bytes.
Tables derived from ``decision_log`` are in a separate file that can be rebuilt from the log; see
``derived.py``.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    false,
)

from tidegate_server.stores.rows.columns import Id, Json, Text

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


derived_metadata = MetaData(naming_convention=metadata.naming_convention, schema="derived")


def _tenant() -> Column[object]:
    return Column(
        "tenant_id", Id, ForeignKey("tenants.tenant_id", ondelete="CASCADE"), nullable=False
    )


def _former_tenant() -> Column[object]:
    """A column for the id of a tenant that may be deleted; its rows are then deleted in small
    steps."""
    return Column("tenant_id", Id, nullable=False)


def _versioned() -> tuple[Column[int], ...]:
    return (
        Column("revision", Integer, nullable=False),
        Column("created_at_ns", BigInteger, nullable=False),
        Column("updated_at_ns", BigInteger, nullable=False),
    )


store_meta = Table(
    "store_meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    comment="numbers the store keeps about itself; see counters.py",
)

store_identity = Table(
    "store_identity",
    metadata,
    Column("identity", LargeBinary(16), primary_key=True),
    Column("keys_fingerprint", LargeBinary(16)),
    comment="one row: which directory this is, and which keys belong to it; see directory/",
)

log_gaps = Table(
    "log_gaps",
    metadata,
    Column("first_seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("last_seq", BigInteger, nullable=False),
    Column("tenant_id", Id),
    Column("reason", Text, nullable=False),
    Column("found_at_ns", BigInteger, nullable=False),
    comment="decisions that were recorded, were lost, and were reported",
)

pending_changes = Table(
    "pending_changes",
    metadata,
    Column("change_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("generation", BigInteger, nullable=False),
    comment="changes that are being written in steps: what carries such an id is not there yet",
)

tenants = Table(
    "tenants",
    metadata,
    Column("tenant_id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("settings", Json, nullable=False),
    Column("definition_revision", BigInteger, nullable=False),
    *_versioned(),
    Column("definition_generation", BigInteger, nullable=False, server_default="0"),
    Column("partition_id", Integer, nullable=False, server_default="0"),
)

partitions = Table(
    "partitions",
    metadata,
    Column("partition_id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("owner", Text),
    Column("term", BigInteger, nullable=False, server_default="0"),
    comment="who may append to the log; a claim begins the next epoch, see claims.py",
)

cluster_members = Table(
    "cluster_members",
    metadata,
    Column("name", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("run", BigInteger, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("is_draining", Boolean, nullable=False),
    comment="the nodes over a database of PostgreSQL, see members.py",
)

cluster_partitions = Table(
    "cluster_partitions",
    metadata,
    Column("partition_id", Integer, primary_key=True, autoincrement=False),
    Column("term", BigInteger, nullable=False),
    Column("moved_to", Text),
    comment="how often a node took a partition, and where an operator moved it, see members.py",
)

definitions = Table(
    "definitions",
    metadata,
    _former_tenant(),
    Column("generation", BigInteger, nullable=False, server_default="0"),
    Column("kind", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Json, nullable=False),
    Column("position", BigInteger, nullable=False),
    *_versioned(),
    PrimaryKeyConstraint("tenant_id", "generation", "kind", "object_id"),
    UniqueConstraint("tenant_id", "generation", "kind", "slug"),
    UniqueConstraint("tenant_id", "generation", "kind", "name"),
    comment="kind: list, action, entity, mitigation, policy; body as in docs/definitions.md; the"
    " generation in force is the tenant's",
)

definition_sets = Table(
    "definition_sets",
    metadata,
    _former_tenant(),
    Column("revision", BigInteger, nullable=False),
    Column("base_revision", BigInteger),
    Column("body", LargeBinary, nullable=False),
    Column("created_at_ns", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "revision"),
    comment="immutable; body is zstd of the document, the dictionary is base_revision's document",
)

compiled_sets = Table(
    "compiled_sets",
    metadata,
    _tenant(),
    Column("revision", BigInteger, nullable=False),
    Column("own_revision", BigInteger, nullable=False),
    Column("program", LargeBinary, nullable=False),
    Column("checksum", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant_id"),
    comment="definitions compiled by one build of the program, made again where they don't fit;"
    " body is zstd, checksum covers all columns",
)

policy_versions = Table(
    "policy_versions",
    metadata,
    _former_tenant(),
    Column("policy_id", Id, nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", Json, nullable=False),
    Column("actor", Text, nullable=False),
    Column("created_at_ns", BigInteger, nullable=False),
    Column("change_id", Id),
    PrimaryKeyConstraint("tenant_id", "policy_id", "version"),
    Index(None, "change_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("api_key_id", Id, primary_key=True),
    _tenant(),
    Column("name", Text, nullable=False),
    Column("source_id", Text),
    Column("trust_level", Text, nullable=False),
    Column("rate_limit_per_minute", Integer, nullable=False),
    Column("prefix", Text, nullable=False, unique=True),
    Column("secret_hash", LargeBinary(32), nullable=False),
    Column("previous_secret_hash", LargeBinary(32)),
    Column("previous_secret_until_ns", BigInteger),
    Column("expires_at_ns", BigInteger),
    Column("revoked_at_ns", BigInteger),
    Column("last_used_at_ns", BigInteger),
    *_versioned(),
    Column("can_sync", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("tenant_id", "name"),
)

list_refreshes = Table(
    "list_refreshes",
    metadata,
    _tenant(),
    Column("list_id", Id, nullable=False),
    Column("source", Text, nullable=False),
    Column("refreshed_at_ns", BigInteger, nullable=True),
    Column("refused_at_ns", BigInteger, nullable=True),
    Column("code", Text, nullable=False),
    Column("detail", Text, nullable=False),
    PrimaryKeyConstraint("tenant_id", "list_id"),
    comment="when published lists were fetched; see list_refreshes.py",
)

alerts = Table(
    "alerts",
    metadata,
    Column("alert_id", Id, primary_key=True),
    _tenant(),
    Column("name", Text, nullable=False),
    Column("body", Json, nullable=False),
    Column("state", Json),
    Column("dropped", Integer, nullable=False),
    *_versioned(),
    UniqueConstraint("tenant_id", "name"),
    comment="body: the condition and where messages go; state: see alerts/rule.py",
)

alert_messages = Table(
    "alert_messages",
    metadata,
    Column("message_id", Id, primary_key=True),
    _tenant(),
    Column("destination", Json, nullable=False),
    Column("body", Json, nullable=False),
    Column("created_at_ns", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at_ns", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
    Index(None, "tenant_id"),
    comment="messages of alerts until a receiver took them",
)

daemons = Table(
    "daemons",
    metadata,
    _tenant(),
    Column("daemon_id", Id, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("definitions_revision", Integer, nullable=False),
    Column("is_equal", Boolean, nullable=False),
    Column("behind", BigInteger, nullable=False),
    Column("spooled", BigInteger, nullable=False),
    Column("dropped", BigInteger, nullable=False),
    Column("first_seen_at_ns", BigInteger, nullable=False),
    Column("last_seen_at_ns", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "daemon_id"),
    comment="what each daemon said last of itself; see daemons.py",
)

spools = Table(
    "spools",
    metadata,
    _tenant(),
    Column("daemon_id", Id, nullable=False),
    Column("spool_id", Id, nullable=False),
    Column("number", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "daemon_id", "spool_id"),
    comment="the last decision of each spool that is in the log, so that none is there twice",
)

change_marks = Table(
    "change_marks",
    metadata,
    _tenant(),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("revision", Integer, nullable=False),
    PrimaryKeyConstraint("tenant_id", "sequence"),
    comment="places in the changes that daemons follow; see change_marks.py",
)

operators = Table(
    "operators",
    metadata,
    Column("operator_id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False, unique=True),
    Column("password_hash", Text),
    Column("disabled", Boolean, nullable=False),
    Column("tokens_valid_from_ns", BigInteger, nullable=False),
    *_versioned(),
)

memberships = Table(
    "memberships",
    metadata,
    _tenant(),
    Column("user_id", Id, nullable=False),
    Column("role", Text, nullable=False),
    *_versioned(),
    Column("accepted_at_ns", BigInteger),
    Column("email", Text),
    PrimaryKeyConstraint("tenant_id", "user_id"),
    Index(None, "user_id"),
    Index(None, "email", "tenant_id", unique=True),
    comment="no foreign key to operators: giving a role does not reveal whether there is one",
)

identities = Table(
    "identities",
    metadata,
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column(
        "operator_id",
        Id,
        ForeignKey("operators.operator_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("created_at_ns", BigInteger, nullable=False),
    PrimaryKeyConstraint("issuer", "subject"),
    Index(None, "operator_id"),
    comment="whom an identity provider means by a subject",
)

operator_sessions = Table(
    "operator_sessions",
    metadata,
    Column("session_id", Id, primary_key=True),
    Column(
        "operator_id",
        Id,
        ForeignKey("operators.operator_id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("provider", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("issued_at_ns", BigInteger, nullable=False),
    Column("expires_at_ns", BigInteger, nullable=False),
    Index(None, "operator_id", "session_id"),
    Index(None, "expires_at_ns"),
    comment="tokens that were issued; the id of a session is that of its token",
)

second_factors = Table(
    "second_factors",
    metadata,
    Column(
        "operator_id",
        Id,
        ForeignKey("operators.operator_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("sealed", LargeBinary, nullable=False),
    Column("confirmed_at_ns", BigInteger),
    Column("last_step", BigInteger, nullable=False),
    Column("recovery", LargeBinary, nullable=False),
    comment="what a login with a password needs besides; see operators/second_factor.py",
)

revoked_tokens = Table(
    "revoked_tokens",
    metadata,
    Column("token_id", Text, primary_key=True),
    Column("expires_at_ns", BigInteger, nullable=False),
    Column("revoked_at_ns", BigInteger, nullable=False),
)

kept_answers = Table(
    "kept_answers",
    metadata,
    Column("name", LargeBinary(32), primary_key=True),
    Column("operator_id", Id, nullable=False),
    Column("tenant_id", Id),
    Column("at_ns", BigInteger, nullable=False),
    Column("size", Integer, nullable=False),
    Column("fingerprint", LargeBinary(32), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Index(None, "operator_id", "at_ns", "size"),
    Index(None, "tenant_id", "at_ns", "size"),
    Index(None, "at_ns", "size"),
    comment="answers of the control plane by idempotency key; see objects/kept_answers.py",
)

audit = Table(
    "audit",
    metadata,
    Column("audit_id", Id, primary_key=True),
    Column("tenant_id", Id),
    Column("at_ns", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", Text, nullable=False),
    Column("before", Json),
    Column("after", Json),
    Column("request_id", Text),
    Column("change_id", Id),
    Index(None, "tenant_id", "audit_id"),
    Index(None, "change_id"),
    comment="no foreign key: what was done to a tenant outlives it",
)

decision_log = Table(
    "decision_log",
    metadata,
    Column("first_seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("count", Integer, nullable=False),
    Column("received_at_ns", BigInteger, nullable=False),
    Column("first_id", LargeBinary(16), nullable=False),
    Column("last_id", LargeBinary(16), nullable=False),
    Column("index_body", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("checksum", BigInteger),
    Column("previous_seq", BigInteger),
    Index(None, "tenant_id", "first_seq"),
    Index(None, "tenant_id", "last_id", "first_id"),
    comment="the truth: body is zstd of NDJSON, one line a decision; the ids are 16 bytes",
)

snapshots = Table(
    "snapshots",
    metadata,
    _former_tenant(),
    Column("seq", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("parts", Integer, nullable=False),
    Column("created_at_ns", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "seq"),
    comment="what has a row here is whole",
)

snapshot_parts = Table(
    "snapshot_parts",
    metadata,
    _former_tenant(),
    Column("seq", BigInteger, nullable=False),
    Column("part", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant_id", "seq", "part"),
    comment="bodies one after another are zstd of the state",
)

replay_jobs = Table(
    "replay_jobs",
    metadata,
    Column("job_id", Id, primary_key=True),
    _tenant(),
    Column("status", Text, nullable=False),
    Column("request", Json, nullable=False),
    Column("progress", BigInteger, nullable=False),
    Column("result", Json),
    Column("error", Text),
    Column("actor", Text, nullable=False),
    Column("started_at_ns", BigInteger),
    Column("finished_at_ns", BigInteger),
    *_versioned(),
    # Last, so that a row can be read without it.
    Column("draft", LargeBinary),
    Index(None, "tenant_id", "job_id"),
)

replay_differences = Table(
    "replay_differences",
    metadata,
    Column("job_id", Id, ForeignKey("replay_jobs.job_id", ondelete="CASCADE"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("decision_id", Id, nullable=False),
    Column("recorded", Json, nullable=False),
    Column("replayed", Json, nullable=False),
    PrimaryKeyConstraint("job_id", "ordinal"),
)

challenge_sessions = Table(
    "challenge_sessions",
    metadata,
    Column("challenge_id", Id, primary_key=True),
    _former_tenant(),
    Column("opened_at_ns", BigInteger, nullable=False),
    Column("expires_at_ns", BigInteger, nullable=False),
    Column("provider", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("actor", LargeBinary(16), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("parameters", Json, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("host", Text),
    Column("template", Text),
    Column("failures", Integer, nullable=False),
    Column("solved_at_ns", BigInteger),
    Column("solved_by", Text),
    Index(None, "tenant_id", "actor", "opened_at_ns"),
    Index(None, "tenant_id", "opened_at_ns"),
    comment="by the id of the decision that challenged; solved once, see objects/challenges.py",
)

passes = Table(
    "passes",
    metadata,
    Column("pass_id", Id, primary_key=True),
    _former_tenant(),
    Column("challenge_id", Id, nullable=False, unique=True),
    Column("provider", Text, nullable=False),
    Column("issued_at_ns", BigInteger, nullable=False),
    Column("expires_at_ns", BigInteger, nullable=False),
    Index(None, "tenant_id", "pass_id"),
    Index(None, "tenant_id", "expires_at_ns"),
    Index(None, "expires_at_ns"),
    comment="what solutions bought; whether one is revoked is in the state of the engine",
)

derived_meta = Table(
    "derived_meta",
    derived_metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    comment="how far the log is derived, and which log it is; see derived.py",
)

idempotency = Table(
    "idempotency",
    derived_metadata,
    Column("bucket", BigInteger, nullable=False),
    Column("key_hash", LargeBinary(16), nullable=False),
    Column("fingerprint", LargeBinary(16), nullable=False),
    Column("seq", BigInteger, nullable=False),
    PrimaryKeyConstraint("bucket", "key_hash"),
    sqlite_with_rowid=False,
    comment="the bucket first, so that random hashes fall close together; see idempotency.py",
)

result_counts = Table(
    "result_counts",
    derived_metadata,
    Column("tenant_id", Id, nullable=False),
    Column("policy_id", Id, nullable=False),
    Column("observed_minute", BigInteger, nullable=False),
    Column("received_minute", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("allow", BigInteger, nullable=False),
    Column("challenge", BigInteger, nullable=False),
    Column("block", BigInteger, nullable=False),
    Column("by_others", BigInteger, nullable=False),
    Column("monitor", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("last_observed_ns", BigInteger),
    Column("last_received_ns", BigInteger),
    PrimaryKeyConstraint("tenant_id", "policy_id", "observed_minute", "received_minute"),
    Index(None, "tenant_id", "policy_id", "received_minute"),
    sqlite_with_rowid=False,
    comment="by the minutes of observed_at and received_at; policy id 0: all decisions",
)

field_catalog = Table(
    "field_catalog",
    derived_metadata,
    Column("tenant_id", Id, nullable=False),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("example", Text, nullable=False),
    Column("present", BigInteger, nullable=False),
    Column("sketch", LargeBinary, nullable=False),
    Column("last_seen_at_ns", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name"),
    comment="the empty name counts the events that were learned from",
)
