"""The metrics page of several owners: each sample is labelled with its partition."""

from __future__ import annotations

from collections.abc import Mapping

LABEL = "partition"


def labelled(pages: Mapping[int, bytes]) -> bytes:
    """Merge pages in Prometheus' text format into one.

    Args:
        pages: the pages by partition.
    """
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, page in sorted(pages.items()):
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
