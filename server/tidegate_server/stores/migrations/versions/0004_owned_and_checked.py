"""The identity of a directory; checksums of log rows and gaps of the log; changes in steps.

A large change of definitions is written as a second generation next to the one in force. Its audit
entries and versions are hidden until it is complete.  Rows of a deleted tenant are deleted in small
steps, so tables with many of them no longer refer to tenants.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID_BYTES = 16


def upgrade() -> None:
    """Add the columns and tables, and rebuild the tables whose keys change."""
    op.create_table(
        "store_identity",
        sa.Column("identity", sa.LargeBinary(ID_BYTES), nullable=False),
        sa.Column("keys_fingerprint", sa.LargeBinary(ID_BYTES), nullable=True),
        sa.PrimaryKeyConstraint("identity", name="pk_store_identity"),
    )
    op.get_bind().execute(
        sa.text("INSERT INTO store_identity (identity) VALUES (:identity)"),
        {"identity": secrets.token_bytes(ID_BYTES)},
    )
    op.create_table(
        "log_gaps",
        sa.Column(
            "first_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(ID_BYTES), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("found_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("first_seq", name="pk_log_gaps"),
    )
    op.create_table(
        "pending_changes",
        sa.Column("change_id", sa.LargeBinary(ID_BYTES), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(ID_BYTES), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("change_id", name="pk_pending_changes"),
    )
    op.add_column("decision_log", sa.Column("checksum", sa.BigInteger(), nullable=True))
    op.add_column("decision_log", sa.Column("previous_seq", sa.BigInteger(), nullable=True))
    op.add_column("audit", sa.Column("change_id", sa.LargeBinary(ID_BYTES), nullable=True))
    op.create_index("ix_audit_change_id", "audit", ["change_id"])
    op.add_column(
        "tenants",
        sa.Column("definition_generation", sa.BigInteger(), nullable=False, server_default="0"),
    )
    _renew_definitions()
    _renew_versions()
    _renew_definition_sets()
    _renew_snapshots()


def _tenant() -> sa.Column[bytes]:
    return sa.Column("tenant_id", sa.LargeBinary(ID_BYTES), nullable=False)


def _copy(table: str, columns: str) -> None:
    """Fill a new table from the old one, and drop the old one."""
    op.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}_before")  # noqa: S608
    op.drop_table(f"{table}_before")


def _renew_definitions() -> None:
    op.rename_table("definitions", "definitions_before")
    op.create_table(
        "definitions",
        _tenant(),
        sa.Column("generation", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("object_id", sa.LargeBinary(ID_BYTES), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "generation", "kind", "object_id", name="pk_definitions"
        ),
        sa.UniqueConstraint(
            "tenant_id",
            "generation",
            "kind",
            "slug",
            name="uq_definitions_tenant_id_generation_kind_slug",
        ),
        sa.UniqueConstraint(
            "tenant_id",
            "generation",
            "kind",
            "name",
            name="uq_definitions_tenant_id_generation_kind_name",
        ),
    )
    _copy(
        "definitions",
        "tenant_id, kind, object_id, slug, name, body, position, revision, created_at_ns,"
        " updated_at_ns",
    )


def _renew_versions() -> None:
    op.rename_table("policy_versions", "policy_versions_before")
    op.create_table(
        "policy_versions",
        _tenant(),
        sa.Column("policy_id", sa.LargeBinary(ID_BYTES), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("change_id", sa.LargeBinary(ID_BYTES), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "version", name="pk_policy_versions"),
    )
    _copy("policy_versions", "tenant_id, policy_id, version, body, actor, created_at_ns")
    op.create_index("ix_policy_versions_change_id", "policy_versions", ["change_id"])


def _renew_definition_sets() -> None:
    op.rename_table("definition_sets", "definition_sets_before")
    op.create_table(
        "definition_sets",
        _tenant(),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("base_revision", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "revision", name="pk_definition_sets"),
    )
    _copy("definition_sets", "tenant_id, revision, base_revision, body, created_at_ns")


def _renew_snapshots() -> None:
    op.rename_table("snapshots", "snapshots_before")
    op.create_table(
        "snapshots",
        _tenant(),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq", name="pk_snapshots"),
    )
    _copy("snapshots", "tenant_id, seq, revision, parts, created_at_ns")
    op.rename_table("snapshot_parts", "snapshot_parts_before")
    op.create_table(
        "snapshot_parts",
        _tenant(),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq", "part", name="pk_snapshot_parts"),
    )
    _copy("snapshot_parts", "tenant_id, seq, part, body")
