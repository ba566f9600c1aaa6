"""Give the drafts of replay jobs a separate column, since they may have megabytes."""

from __future__ import annotations

from base64 import b64decode

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column, and move each draft out of its request."""
    op.add_column("replay_jobs", sa.Column("draft", sa.LargeBinary(), nullable=True))
    connection = op.get_bind()
    jobs = connection.execute(sa.text("SELECT job_id FROM replay_jobs")).scalars().all()
    for job_id in jobs:
        text = connection.execute(
            sa.text("SELECT request FROM replay_jobs WHERE job_id = :job_id"), {"job_id": job_id}
        ).scalar_one()
        request = orjson.loads(text)
        if (draft := request.pop("draft", None)) is None:
            continue
        connection.execute(
            sa.text(
                "UPDATE replay_jobs SET request = :request, draft = :draft WHERE job_id = :job_id"
            ),
            {
                "job_id": job_id,
                "request": orjson.dumps(request).decode(),
                "draft": b64decode(draft),
            },
        )
