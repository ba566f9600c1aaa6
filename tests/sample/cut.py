"""Cuts the samples in this folder from the whole data sets: ``python tests/sample/cut.py SETS``.

A sample has the path and the form of its set.  Of lines, every N-th is kept, so that each part of a
set is met; of recorded traffic the first, because windows want consecutive events.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LINES, LINE_BYTES, BYTES = 200, 1_500, 40_000
"""Most lines of a sample; longest line, but where a file has hardly others; most bytes."""
EVENTS = 1_500
NEEDED = {
    "formats/json_schema_formats.jsonl": rb'"format": ?"(ipv4|ipv6|date-time)"',
    "traffic/crs_requests.jsonl": rb'"uri": ?"/(\.\.|[^"?]*/\.\./|[^"?]*//)',
}
"""Lines that a claim rests on, and that a spread may miss: `tests/hostile` says of formats that
each has valid and invalid texts, and of requests that some paths are rewritten."""
ADVERSARIAL = (
    "cli/names_and_files.jsonl",
    "cookies/cookie_header.jsonl",
    "expressions/cost_bombs.jsonl",
    "formats/json_schema_formats.jsonl",
    "headers/block_action.jsonl",
    "http/llhttp_requests.jsonl",
    "http/raw_hostile.jsonl",
    "http/structured_fields.jsonl",
    "ip/addresses_and_prefixes.jsonl",
    "json/event_bombs.jsonl",
    "json/jsontestsuite.jsonl",
    "jwt/attack_recipes.jsonl",
    "jwt/known_secrets.jsonl",
    "logs/injection.jsonl",
    "payloads/crlf.jsonl",
    "payloads/open_redirect.jsonl",
    "payloads/path_traversal.jsonl",
    "payloads/sql_nosql_cmd_template.jsonl",
    "payloads/xxe.jsonl",
    "redos/regexlib_redos.jsonl",
    "redos/regexlib_sample.jsonl",
    "regex_semantics/rust_regex.jsonl",
    "strings/blns.jsonl",
    "time/observed_at.jsonl",
    "traffic/crs_requests.jsonl",
    "url/ada_extra.jsonl",
    "url/return_url_verdicts.jsonl",
    "url/wpt_idna_v2.jsonl",
    "url/wpt_setters.jsonl",
    "url/wpt_toascii.jsonl",
    "url/wpt_urltestdata.jsonl",
    "xml/credentials_cases.jsonl",
    "xml/xxe_files.jsonl",
)
LICENCES = (
    "Apache-2.0",
    "BSD-3-Go",
    "BSD-3-web-platform-tests",
    "BSD-structured-field-tests",
    "MIT-JSON-Schema-Test-Suite",
    "MIT-JSONTestSuite",
    "MIT-PayloadsAllTheThings",
    "MIT-ReDoS-Benchmarks",
    "MIT-ada",
    "MIT-big-list-of-naughty-strings",
    "MIT-jwt-secrets",
    "MIT-llhttp",
    "MIT-rust-regex",
)


def spread(items: list[Any], most: int) -> list[Any]:
    """At most a number of the items, from all over them."""
    return items[:: -(-len(items) // most)] if items else []


def cut_lines(source: Path, needed: bytes | None) -> list[bytes]:
    """Lines of a file, short ones from all over it, and those that match a pattern."""
    lines = source.read_bytes().splitlines()
    short = [line for line in lines if len(line) <= LINE_BYTES]
    kept = [line for line in short if needed is not None and re.search(needed, line)]
    for line in spread(short, LINES):
        if sum(map(len, kept)) + len(line) > BYTES:
            break
        if line not in kept:
            kept.append(line)
    return [line for line in lines if line in kept]


def write_lines(name: str, lines: list[bytes]) -> None:
    """Write a sample, packed where its set is."""
    content = b"".join(line + b"\n" for line in lines)
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0) if name.endswith(".gz") else content)


def cut_vectors(source: Path, name: str) -> None:
    """Token vectors: few tests of every group."""
    whole = json.loads(source.read_text())
    groups = spread(whole["testGroups"], 12)
    for group in groups:
        group["tests"] = spread(group["tests"], 3)
    path = HERE / name
    path.write_text(json.dumps({"header": whole["header"], "testGroups": groups}, indent=0) + "\n")


def cut_cases(source: Path, name: str) -> None:
    """Published language cases: some from all over a section."""
    section = json.loads(source.read_text())
    section["tests"] = spread(section["tests"], 25)
    (HERE / name).parent.mkdir(parents=True, exist_ok=True)
    (HERE / name).write_text(json.dumps(section, indent=0) + "\n")


def main(sets: Path) -> None:
    for each in ADVERSARIAL:
        name = f"data/adversarial/{each}"
        write_lines(name, cut_lines(sets / name, NEEDED.get(each)))
    for kind in ("signature", "encryption", "key", "crypto"):
        name = f"data/adversarial/jwt/wycheproof_json_web_{kind}_test.json"
        cut_vectors(sets / name, name)
    for path in sorted((sets / "conformance/cel").glob("*.json")):
        if path.stem != "excluded":
            cut_cases(path, f"conformance/cel/{path.name}")
    for path in sorted((sets / "conformance/web-bot-auth").glob("architecture_*.json")):
        (HERE / "conformance/web-bot-auth").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, HERE / "conformance/web-bot-auth")
    traffic = "data/traffic"
    with gzip.open(sets / traffic / "events.jsonl.gz") as events:
        lines = [line.rstrip(b"\n") for _, line in zip(range(EVENTS), events, strict=False)]
    write_lines(f"{traffic}/events.jsonl.gz", lines)
    rules = gzip.decompress((sets / traffic / "rules-1k.jsonl.gz").read_bytes()).splitlines()
    write_lines(f"{traffic}/rules-1k.jsonl.gz", spread(rules, LINES))
    for whole in ("policies.json.gz", "expected-windows.json.gz"):
        shutil.copy(sets / traffic / whole, HERE / traffic / whole)
    for licence in LICENCES:
        (HERE / "licences").mkdir(exist_ok=True)
        shutil.copy(sets / f"data/adversarial/licences/{licence}.txt", HERE / "licences")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
