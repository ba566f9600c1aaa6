"""The partition of the log in which each tenant lives."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; existing tenants live in partition 0."""
    op.add_column(
        "tenants", sa.Column("partition_id", sa.Integer(), nullable=False, server_default="0")
    )
