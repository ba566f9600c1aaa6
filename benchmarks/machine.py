"""One line about the machine, printed above every table."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def describe() -> str:
    """Processor, cores, load, Python and date."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{_processor()}, {os.cpu_count()} cores, load {load}; {platform.system()}, "
        f"Python {platform.python_version()}; {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
