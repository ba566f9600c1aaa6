"""Daemons that decide elsewhere: their last reports, and their last decisions in the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the tables; no existing API key may sync."""
    with op.batch_alter_table("api_keys") as api_keys:
        api_keys.add_column(
            sa.Column("can_sync", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    op.create_table(
        "daemons",
        _tenant("daemons"),
        sa.Column("daemon_id", sa.LargeBinary(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("definitions_revision", sa.Integer(), nullable=False),
        sa.Column("is_equal", sa.Boolean(), nullable=False),
        sa.Column("behind", sa.BigInteger(), nullable=False),
        sa.Column("spooled", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "daemon_id", name="pk_daemons"),
    )
    op.create_table(
        "spools",
        _tenant("spools"),
        sa.Column("daemon_id", sa.LargeBinary(16), nullable=False),
        sa.Column("spool_id", sa.LargeBinary(16), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "daemon_id", "spool_id", name="pk_spools"),
    )


def _tenant(table: str) -> sa.Column[bytes]:
    return sa.Column(
        "tenant_id",
        sa.LargeBinary(16),
        sa.ForeignKey("tenants.tenant_id", name=f"fk_{table}_tenant_id", ondelete="CASCADE"),
        nullable=False,
    )
