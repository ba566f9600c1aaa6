"""Refreshes of lists from their sources: when the last one was, and why one was refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
runs_from = "0017"


def upgrade() -> None:
    """Create the table; no list has a source yet."""
    op.create_table(
        "list_refreshes",
        sa.Column(
            "tenant_id",
            sa.LargeBinary(16),
            sa.ForeignKey(
                "tenants.tenant_id", name="fk_list_refreshes_tenant_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("list_id", sa.LargeBinary(16), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("refreshed_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("refused_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "list_id", name="pk_list_refreshes"),
    )
