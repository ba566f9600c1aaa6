"""The metrics page of several owners: each sample is labelled with its partition."""

from __future__ import annotations

from collections.abc import Mapping

LABEL = "partition"
ANSWERED = "tidegate_partition_answered"


def labelled(pages: Mapping[int, bytes | None]) -> bytes:
    """Merge pages in Prometheus' text format into one, with a gauge of who answered.

    Args:
        pages: the pages by partition; None for one whose owner gave none.
    """
    heads = {
        ANSWERED: [
            f"# HELP {ANSWERED} 1 if the samples of a partition are on this page.",
            f"# TYPE {ANSWERED} gauge",
        ]
    }
    samples = {
        ANSWERED: [
            f'{ANSWERED}{{{LABEL}="{number}"}} {int(page is not None)}'
            for number, page in sorted(pages.items())
        ]
    }
    for number, page in sorted((number, page) for number, page in pages.items() if page):
        family = ""
        for line in page.decode().splitlines():
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                head = heads.setdefault(family, [])
                if line not in head:
                    head.append(line)
            elif line:
                samples.setdefault(family, []).append(_with_label(line, number))
    lines = [line for each, head in heads.items() for line in (*head, *samples.get(each, ()))]
    return "".join(f"{line}\n" for line in lines).encode()


def _with_label(line: str, number: int) -> str:
    name_end = min(at for at in (line.find("{"), line.find(" ")) if at > 0)
    rest = line[name_end:]
    label = f'{LABEL}="{number}"'
    if rest.startswith("{"):
        return f"{line[:name_end]}{{{label},{rest[1:]}"
    return f"{line[:name_end]}{{{label}}}{rest}"
