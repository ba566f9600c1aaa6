"""Marks in the changes that daemons follow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "change_marks",
        sa.Column(
            "tenant_id",
            sa.LargeBinary(16),
            sa.ForeignKey(
                "tenants.tenant_id", name="fk_change_marks_tenant_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "sequence", name="pk_change_marks"),
    )
