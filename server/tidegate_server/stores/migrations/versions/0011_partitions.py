"""Partitions of the log, each with the epoch of its owner."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table; existing data is partition 0."""
    op.create_table(
        "partitions",
        sa.Column("partition_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("partition_id", name="pk_partitions"),
    )
    op.execute("INSERT INTO partitions (partition_id, epoch) VALUES (0, 0)")
