"""Move derived data to a separate file; find decisions in the log; split snapshots into parts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

from tidegate_server.stores.decision_log.log import unpack

revision = "0003"
down_revision = "0002"

ROWS_A_READ = 64


def upgrade() -> None:
    """Give the rows of the log their ids, and drop the tables derived from it."""
    connection = op.get_bind()
    connection.execute(sa.text("ALTER TABLE decision_log RENAME TO decision_log_before"))
    op.drop_index("ix_decision_log_tenant_id_first_seq")
    op.create_table(
        "decision_log",
        sa.Column(
            "first_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("received_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("first_id", sa.LargeBinary(16), nullable=False),
        sa.Column("last_id", sa.LargeBinary(16), nullable=False),
        sa.Column("index_body", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("first_seq", name="pk_decision_log"),
    )
    copy_log(connection)
    op.drop_table("decision_log_before")
    op.create_index(
        "ix_decision_log_tenant_id_first_seq", "decision_log", ["tenant_id", "first_seq"]
    )
    op.create_index(
        "ix_decision_log_tenant_id_last_id_first_id",
        "decision_log",
        ["tenant_id", "last_id", "first_id"],
    )
    part_snapshots(connection)
    for name in ("decisions", "idempotency", "result_counts", "field_catalog"):
        op.drop_table(name)
    connection.execute(
        sa.text("UPDATE store_meta SET name = 'pruned_seq' WHERE name = 'indexed_seq'")
    )
    connection.execute(
        sa.text(
            "INSERT INTO store_meta (name, value) VALUES ('log_id', :number) ON CONFLICT DO NOTHING"
        ),
        {"number": secrets.randbits(62)},
    )


def part_snapshots(connection: sa.Connection) -> None:
    """Move snapshot bodies to a separate table; each existing one becomes one part."""
    op.create_table(
        "snapshot_parts",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_snapshot_parts_tenant_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "seq", "part", name="pk_snapshot_parts"),
    )
    connection.execute(
        sa.text("INSERT INTO snapshot_parts SELECT tenant_id, seq, 0, body FROM snapshots")
    )
    connection.execute(sa.text("ALTER TABLE snapshots RENAME TO snapshots_before"))
    op.create_table(
        "snapshots",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.tenant_id"], name="fk_snapshots_tenant_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "seq", name="pk_snapshots"),
    )
    connection.execute(
        sa.text("""
            INSERT INTO snapshots
            SELECT tenant_id, seq, revision, 1, created_at_ns FROM snapshots_before
        """)
    )
    op.drop_table("snapshots_before")


def copy_log(connection: sa.Connection) -> None:
    """Copy the log's rows with their ids, and the audit of lifts that the index had not reached."""
    indexed = connection.execute(
        sa.text("SELECT value FROM store_meta WHERE name = 'indexed_seq'")
    ).scalar_one()
    insert = sa.text("""
        INSERT INTO decision_log
        SELECT first_seq, tenant_id, count, received_at_ns, :first_id, :last_id, index_body, body
        FROM decision_log_before WHERE first_seq = :first_seq
    """)
    for first_seq, index_body in packed_rows(connection):
        entries = orjson.loads(b"[%b]" % unpack(first_seq, index_body))
        ids = [bytes.fromhex(entry[1].replace("-", "")) for entry in entries]
        row = {"first_seq": first_seq, "first_id": min(ids), "last_id": max(ids)}
        connection.execute(insert, row)
        for seq, entry in enumerate(entries, first_seq):
            if len(entry) > 14 and seq > indexed:
                write_audit(connection, entry)


def packed_rows(connection: sa.Connection) -> Iterator[tuple[int, bytes]]:
    """The log's rows, a few in memory at a time."""
    position = -1
    while True:
        rows = connection.execute(
            sa.text("""
                SELECT first_seq, index_body FROM decision_log_before
                WHERE first_seq > :position ORDER BY first_seq LIMIT :limit
            """),
            {"position": position, "limit": ROWS_A_READ},
        ).all()
        for row in rows:
            yield row.first_seq, row.index_body
        if len(rows) < ROWS_A_READ:
            return
        position = rows[-1].first_seq


def write_audit(connection: sa.Connection, entry: list[Any]) -> None:
    """The rest of a lift's index entry: actor, kind, object, mitigations, request."""
    actor, kind, object_id, before, request_id = entry[14]
    connection.execute(
        sa.text("""
            INSERT INTO audit (audit_id, tenant_id, at_ns, actor, action, kind, object_id, before,
                               request_id)
            VALUES (unhex(:lift, '-'), unhex(:tenant, '-'), :at, :actor, 'lift', :kind, :object,
                    :before, :request)
            ON CONFLICT DO NOTHING
        """),
        {
            "lift": entry[1],
            "tenant": entry[0],
            "at": entry[2],
            "actor": actor,
            "kind": kind,
            "object": object_id,
            "before": orjson.dumps(before).decode(),
            "request": request_id,
        },
    )
