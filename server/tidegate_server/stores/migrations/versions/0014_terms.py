"""The term of the placement under which the owner of each partition claimed it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column; the first term of a placement is 1."""
    op.add_column(
        "partitions", sa.Column("term", sa.BigInteger(), nullable=False, server_default="0")
    )
