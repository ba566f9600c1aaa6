"""The oldest revision whose code runs on the tables, next to their own revision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
runs_from = "0016"


def upgrade() -> None:
    """Add the column; code before this revision refuses every newer one."""
    column = sa.Column("runs_from", sa.String(32), nullable=False, server_default=revision)
    op.add_column("schema_version", column)
