"""Session locks say who owns a partition: the rows that said so go."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
runs_from = "0017"


def upgrade() -> None:
    """Drop what earlier versions placed partitions by, which no version runs next to this one."""
    op.drop_table("cluster_placements")
    op.drop_table("cluster_members")
    op.create_table(
        "cluster_members",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("is_draining", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cluster_members"),
    )
    op.create_table(
        "cluster_partitions",
        sa.Column("partition_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("moved_to", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("partition_id", name="pk_cluster_partitions"),
    )
