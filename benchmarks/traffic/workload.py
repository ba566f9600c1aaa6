"""The events and rules that every benchmark runs on.

They come from the shared traffic data next to the repository when it is there, else from
the bundled samples and a small set of generated rules; :attr:`Workload.origin` says which.
"""

from __future__ import annotations

import gzip
import itertools
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.traffic.generated import generate_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Event: TypeAlias = dict[str, Any]
Tree: TypeAlias = list[Any]

TRAFFIC = Path(__file__).parents[3] / "shared" / "data" / "traffic"
"""The place of the shared traffic data, if it has been put next to the repository."""

SAMPLE_STEP = 60
"""One event in this many of the shared traffic is in the sample: about 4,000 of them."""

SEQUENCE_LENGTH = 20_000
"""How many consecutive events there are for benchmarks that keep state."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as text and as its tree (see :mod:`benchmarks.traffic.translation`)."""

    rule_id: str
    expression: str
    tree: Tree


SIMPLE = Rule(
    "simple",
    'request.method == "POST" && request.path.startsWith("/api/")',
    ["and", ["eq", "method", "POST"], ["starts", "path", "/api/"]],
)

MEDIUM_COMMON = Rule(
    "medium",
    """\
request.method in ["POST", "PUT", "PATCH", "DELETE"]
&& request.path.startsWith("/api/")
&& !request.path.contains("..")
&& request.user_agent.startsWith("Mozilla/5.0")
&& !request.user_agent.contains("HeadlessChrome")
&& request.headers["content-type"] == "application/json"
&& "accept-language" in request.headers
&& fields["tls"] in ["1.2", "1.3"]
&& fields["account_id"].startsWith("acct_")""",
    [
        "and",
        ["in", "method", ["POST", "PUT", "PATCH", "DELETE"]],
        ["starts", "path", "/api/"],
        ["not", ["contains", "path", ".."]],
        ["starts", "user_agent", "Mozilla/5.0"],
        ["not", ["contains", "user_agent", "HeadlessChrome"]],
        ["eq", "headers.content-type", "application/json"],
        ["has", "headers", "accept-language"],
        ["in", "fields.tls", ["1.2", "1.3"]],
        ["starts", "fields.account_id", "acct_"],
    ],
)
"""Nine tests; on the representative event none of them decides before the last."""

MEDIUM = f"""\
{MEDIUM_COMMON.expression}
&& !inIpRange(request.client_ip, ["10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"])"""
"""The same and a network test, which most other engines do not have."""


@dataclass(frozen=True)
class Workload:
    """Events and where they are from."""

    origin: str
    events: Sequence[bytes]
    """A sample over the whole time range, in order of time."""
    sequence: Sequence[bytes]
    """Consecutive events, for windows and state."""
    representative: bytes
    """An API call of ordinary size on which all three expressions here hold."""

    def rules(self, size: int) -> list[Rule]:
        """The first ``size`` rules of the smallest published set that has as many."""
        return list(itertools.islice(iterate_rules(size), size))


def has_traffic() -> bool:
    """Whether the shared traffic data is there."""
    return TRAFFIC.is_dir()


@cache
def load() -> Workload:
    """The workload of this machine, read once."""
    return _from_traffic() if has_traffic() else _from_samples()


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a gzip file without their ends."""
    with gzip.open(path) as stream:
        for line in stream:
            yield line.rstrip(b"\n")


def iterate_rules(size: int) -> Iterator[Rule]:
    """Rules of the smallest set that holds at least ``size``, all of them."""
    if not has_traffic():
        yield from (Rule(*parts) for parts in generate_rules(max(size, 1_000)))
        return
    name = "1k" if size <= 1_000 else "10k" if size <= 10_000 else "100k"
    for line in read_lines(TRAFFIC / f"rules-{name}.jsonl.gz"):
        rule = json.loads(line)
        yield Rule(rule["rule_id"], rule["expression"], rule["ast"])


def _from_traffic() -> Workload:
    events: list[bytes] = []
    sequence: list[bytes] = []
    representative: bytes | None = None
    for number, line in enumerate(read_lines(TRAFFIC / "events.jsonl.gz")):
        if number < SEQUENCE_LENGTH:
            sequence.append(line)
        if number % SAMPLE_STEP == 0:
            events.append(line)
        if representative is None and _is_representative(line):
            representative = line
    if representative is None:
        raise LookupError(f"no event of {TRAFFIC} is an API call of ordinary size")
    return Workload(f"shared traffic ({TRAFFIC.name})", events, sequence, representative)


def _is_representative(line: bytes) -> bool:
    return (
        1_350 <= len(line) <= 1_450
        and b'"method":"POST","path":"/api/' in line
        and b'"account_id"' in line
        and b'"content-type":"application/json"' in line
    )


def _from_samples() -> Workload:
    with resources.as_file(resources.files("tidegate.samples") / "traffic.jsonl.gz") as path:
        events = list(read_lines(path))
    return Workload("bundled samples", events, events, _as_api_call(events[0]))


def _as_api_call(line: bytes) -> bytes:
    """A sample request turned into the API call that the samples do not have."""
    event: Event = json.loads(line)
    request, fields = event["request"], event["fields"]
    request |= {"method": "POST", "path": "/api/v1/login"}
    request["headers"] |= {"content-type": "application/json", "accept-language": "en"}
    request["user_agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0"
    fields |= {"tls": "1.3", "account_id": "acct_1"}
    return json.dumps(event, separators=(",", ":")).encode()
