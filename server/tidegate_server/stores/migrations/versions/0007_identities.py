"""Identities of operators at identity providers, and memberships of invited addresses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table and the column."""
    op.create_table(
        "identities",
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("operator_id", sa.LargeBinary(16), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
        sa.ForeignKeyConstraint(
            ["operator_id"],
            ["operators.operator_id"],
            name="fk_identities_operator_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_identities_operator_id", "identities", ["operator_id"])
    op.add_column("memberships", sa.Column("email", sa.Text(), nullable=True))
    op.create_index(
        "ix_memberships_email_tenant_id", "memberships", ["email", "tenant_id"], unique=True
    )
