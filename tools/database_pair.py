"""A primary of PostgreSQL and its synchronous standby, in a directory of their own.

The programs come from the distribution; no cluster of the distribution is used.  PostgreSQL does
not run as root, so root starts it as the user `postgres`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import psycopg

NEEDED = 15
LOOPBACK = "127.0.0.1"
WAIT_SECONDS = 60
NEEDED_BYTES = 4 * 1024**3
STANDBY_NAME = "standby"
_CONFIGURATION = """
unix_socket_directories = ''
max_connections = 200
shared_buffers = '32MB'
synchronous_commit = on
wal_level = replica
max_wal_senders = 5
wal_keep_size = '256MB'
max_wal_size = '1GB'
"""


def programs() -> Path | None:
    """The programs' folder of the distribution's newest PostgreSQL; None without one."""
    found = [
        (int(path.parents[1].name), path.parent)
        for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")
        if path.parents[1].name.isdigit()
    ]
    on_path = shutil.which("initdb")
    if not found and on_path:
        return Path(on_path).resolve().parent
    return max(found)[1] if found and max(found)[0] >= NEEDED else None


def _program(name: str) -> Path:
    place = programs()
    assert place is not None
    return place / name


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def _owner() -> str | None:
    """The user to run as, where this process may not run the server itself."""
    return "postgres" if os.geteuid() == 0 else None


def _memory() -> Path | None:
    """A directory in memory, where there is room: a flush is the same call there, and short."""
    memory = Path("/dev/shm")  # noqa: S108
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > NEEDED_BYTES
    return memory if has_room else None


def run(*command: object) -> None:
    """Run a program as the user that the database runs as."""
    subprocess.run(
        [str(each) for each in command],
        check=True,
        user=_owner(),
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _mount(*command: object) -> None:
    subprocess.run([str(each) for each in command], check=True)


@attrs.define
class Server:
    """One server of the pair."""

    directory: Path
    port: int
    address: str = LOOPBACK
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://postgres@{self.address}:{self.port}/{database}"

    def start(self, *settings: str) -> None:
        """Start it, and wait until it answers."""
        with (self.directory.parent / f"{self.directory.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    str(_program("postgres")),
                    "-D",
                    str(self.directory),
                    "-p",
                    str(self.port),
                    "-c",
                    f"listen_addresses={self.address}",
                    *(part for each in settings for part in ("-c", each)),
                ],
                user=_owner(),
                cwd="/",
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < until
                assert self.process.poll() is None, "the server did not start"
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it; by default as a crash would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(WAIT_SECONDS)

    def kill(self) -> None:
        """End it as a failure of the machine does: no process of it says goodbye."""
        assert self.process is not None
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)],  # noqa: S607
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        self.process.kill()
        for each in children:
            with suppress(ProcessLookupError):
                os.kill(int(each), signal.SIGKILL)
        self.process.wait(WAIT_SECONDS)
        self.process = None

    def value(self, query: str, database: str = "postgres") -> object:
        """The first value that a query finds; None without a row."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            row = connection.execute(query).fetchone()
        return None if row is None else row[0]

    def back_up(self, to: Path, *options: str) -> None:
        """Make a base backup."""
        run(
            _program("pg_basebackup"),
            *("-D", to, "-d", self.url(), "--checkpoint", "fast", "--no-sync", *options),
        )

    @contextmanager
    def receiving(self, archive: Path) -> Iterator[None]:
        """Keep the write-ahead log in a new directory as long as the block runs."""
        run("mkdir", archive)
        process = subprocess.Popen(
            [_program("pg_receivewal"), "-D", archive, "-d", self.url(), "--no-loop"],
            user=_owner(),
            cwd="/",
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(WAIT_SECONDS)

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)


@attrs.define
class Pair:
    """A primary whose commits wait for a standby."""

    primary: Server
    standby: Server

    def new_database(self, name: str = "tidegate", template: str = "template0") -> str:
        """Make a database, in place of one of that name; its name.

        Args:
            name: of the database.
            template: the database that it is a copy of; nobody may be connected to that one.
        """
        with psycopg.connect(self.primary.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def url(self, database: str) -> str:
        """The address of a database, wherever the primary is."""
        hosts = ",".join(f"{each.address}:{each.port}" for each in (self.primary, self.standby))
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave the primary's disk no room as long as the block runs; it has a small one."""
        filler = self.primary.directory / "filler"
        try:
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(1 << 20)):
                    pass
            yield
        finally:
            filler.unlink()
            if self.primary.process is not None and self.primary.process.poll() is not None:
                self.primary.start()  # It ends where its log has no room.

    def promote(self) -> None:
        """Make the standby the primary, which waits for no other standby."""
        self.standby.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.execute("SELECT pg_reload_conf()")
        self.standby.execute("SELECT pg_promote()")


@contextmanager
def pair(
    *,
    is_in_memory: bool = True,
    address: str = LOOPBACK,
    callers: str = "",
    disk_mib: int | None = None,
) -> Iterator[Pair]:
    """A pair that runs as long as the block does.

    Args:
        is_in_memory: keep the data in memory where there is room; a measurement wants the disk.
        address: where both listen.
        callers: a network whose machines may connect, next to this one.
        disk_mib: size of a disk of its own that the primary gets; for root alone.
    """
    memory = _memory() if is_in_memory else None
    with tempfile.TemporaryDirectory(prefix="tidegate-postgresql-", dir=memory) as made:
        root = Path(made)
        if (owner := _owner()) is not None:
            known = pwd.getpwnam(owner)
            os.chown(root, known.pw_uid, known.pw_gid)
        primary = Server(root / "primary", free_port(), address)
        if disk_mib is not None:
            run("mkdir", primary.directory)
            options = f"size={disk_mib}m,mode=0700,uid={known.pw_uid},gid={known.pw_gid}"
            _mount("mount", "-t", "tmpfs", "-o", options, "none", primary.directory)
        run(
            _program("initdb"),
            "-D",
            primary.directory,
            *("--username", "postgres", "--auth", "trust", "--no-sync"),
            *("--encoding", "UTF8", "--locale", "C.UTF-8"),
        )
        with (primary.directory / "postgresql.auto.conf").open("a") as file:
            file.write(_CONFIGURATION)
        if callers:
            with (primary.directory / "pg_hba.conf").open("a") as file:
                file.write(f"host all,replication all {callers} trust\n")
        standby = Server(root / "standby", free_port(), address)
        try:
            primary.start()
            primary.back_up(standby.directory, "--write-recovery-conf")
            standby.start(f"cluster_name={STANDBY_NAME}")
            primary.execute(
                f"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ({STANDBY_NAME})'"
            )
            primary.execute("SELECT pg_reload_conf()")
            yield Pair(primary, standby)
        finally:
            standby.stop()
            primary.stop()
            if disk_mib is not None:
                _mount("umount", "--lazy", primary.directory)
