"""Builds the wheels of both distributions into ``dist``, in place of what is there.

That of the library is linked by Zig, so that it runs on older systems than this one: one for
manylinux_2_28, and one for musllinux_1_2 where rustup has the target. The requirements that the
container installs are put there too.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
MACHINE = platform.machine()
WHEELS = {
    f"{MACHINE}-unknown-linux-gnu": "manylinux_2_28",
    f"{MACHINE}-unknown-linux-musl": "musllinux_1_2",
}


def installed_targets() -> set[str]:
    """The targets that the compiler here can build for."""
    host = f"{MACHINE}-unknown-linux-gnu"
    try:
        command = ["rustup", "target", "list", "--installed"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return {host}
    return {host, *found.stdout.split()}


def main() -> int:
    """Build what can be built here, and say what cannot."""
    targets = installed_targets()
    for old in DIST.glob("tidegate*.whl"):
        old.unlink()
    # Zig is found as a module of the first `python3`.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for target, compatibility in WHEELS.items():
        if target not in targets:
            print(f"{compatibility} is left out: rustup target add {target}", file=sys.stderr)
            continue
        command = [
            sys.executable, "-m", "maturin", "build", "--release", "--locked", "--zig",
            "--target", target, "--compatibility", compatibility, "--out", str(DIST),
        ]  # fmt: skip
        subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(DIST), "./server"], cwd=ROOT, check=True)
    shutil.copy(ROOT / "deploy" / "requirements.txt", DIST)
    return 0


if __name__ == "__main__":
    sys.exit(main())
