"""How long an editor waits for ``tidegate lsp`` after a key, in documents of several sizes.

``python -m benchmarks.editor`` starts the server, types an expression letter by letter into the
middle of a document, and asks for completions after each letter, as editors do.  A key is the
change and the answer to its completion.  The checks run meanwhile, as they do for a user.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from tests.lsp.client import URI, Client, started

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (5, 500, 10_000)
TYPED = 'request.headers["x-app"] == "a" && request.path.startsWith("/cart") && actions.login'
KEY_SECONDS = (0.12, 0.5)
"""Between two keys: 100 words a minute, and so slow that a check runs during most keys."""


def document(policies: int) -> str:
    """A document with a number of policies, each of twelve lines."""
    parts = [
        "apiVersion: tidegate/v1\nactions:\n"
        "  - {name: Login, expression: request.path == '/login'}\n"
        "entities:\n"
        "  - {name: Account, key_fields: [fields.account], match_expression: source != ''}\n"
        "mitigations:\n  - {name: Refuse, mode: Block}\n"
        "lists:\n  - {name: Offices, kind: ip, entries: [198.51.100.0/24]}\npolicies:\n"
    ]
    parts += [
        f"  - name: Policy {at}\n"
        f'    expression: request.host == "h{at}.example"\n'
        "    clauses:\n"
        f"      - name: clause {at}\n"
        "        expression: |\n"
        '          request.method == "POST" &&\n'
        f'          request.path.startsWith("/p{at}") && !request.client_ip.inList("offices")\n'
        "        entity: account\n"
        "        mitigation: refuse\n"
        "        window:\n"
        "          duration_seconds: 60\n"
        f"          threshold: {at % 50 + 3}\n"
        for at in range(policies)
    ]
    return "".join(parts)


async def measure(policies: int, between: float) -> tuple[list[float], float]:
    """Seconds of each key, and from the last key to the findings of its text."""
    text = document(policies)
    lines = text.split("\n")
    marks = [at for at, line in enumerate(lines) if "POST" in line]
    line = marks[len(marks) // 2]
    column = len(lines[line])
    async with started() as client:
        client.open(text)
        await asyncio.wait_for(client.findings(lambda _: True), 300)
        keys = []
        for letter in " " + TYPED:
            began = time.perf_counter()
            await _type(client, line, column, letter)
            keys.append(time.perf_counter() - began)
            column += 1
            await asyncio.sleep(max(0.0, between - keys[-1]))
        began = time.perf_counter()
        await asyncio.wait_for(client.findings(lambda _: True), 300)
        return keys, time.perf_counter() - began


async def _type(client: Client, line: int, column: int, letter: str) -> None:
    at = lsp.Position(line, column)
    client.change(at, at, letter)
    place = lsp.Position(line, column + 1)
    document_ = lsp.TextDocumentIdentifier(URI)
    params = lsp.CompletionParams(document_, place)
    await client.client.text_document_completion_async(params)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    sizes = parser.parse_args(arguments).sizes
    for policies, between in itertools.product(sizes, KEY_SECONDS):
        keys, findings = asyncio.run(measure(policies, between))
        p50, p95 = quantiles(keys, n=100)[49], quantiles(keys, n=100)[94]
        print(
            f"{policies:>6,} policies, a key each {between} s:"
            f" p50 {p50 * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms,"
            f" findings {findings:.2f} s after the last key"
        )


if __name__ == "__main__":
    main()
