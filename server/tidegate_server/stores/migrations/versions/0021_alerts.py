"""Alerts of tenants, and their messages until a receiver has taken them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
runs_from = "0017"


def upgrade() -> None:
    """Create the tables, without any alert."""
    op.create_table(
        "alerts",
        sa.Column("alert_id", sa.LargeBinary(16), nullable=False),
        _tenant("alerts"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("dropped", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("alert_id", name="pk_alerts"),
        sa.UniqueConstraint("tenant_id", "name", name="uq_alerts_tenant_id_name"),
    )
    op.create_table(
        "alert_messages",
        sa.Column("message_id", sa.LargeBinary(16), nullable=False),
        _tenant("alert_messages"),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name="pk_alert_messages"),
    )
    op.create_index("ix_alert_messages_tenant_id", "alert_messages", ["tenant_id"])


def _tenant(table: str) -> sa.Column[bytes]:
    key = sa.ForeignKey("tenants.tenant_id", name=f"fk_{table}_tenant_id", ondelete="CASCADE")
    return sa.Column("tenant_id", sa.LargeBinary(16), key, nullable=False)
