"""The address databases of a process: opened at its start, and read again when replaced."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import attrs
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tidegate.errors import SettingsError
from tidegate.evaluation.native import AddressDatabase, AddressDatabases
from tidegate_server.logging import log

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SETTING = "geo.databases"
CHECK_SECONDS = 10.0
"""How often the files are looked at."""
MOST_BYTES = 1024 * 1024 * 1024
"""The largest file that is read, since databases are held in memory."""

Stamp: TypeAlias = "tuple[int, int, int, int]"


@attrs.frozen
class GeoDatabase:
    """The state of one database.

    Attributes:
        name: of the file, without its folder.
        kind: its type, as its maker names it.
        built_at: when it was made, in seconds since 1970.
        fields: the fields that it gives.
        problem: why the file as it is now can't be used; empty if it is in use.
    """

    name: str
    kind: str
    built_at: int
    fields: tuple[str, ...]
    problem: str


@attrs.define
class _File:
    """A database with the file it was read of."""

    path: Path
    stamp: Stamp
    """Identity, size and time of the file at the last attempt to read it."""
    database: AddressDatabase
    """The last sound content."""
    problem: str = ""


@attrs.define
class GeoDatabases:
    """The databases, in the order in which they are asked.

    Attributes:
        current: the databases to look up with; None without any. Another object takes its place
            when a file was replaced.
        reloads: files that were read again.
    """

    _files: list[_File]
    current: AddressDatabases | None = attrs.field(init=False)
    reloads: int = attrs.field(default=0, init=False)
    _broken_before: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._use()

    @classmethod
    def open(cls, setting: str) -> GeoDatabases:
        """Open and check databases.

        Args:
            setting: their paths, with commas between; may be empty.

        Raises:
            SettingsError: a file can't be read, is damaged, or says neither country nor network.
        """
        return cls([_opened(Path(path).expanduser()) for path in paths_of(setting)])

    @property
    def fields(self) -> frozenset[str]:
        """The fields that the databases give."""
        return frozenset(name for file in self._files for name in file.database.fields)

    def state(self) -> Sequence[GeoDatabase]:
        """Return the state of each."""
        return [
            GeoDatabase(
                file.path.name,
                file.database.kind,
                file.database.built_at,
                tuple(file.database.fields),
                file.problem,
            )
            for file in self._files
        ]

    async def run(self) -> None:
        """Look at the files for as long as the process decides."""
        while self._files:
            await asyncio.sleep(CHECK_SECONDS)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read each file again that has changed; a file that can't be used changes nothing."""
        is_new = [self._look(file) for file in self._files]
        if any(is_new):
            self._use()

    def _look(self, file: _File) -> bool:
        try:
            stamp = _stamp(file.path)
            if stamp == file.stamp:
                return False
            file.stamp = stamp
            database = _read(file.path)
        except (OSError, ValueError) as error:
            self._keep(file, _reason(error))
            return False
        self._broken_before += file.database.broken
        self.reloads += 1
        file.database, file.problem = database, ""
        log.info("an address database was replaced", **_shown(file))
        return True

    def _keep(self, file: _File, problem: str) -> None:
        """Keep the last sound content, and say so once."""
        if problem != file.problem:
            file.problem = problem
            log.warning(
                "an address database can't be used: the one before stays in use",
                reason=problem,
                **_shown(file),
            )

    def _use(self) -> None:
        databases = [file.database for file in self._files]
        self.current = AddressDatabases(databases) if databases else None

    def figures(self) -> Iterator[Metric]:
        """Yield the metric families; none without databases."""
        if not self._files:
            return
        built = GaugeMetricFamily(
            "tidegate_geo_database_built_timestamp_seconds",
            "When the address database in use was made.",
            labels=["database"],
        )
        usable = GaugeMetricFamily(
            "tidegate_geo_database_usable",
            "1 if the file is in use; 0 if it can't be used and the one before stays in use.",
            labels=["database"],
        )
        for each in self.state():
            built.add_metric([each.name], each.built_at)
            usable.add_metric([each.name], float(not each.problem))
        yield built
        yield usable
        yield CounterMetricFamily(
            "tidegate_geo_database_reloads", "Address databases that were replaced.", self.reloads
        )
        yield CounterMetricFamily(
            "tidegate_geo_broken_entries",
            "Lookups that found an entry that can't be used.",
            self._broken_before + sum(file.database.broken for file in self._files),
        )


def paths_of(setting: str) -> Sequence[str]:
    """Return the paths in the setting."""
    return [path.strip() for path in setting.split(",") if path.strip()]


def _opened(path: Path) -> _File:
    try:
        stamp = _stamp(path)
        return _File(path, stamp, _read(path))
    except (OSError, ValueError) as error:
        raise SettingsError(_reason(error), SETTING, str(path)) from None


def _read(path: Path) -> AddressDatabase:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES // 1024 // 1024:,} MiB")
    return AddressDatabase(content)


def _stamp(path: Path) -> Stamp:
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or error}"
    return str(error)


def _shown(file: _File) -> dict[str, object]:
    made = datetime.fromtimestamp(file.database.built_at, UTC)
    age = max(0, int(time.time()) - file.database.built_at) // 86_400
    return {
        "file": str(file.path),
        "type": file.database.kind,
        "built": made.date().isoformat(),
        "age_days": age,
    }
