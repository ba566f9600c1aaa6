"""Past definitions, by revision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "definition_sets",
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("base_revision", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.tenant_id"],
            name="fk_definition_sets_tenant_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "revision", name="pk_definition_sets"),
    )
