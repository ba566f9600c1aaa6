"""``python -m benchmarks.proofs``: what the proof of a challenge costs on the hot path.

A turn decides some hundred calls as the service does: read, decided on, answered, written for the
log.  Turns with a proof and turns with another cookie of the same length alternate, so that
whatever else the machine does meets both; so do turns without a proof on an engine with keys and on
one without.  Each pair gives the median of its differences, for one decision, with the quartiles.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import click
import orjson

import tidegate.samples
from benchmarks.machine import describe
from tidegate.definitions import load_compiled
from tidegate.evaluation.native import NativeEngine, NativeProofKeys, Redactor
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.proofs import ProofKeys

AT_ONCE = 200
"""Calls of a turn."""
BOUND_US = 5.0
"""A proof costs at most this much."""
AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0"
    " Safari/537.36"
)
API_KEY = "018f0000-0000-7000-8000-0000000000cc"


def event(cookie: str, value: str) -> bytes:
    """A page view of a browser."""
    request = {
        "method": "GET",
        "path": "/products/17",
        "host": "shop.test",
        "client_ip": "198.51.100.7",
        "headers": {"accept": "text/html", "accept-language": "en", "user-agent": AGENT},
        "cookies": {"basket": "b" * 24, cookie: value},
    }
    return orjson.dumps({"request": request, "fields": {"account": "ann"}})


def turn(engine: NativeEngine, body: bytes, redactor: Redactor) -> Callable[[int], float]:
    """Decides on a turn of calls at a time; gives the microseconds that one takes."""
    ids = b"".join(UUID(int=number).bytes for number in range(AT_ONCE))
    bodies, runtime, api_keys = [body] * AT_ONCE, [True] * AT_ONCE, [API_KEY] * AT_ONCE

    def run(at: int) -> float:
        started = time.perf_counter_ns()
        calls = engine.read_calls(bodies, runtime, b"k" * 32)
        calls.decide(ids, api_keys, at, "https://edge.test", redactor)
        return (time.perf_counter_ns() - started) / AT_ONCE / 1_000

    return run


def paired(
    one: Callable[[int], float], other: Callable[[int], float], turns: int
) -> tuple[float, list[float]]:
    """The median time of one, and the quartiles of how much more it takes than the other."""
    began = time.time_ns()
    times = []
    for number in range(turns):
        # The order of the two alternates too.
        pair = [run(began + number) for run in ((one, other) if number % 2 else (other, one))]
        times.append(pair if number % 2 else pair[::-1])
    differences = [first - second for first, second in times]
    return statistics.median(first for first, _ in times), statistics.quantiles(differences)


@click.command()
@click.option("--turns", default=2_000, show_default=True, help="Pairs of turns.")
def main(turns: int) -> None:
    """Measure both pairs."""
    document = Path(tidegate.samples.__file__).parent / "definitions.yaml"
    compiled = load_compiled(document).compiled
    keys = ProofKeys(compiled.tenant, b"p" * 32, b"s" * 32)
    native = NativeProofKeys(keys.tenant.bytes, keys.proof_key, keys.sealing_key)
    now = time.time_ns()
    client = keys.client("198.51.100.7", AGENT)
    token = keys.mint(UUID(int=7), UUID(int=8), now, now + 3_600 * 10**9, client)
    shown, not_shown = event("service_challenge", token), event("other_challenges_", token)
    redactor = Redactor([], b"k" * 32)
    engines = [NativeEngine(bundle(compiled), proof_keys=each) for each in (native, None)]
    record = orjson.loads(engines[0].peek(shown, now))
    assert record["proof"]["status"] == "valid", record["proof"]
    with_keys, without_keys = (turn(each, not_shown, redactor) for each in engines)
    pairs = {
        "a proof": (turn(engines[0], shown, redactor), with_keys),
        "no proof, keys": (with_keys, without_keys),
    }
    click.echo(describe())
    for name, pair in pairs.items():
        paired(*pair, turns // 20)
        whole, (low, median, high) = paired(*pair, turns)
        click.echo(
            f"{name}: {whole:.2f} us a call, of these {median:+.2f} us"
            f" (quartiles {low:+.2f} and {high:+.2f})"
        )
        if name == "a proof":
            click.echo(f"  within {BOUND_US:.0f} us: {median <= BOUND_US}")


if __name__ == "__main__":
    main()
