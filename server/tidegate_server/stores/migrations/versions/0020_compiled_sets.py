"""Compiled definitions, so that a start doesn't compile them from text."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
runs_from = "0017"


def upgrade() -> None:
    """Create the table; each tenant's definitions are added when they are next compiled."""
    op.create_table(
        "compiled_sets",
        sa.Column(
            "tenant_id",
            sa.LargeBinary(16),
            sa.ForeignKey(
                "tenants.tenant_id", name="fk_compiled_sets_tenant_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("own_revision", sa.BigInteger(), nullable=False),
        sa.Column("program", sa.LargeBinary(), nullable=False),
        sa.Column("checksum", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_compiled_sets"),
    )
