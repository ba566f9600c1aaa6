"""Members of a cluster, and where they place partitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Create the tables, empty: the first node writes the first rows."""
    op.create_table(
        "cluster_members",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
        sa.Column("is_draining", sa.Boolean(), nullable=False),
        sa.Column("loads", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cluster_members"),
    )
    op.create_table(
        "cluster_placements",
        sa.Column("partition_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("follower", sa.Text(), nullable=True),
        sa.Column("is_moving", sa.Boolean(), nullable=False),
        sa.Column("is_level", sa.Boolean(), nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("partition_id", name="pk_cluster_placements"),
    )
