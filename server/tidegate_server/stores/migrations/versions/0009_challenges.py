"""Sessions of challenges, and the passes that solutions bought."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "challenge_sessions",
        sa.Column("challenge_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("opened_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("actor", sa.LargeBinary(16), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("template", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("solved_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("solved_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("challenge_id", name="pk_challenge_sessions"),
    )
    op.create_table(
        "passes",
        sa.Column("pass_id", sa.LargeBinary(16), nullable=False),
        sa.Column("tenant_id", sa.LargeBinary(16), nullable=False),
        sa.Column("challenge_id", sa.LargeBinary(16), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("issued_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pass_id", name="pk_passes"),
        sa.UniqueConstraint("challenge_id", name="uq_passes_challenge_id"),
    )
    for table, columns in (
        ("challenge_sessions", ["tenant_id", "actor", "opened_at_ns"]),
        ("challenge_sessions", ["tenant_id", "opened_at_ns"]),
        ("passes", ["tenant_id", "pass_id"]),
        ("passes", ["tenant_id", "expires_at_ns"]),
        ("passes", ["expires_at_ns"]),
    ):
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, columns)
