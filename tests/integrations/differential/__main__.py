"""``python -m tests.integrations.differential``: all spellings through every proxy."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.integrations.differential.fronts import FRONTS
from tests.integrations.differential.runs import judging, run
from tests.integrations.differential.spellings import every

SHOWN = 40


def main() -> int:
    """Print counts for each proxy; 1 when an address was served that was judged as another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FRONTS, action="append")
    parser.add_argument("--show", type=int, default=SHOWN, help="differences that are printed")
    given = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory(prefix="tidegate-differential-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        with judging(directory) as judge:
            for name in given.only or FRONTS:
                place = directory / name
                place.mkdir()
                report = run(name, every(), judge, place)
                found += len(report.differences)
                print(
                    f"{name}: {report.spellings} spellings in {report.seconds:.0f} s,"
                    f" {report.served} served as they were judged or otherwise,"
                    f" {len(report.differences)} otherwise; answers {dict(report.refused)}"
                )
                for spelling, how in report.differences[: given.show]:
                    print(f"  {spelling.line!r} host {spelling.host!r}: {how}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
