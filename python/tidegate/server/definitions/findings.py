"""What is most likely not meant in the saved definitions, by object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.server import wire
from tidegate.server.definitions.changes import load_present
from tidegate.server.http.call import Answer
from tidegate.server.wire.kinds import to_warning

if TYPE_CHECKING:
    from tidegate.server.http.call import Call


def list_(call: Call) -> Answer:
    """The objects about which there are warnings, in the order of the document.

    They are those of a write, but for what is tried with recorded decisions: whether clients could
    answer the challenges of a policy.
    """
    present = load_present(call)
    return Answer(
        body=[
            wire.DefinitionFindings(
                tenant_id=call.tenant_id,
                kind=kind.name,
                id=each.object_id,
                name=each.name,
                warnings=tuple(map(to_warning, found)),
            )
            for kind, each, found in present.findings()
        ],
        revision=present.revision,
    )
