"""The metrics page of all workers: each sample is labelled with its partition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate_server.http.exchange import Message, Receive, Scope, Send
    from tidegate_server.partitions.link import Link

LABEL = "partition"


async def send_pages(
    number: int,
    application: Any,
    links: Iterable[Link],
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Answer with the page of this process and those of the other processes that are up.

    Args:
        number: this partition's number.
        application: returns the page of this process.
        links: links to the others.
        scope: the request's.
        receive: ASGI's callable.
        send: ASGI's callable.
    """
    others = [each for each in links if each.is_up]
    answers = await asyncio.gather(
        _answer(application, scope, receive),
        *(_answer(each.forward, scope, receive) for each in others),
    )
    start, body = answers[0]
    if start["status"] == HTTPStatus.OK:
        numbers = [number, *(each.partition for each in others)]
        pages = {
            each: page
            for each, (head, page) in zip(numbers, answers, strict=True)
            if head["status"] == HTTPStatus.OK
        }
        body = labelled(pages)
    headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
    headers.append((b"content-length", b"%d" % len(body)))
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _answer(application: Any, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
    sent: list[Message] = []

    async def take(message: Message) -> None:
        sent.append(message)

    await application(scope, receive, take)
    return sent[0], b"".join(each.get("body", b"") for each in sent[1:])


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
