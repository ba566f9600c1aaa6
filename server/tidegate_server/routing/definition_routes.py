"""The five routes of every kind of definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.http.cursor import Paging
from tidegate_server.http.json_body import MAX_BYTES
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.route import Route

if TYPE_CHECKING:
    from tidegate_server.definitions.objects import Handlers


def _list_of(kind: Any) -> Any:
    return list[kind]


CONFLICTS = ("conflict", "invalid-definitions", "overloaded")
"""Refusals that a write of a definition can get."""


@attrs.frozen(kw_only=True)
class DefinitionResource:
    """One kind of definition as a resource.

    Attributes:
        path: below the tenant.
        noun: the word for one object; ``plural`` is the word for several.
        change: the class of a PATCH.
        create: the class of a POST, if it differs from the kind's.
        shown: the class of an item in the list, if it differs from the class of the object.
        also_bare: the specification shows the paths without the prefix.
        max_bytes: size limit of a body.
    """

    handlers: Handlers
    path: str
    noun: str
    plural: str
    change: Any
    create: Any = None
    shown: Any = None
    also_bare: bool = False
    max_bytes: int = MAX_BYTES

    def routes(self) -> tuple[Route, ...]:
        """List, create, read, change, delete."""
        kind, handlers = self.handlers.kind, self.handlers
        many = f"/tenants/{{tenant_id}}/{self.path}"
        one = f"{many}/{{{kind.id_member}}}"
        name = self.noun.partition(" ")[2].replace(" ", "-")
        common: dict[str, Any] = {"tag": "definitions", "also_bare": self.also_bare}
        reads = {**common, "permission": Permission.READ_DEFINITIONS}
        writes = {
            **common,
            "permission": Permission.WRITE_DEFINITIONS,
            "max_bytes": self.max_bytes,
            "conditional": True,
        }
        return (
            Route(
                method="GET",
                path=many,
                name=f"list-{self.path}",
                summary=f"List {self.plural}",
                handler=handlers.list_,
                work=Work.DOCUMENT,
                query=Paging,
                answer=_list_of(self.shown or kind.answer),
                **reads,
            ),
            Route(
                method="POST",
                path=many,
                name=f"create-{name}",
                summary=f"Create {self.noun}",
                handler=handlers.create,
                work=Work.COMPILE,
                body=self.create or kind.create,
                answer=kind.answer,
                status=201,
                refusals=CONFLICTS,
                repeatable=True,
                **{**writes, "conditional": False},
            ),
            Route(
                method="GET",
                path=one,
                name=f"read-{name}",
                summary=f"Read {self.noun}",
                handler=handlers.read,
                work=Work.DOCUMENT,
                answer=kind.answer,
                conditional=True,
                **reads,
            ),
            Route(
                method="PATCH",
                path=one,
                name=f"change-{name}",
                summary=f"Change {self.noun}",
                description="Omitted members don't change. The slug can't be changed.",
                handler=handlers.change,
                work=Work.COMPILE,
                body=self.change,
                answer=kind.answer,
                present=handlers.read,
                refusals=CONFLICTS,
                **writes,
            ),
            Route(
                method="DELETE",
                path=one,
                name=f"delete-{name}",
                summary=f"Delete {self.noun}",
                description=(
                    "Refused while other objects refer to this one; the answer names them."
                ),
                handler=handlers.delete,
                work=Work.COMPILE,
                status=204,
                refusals=("in-use", "conflict", "overloaded"),
                **writes,
            ),
        )
