"""The operator accepts a membership, and is unknown before; a membership may name nobody."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the time; existing memberships count as accepted at their creation."""
    with op.batch_alter_table("memberships", recreate="always") as memberships:
        memberships.drop_constraint("fk_memberships_user_id", type_="foreignkey")
        memberships.add_column(sa.Column("accepted_at_ns", sa.BigInteger(), nullable=True))
    op.execute("UPDATE memberships SET accepted_at_ns = created_at_ns")
