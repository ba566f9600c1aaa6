"""Expectations under attack: every bound of the harness, each with its reason."""

from __future__ import annotations

QUIET_TIMES = 3.0
"""The other tenant's 99th percentile under attack, in quiet ones: it may notice, not suffer."""
ANSWER_MS = 100.0
"""No answer of the other tenant takes longer: callers give up at some such time."""
HEALTH_MS = 50.0
"""``/healthz`` answers on the loop: a longer wait is a loop that somebody held."""
GROWTH_MIB = 150.0
"""Resident memory of all the server's processes, after an attack by repetition or by connections,
and for connections in it.  Memory of accepted definitions that have decided isn't growth."""
PLATEAU_MIB = 24.0
"""Growth over the last third of the rounds of one operation: the allocator's own noise."""
GUESSES = 10
"""Wrong passwords one name may have before it waits, as the interface says of a login."""
OWNER_SECONDS = 30.0
"""The true owner logs in from elsewhere by then, whatever strangers do to the name."""
AHEAD_OPENED = 0
"""Challenges that pages fetched ahead open: each would count as one its visitor did not solve."""
REFUSAL_SECONDS = 1.0
"""A document of 500,000 wrong items is refused by then: its first 2,000 tell that it is wrong."""
SAMPLES = 1_000
"""Answers below which a 99th percentile is of ten answers or fewer, and is not judged."""
QUIET_SECONDS = 8.0
"""Before and after each attack: with the rate below, over 1,000 answers each time."""
RATE = 150.0
"""Decisions a second of the other tenant: an ordinary application, far from any limit."""
HEALTH_EVERY = 0.05
"""Seconds between two calls of ``/healthz``."""
SETTLE_SECONDS, REST_SECONDS = 4.0, 180.0
"""After an attack, before memory is read and quiet figures are taken again: at least, and at
most, where the server goes on with what the attack left it with."""
IDLE_SECONDS = 70.0
"""Before memory is judged: a worker that keeps much is replaced after 60 s without work."""
PLACE_SAMPLES = 50
"""Answers below which the 99th percentile of an operator, visitors or a login is not judged."""
