"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "audit",
        sa.Column("audit_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=True),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("audit_id", name="pk_audit"),
    )
    op.create_index("ix_audit_tenant_id_audit_id", "audit", ["tenant_id", "audit_id"])
    op.create_table(
        "decision_log",
        sa.Column(
            "first_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("received_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("index_body", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("first_seq", name="pk_decision_log"),
    )
    op.create_index(
        "ix_decision_log_tenant_id_first_seq", "decision_log", ["tenant_id", "first_seq"]
    )
    op.create_table(
        "decisions",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("decision_id", sa.LargeBinary(16), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("received_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("observed_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("policy_id", sa.LargeBinary(16), nullable=True),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("api_key_id", sa.LargeBinary(16), nullable=True),
        sa.Column("entity_ids", sa.LargeBinary(), nullable=True),
        sa.Column("fired", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "decision_id", name="pk_decisions"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "field_catalog",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("example", sa.Text(), nullable=False),
        sa.Column("present", sa.BigInteger(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.Column("last_seen_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "name", name="pk_field_catalog"),
    )
    op.create_table(
        "idempotency",
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(16), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(16), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "key_hash", name="pk_idempotency"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "operators",
        sa.Column("operator_id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("tokens_valid_from_ns", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("operator_id", name="pk_operators"),
        sa.UniqueConstraint("email", name="uq_operators_email"),
    )
    op.create_table(
        "result_counts",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("policy_id", sa.LargeBinary(16), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("monitor", sa.BigInteger(), nullable=False),
        sa.Column("challenge", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("last_match_ns", sa.BigInteger(), nullable=True),
        sa.Column("last_received_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "minute", name="pk_result_counts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "revoked_tokens",
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("expires_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", name="pk_revoked_tokens"),
    )
    op.create_table(
        "store_meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_store_meta"),
    )
    op.create_table(
        "tenants",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("definition_revision", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_tenants"),
        sa.UniqueConstraint("name", name="uq_tenants_name"),
        sa.UniqueConstraint("slug", name="uq_tenants_slug"),
    )
    op.create_table(
        "api_keys",
        sa.Column("api_key_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("trust_level", sa.Text(), nullable=False),
        sa.Column("rate_limit_per_minute", sa.Integer(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("previous_secret_hash", sa.LargeBinary(32), nullable=True),
        sa.Column("previous_secret_until_ns", sa.BigInteger(), nullable=True),
        sa.Column("expires_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.tenant_id"], name="fk_api_keys_tenant_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("api_key_id", name="pk_api_keys"),
        sa.UniqueConstraint("prefix", name="uq_api_keys_prefix"),
        sa.UniqueConstraint("tenant_id", "name", name="uq_api_keys_tenant_id_name"),
    )
    op.create_table(
        "definitions",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("object_id", sa.LargeBinary(16), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_definitions_tenant_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "object_id", name="pk_definitions"),
        sa.UniqueConstraint("tenant_id", "kind", "name", name="uq_definitions_tenant_id_kind_name"),
        sa.UniqueConstraint("tenant_id", "kind", "slug", name="uq_definitions_tenant_id_kind_slug"),
    )
    op.create_table(
        "memberships",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("user_id", sa.LargeBinary(16), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_memberships_tenant_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["operators.operator_id"],
            name="fk_memberships_user_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_memberships"),
    )
    op.create_index("ix_memberships_user_id", "memberships", ["user_id"])
    op.create_table(
        "policy_versions",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("policy_id", sa.LargeBinary(16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_policy_versions_tenant_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "version", name="pk_policy_versions"),
    )
    op.create_table(
        "replay_jobs",
        sa.Column("job_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("progress", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("started_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("finished_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_replay_jobs_tenant_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", name="pk_replay_jobs"),
    )
    op.create_index("ix_replay_jobs_tenant_id_job_id", "replay_jobs", ["tenant_id", "job_id"])
    op.create_table(
        "snapshots",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.tenant_id"], name="fk_snapshots_tenant_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "seq", name="pk_snapshots"),
    )
    op.create_table(
        "replay_differences",
        sa.Column("job_id", sa.LargeBinary(16), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("decision_id", sa.LargeBinary(16), nullable=False),
        sa.Column("recorded", sa.Text(), nullable=False),
        sa.Column("replayed", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["replay_jobs.job_id"],
            name="fk_replay_differences_job_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "ordinal", name="pk_replay_differences"),
    )
    counters = sa.table("store_meta", sa.column("name"), sa.column("value"))
    op.bulk_insert(
        counters,
        [{"name": name, "value": 0} for name in ("changes", "indexed_seq", "recoveries")],
    )
