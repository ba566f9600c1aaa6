"""Sessions of operators, and second factors of their passwords."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
runs_from = "0017"


def upgrade() -> None:
    """Create the tables.  Tokens that were issued before stay valid, and aren't listed."""
    op.create_table(
        "operator_sessions",
        sa.Column("session_id", sa.LargeBinary(16), nullable=False),
        sa.Column(
            "operator_id",
            sa.LargeBinary(16),
            sa.ForeignKey(
                "operators.operator_id", name="fk_operator_sessions_operator_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("issued_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_operator_sessions"),
    )
    for columns in (["operator_id", "session_id"], ["expires_at_ns"]):
        name = "_".join(["ix", "operator_sessions", *columns])
        op.create_index(name, "operator_sessions", columns)
    op.create_table(
        "second_factors",
        sa.Column(
            "operator_id",
            sa.LargeBinary(16),
            sa.ForeignKey(
                "operators.operator_id", name="fk_second_factors_operator_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("confirmed_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("operator_id", name="pk_second_factors"),
    )
