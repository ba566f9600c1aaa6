"""A newer version of the service: a copy of this one with a further migration, which it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tidegate_server
from tidegate_server.stores import migrations

COLUMN = "later"
_MIGRATION = '''"""A column that the version before does not know."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tidegate_server.stores.migrations import log_schemas

revision = "{revision}"
down_revision = "{before}"
runs_from = "{runs_from}"


def upgrade() -> None:
    """Add the column to tables that all share, and to the log of each partition."""
    for table in ("tenants", "cluster_members"):
        op.add_column(table, sa.Column("{column}", sa.Text(), nullable=True))
    for schema in log_schemas(op.get_bind()):
        column = sa.Column("{column}", sa.BigInteger(), nullable=True)
        op.add_column("decision_log", column, schema=schema)
'''
_CHANGES = {
    # It writes the new column with each beat.
    "stores/directory/members.py": (
        "SET beat = beat + 1 WHERE",
        f"SET beat = beat + 1, {COLUMN} = 'known' WHERE",
    ),
    # Its lines and messages have members that the version before does not know.
    "stores/decision_log/lines.py": ('"duration_us":%d,', f'"duration_us":%d,"{COLUMN}":1,'),
    "owners/messages.py": (
        "    term: int = 0\n",
        f"    term: int = 0\n    {COLUMN}: int = 1\n",
    ),
}


def newer_version(to: Path, *, is_additive: bool) -> Path:
    """Make the version, one revision after this one.

    Args:
        to: a new directory.
        is_additive: whether this version's code runs on its tables.

    Returns:
        The directory to name in ``PYTHONPATH``.
    """
    package = to / "tidegate_server"
    shutil.copytree(
        Path(tidegate_server.__file__).parent,
        package,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    before, revision = migrations.HEAD, f"{int(migrations.HEAD) + 1:04}"
    runs_from = migrations.RUNS_FROM if is_additive else revision
    there = package / "stores/migrations"
    planted = _MIGRATION.format(
        revision=revision, before=before, runs_from=runs_from, column=COLUMN
    )
    (there / f"versions/{revision}_{COLUMN}.py").write_text(planted)
    _replace(there / "__init__.py", f'\nHEAD = "{before}"', f'\nHEAD = "{revision}"')
    old = f'\nRUNS_FROM = "{migrations.RUNS_FROM}"'
    _replace(there / "__init__.py", old, f'\nRUNS_FROM = "{runs_from}"')
    for path, (found, wanted) in _CHANGES.items():
        _replace(package / path, found, wanted)
    return to


def _replace(path: Path, found: str, wanted: str) -> None:
    text = path.read_text()
    assert text.count(found) == 1, f"{path} has {found!r} {text.count(found)} times"
    path.write_text(text.replace(found, wanted))


def run(version: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a version; None is this one."""
    return subprocess.run(
        [sys.executable, "-m", "tidegate", *arguments],
        env=environment(version),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def environment(version: Path | None) -> dict[str, str]:
    """Variables by which Python finds a version."""
    return {**os.environ, **({} if version is None else {"PYTHONPATH": str(version)})}
