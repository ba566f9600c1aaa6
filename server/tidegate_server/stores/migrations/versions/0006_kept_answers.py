"""Responses returned again when a request is repeated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "kept_answers",
        sa.Column("name", sa.LargeBinary(32), nullable=False),
        sa.Column("operator_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=True),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(32), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_kept_answers"),
    )
    for first in (["operator_id"], ["tenant_id"], []):
        columns = [*first, "at_ns", "size"]
        op.create_index(f"ix_kept_answers_{'_'.join(columns)}", "kept_answers", columns)
