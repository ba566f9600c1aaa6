"""Try a policy on one event: return the decision and its reasons; nothing is recorded."""

from __future__ import annotations

import msgspec

from tidegate.errors import EventError
from tidegate.policy.definitions.model import Definitions
from tidegate.policy.document import read_document
from tidegate.policy.explain.explain import Explanation
from tidegate.policy.lint.definitions import without_return
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.challenge_safety import challenge_warnings
from tidegate_server.definitions.changes import load_present
from tidegate_server.engines.drafts import in_member, with_policy
from tidegate_server.engines.engines import proof_keys_of
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.http.problems import problem_of
from tidegate_server.records.explain import trace_of
from tidegate_server.wire import replay as wire_replay
from tidegate_server.wire.kinds import POLICY, to_warning


class _Body(msgspec.Struct):
    event: msgspec.Raw


_BODY = msgspec.json.Decoder(_Body)


def simulate(call: Call) -> Answer:
    """Decide on an event by the saved definitions, with the policy active.

    The state is the engine's present one; the policy decides even if it is saved as a draft, and a
    draft in the body takes its place.
    """
    body: wire_replay.Simulation = call.body
    present = load_present(call)
    document = with_policy(present, call.ids["policy_id"], body.policy, call.given_back)
    definitions = read_document(document, present.compilation).compiled.source
    with in_member("event"):
        explanation = _explained(call, definitions, bytes(_BODY.decode(call.raw_body).event))
    wanted = str(call.ids["policy_id"])
    found = [each for policy, each in without_return(definitions) if policy.policy_id == wanted]
    found += [each for _, each in challenge_warnings(call, definitions, {wanted})]
    saved = present.find(POLICY, call.ids["policy_id"])
    return Answer(
        body=wire_replay.SimulationResult(
            decision=explanation.decision.to_record(),
            fired=any(saved and each.policy == saved.slug for each in explanation.decision.fired),
            trace=trace_of(explanation),
            text=str(explanation),
            warnings=tuple(map(to_warning, found)),
        )
    )


def _explained(call: Call, definitions: Definitions, event: bytes) -> Explanation:
    keys = call.app.keys
    engine = TenantEngine(
        definitions,
        redaction_key=keys.redaction_of(call.tenant_id),
        events="any",
        proof_keys=proof_keys_of(call.tenant_id, keys),
    )
    try:
        event = call.app.runtime.located(call.tenant_id, event)
        state = call.app.runtime.state_of(call.tenant_id, event, call.now)
        if state is not None:
            engine.load_state(state)
        return engine.explain(event, call.now)
    except EventError as error:
        raise problem_of(error) from None
