//! Decisions on hot calls, in blocks: their answers, and for the log a line and an index entry
//! each.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bumpalo::Bump;
use smallvec::SmallVec;
use uuid::Uuid;

use crate::call::{Call, Endpoint, Idempotency};
use crate::served::{strongest, without_query};
use tidegate_core::decision::record::{entity_ids, write_answer, write_record};
use tidegate_core::decision::{Decision, Place, Reason, effects};
use tidegate_core::definitions::Definitions;
use tidegate_core::definitions::document::Mode;
use tidegate_core::engine::Engine;
use tidegate_core::event::client::Problem;
use tidegate_core::event::field::Member;
use tidegate_core::json::write::{
    list, member, optional, push_hash, push_id, push_int, write_id, write_string,
};
use tidegate_core::redact::Redactor;
use tidegate_core::value::error::EventError;

/// The path below which a challenge is solved.
const CHALLENGES: &str = "/api/v1/challenge/";

/// The actions of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Allow,
    Challenge,
    Block,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Challenge => "challenge",
            Self::Block => "block",
        }
    }

    pub fn of(mode: Option<Mode>) -> Self {
        match mode {
            Some(Mode::Challenge) => Self::Challenge,
            Some(Mode::Block) => Self::Block,
            Some(Mode::Monitor) | None => Self::Allow,
        }
    }
}

/// Data that the calls of one block share.
pub struct BlockContext<'b> {
    pub received_at: i64,
    /// The URL of the service.
    pub base_url: &'b str,
    pub redactor: &'b Redactor,
}

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub action: Action,
    /// Whether an expression ended in an error.
    pub has_errors: bool,
    /// Whether the budget ended before all was decided.
    pub is_over_budget: bool,
    /// The reason why the client that the event names has no address.
    pub client_problem: Option<Problem>,
    /// Units of work of the decision.
    pub work: u64,
    /// The range of the answer's body in [`Block::lines`].
    pub answer: Range<usize>,
}

/// The number of answers of one policy with one action and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The policy's id; empty where no policy answered.
    pub policy: Box<str>,
    pub reason: Reason,
    pub action: Action,
    pub count: usize,
}

/// Decisions of one tenant in order.
#[derive(Debug, Default)]
pub struct Block {
    /// One line of JSON for each decision, with a line feed between two.
    pub lines: String,
    /// One JSON array for each decision, with a comma between two.
    pub index: String,
    /// The counts of the decisions.
    pub outcomes: Vec<Outcome>,
}

/// Memory that decisions use one after another.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The event of the decision, redacted.
    event: String,
    /// Memory for reading it.
    arena: Bump,
}

impl Block {
    /// A block with room for some calls.
    pub fn with_capacity(calls: usize) -> Self {
        // Most lines have 2.5 KB.
        Self {
            lines: String::with_capacity(calls.saturating_mul(3072)),
            index: String::with_capacity(calls.saturating_mul(512)),
            outcomes: Vec::new(),
        }
    }

    /// Decides on a call, counts it, and adds the decision.
    ///
    /// # Errors
    /// The input isn't an event; nothing was counted or added.
    pub fn decide(
        &mut self,
        engine: &Engine,
        call: &Call<'_>,
        caller: Caller<'_>,
        context: &BlockContext<'_>,
        workspace: &mut Workspace,
        duration_us: impl FnOnce() -> u64,
    ) -> Result<Answered, EventError> {
        let Workspace { event, arena } = workspace;
        event.clear();
        arena.reset();
        context.redactor.redact_into(call.body, arena, event)?;
        let text = Text { definitions: engine.definitions(), call, caller, context };
        engine.decided(&call.event, context.received_at, |decided| {
            let (path, challenged) = (decided.path, decided.challenged);
            let (decision, return_url) = engine.apply(decided);
            let redactor = context.redactor;
            let outcome = CallOutcome::new(text.definitions, &decision, path, return_url, redactor);
            let sealed = challenged.zip(engine.proof_keys()).map(|(client, keys)| {
                keys.seal(caller.decision_id, return_url.filter(|url| !url.is_empty()), &client)
            });
            let extras = LineExtras { event, sealed, duration_us: duration_us() };
            let answer = text.write_line(&mut self.lines, &outcome, &extras);
            text.write_index(&mut self.index, &outcome);
            count(&mut self.outcomes, &outcome);
            Answered {
                action: outcome.action,
                has_errors: !decision.errors.is_empty(),
                is_over_budget: decision.ends.are_any(),
                client_problem: decision.client_problem,
                work: decision.spent.total(),
                answer,
            }
        })
    }
}

fn count(outcomes: &mut Vec<Outcome>, outcome: &CallOutcome<'_, '_>) {
    let CallOutcome { decision, action, .. } = *outcome;
    let reason = decision.reason();
    let policy = decision.answer().map_or("", |fired| &*fired.policy.id);
    // Few policies answer the calls of one block.
    let known = outcomes
        .iter_mut()
        .find(|it| (it.reason, it.action, &*it.policy) == (reason, action, policy));
    match known {
        Some(outcome) => outcome.count = outcome.count.saturating_add(1),
        None => outcomes.push(Outcome { policy: policy.into(), reason, action, count: 1 }),
    }
}

/// The caller and the id of the decision.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    pub decision_id: Uuid,
    pub api_key_id: &'c str,
    /// The trace of the call, in 32 hexadecimal digits.
    pub trace_id: Option<&'c str>,
}

/// A decision that is applied.
struct CallOutcome<'d, 'a> {
    decision: &'d Decision<'a>,
    action: Action,
    /// The mitigation that the answer names to the caller.
    mode: Option<Mode>,
    /// The path, redacted like everything that is stored.
    path: Option<Cow<'a, str>>,
    /// The URL, redacted like everything that is stored.
    return_url: Option<Cow<'a, str>>,
    entity_ids: SmallVec<[Uuid; 4]>,
}

impl<'d, 'a> CallOutcome<'d, 'a> {
    fn new(
        definitions: &Definitions,
        decision: &'d Decision<'a>,
        path: Option<&'a str>,
        return_url: Option<&'a str>,
        redactor: &Redactor,
    ) -> Self {
        let mode = decision.mode();
        Self {
            decision,
            action: Action::of(mode),
            mode: mode.or_else(|| decision.is_mitigated().then_some(Mode::Monitor)),
            path: path.filter(|path| !path.is_empty()).map(|path| redactor.link(path)),
            return_url: return_url.map(|url| redactor.link(url)),
            entity_ids: entity_ids(definitions, decision),
        }
    }
}

/// The members of a line other than the decision.
struct LineExtras<'e> {
    /// Redacted.
    event: &'e str,
    /// The parts of the exact event that a challenge needs.
    sealed: Option<Vec<u8>>,
    duration_us: u64,
}

/// The source of one decision's texts.
struct Text<'c> {
    definitions: &'c Definitions,
    call: &'c Call<'c>,
    caller: Caller<'c>,
    context: &'c BlockContext<'c>,
}

impl Text<'_> {
    /// Appends a line, and gives the place of the answer in it.
    fn write_line(
        &self,
        out: &mut String,
        outcome: &CallOutcome<'_, '_>,
        extras: &LineExtras<'_>,
    ) -> Range<usize> {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str("{\"decision_id\":");
        write_id(out, self.caller.decision_id);
        out.push_str(",\"received_at\":");
        push_int(out, self.context.received_at);
        member(out, "api_key_id", Some(self.caller.api_key_id));
        let source = self.call.event.member(Member::Source);
        let source = source.map(|source| self.context.redactor.text("source", source));
        member(out, "source", source.as_deref());
        member(out, "endpoint", Some(self.call.endpoint.as_str()));
        out.push_str(",\"idempotency\":");
        match &self.call.idempotency {
            Some(Idempotency { identity, fingerprint }) => {
                out.push('[');
                write_hash(out, identity);
                out.push(',');
                write_hash(out, fingerprint);
                out.push(']');
            }
            None => out.push_str("null"),
        }
        out.push_str(",\"revision\":");
        push_int(out, self.definitions.revision);
        out.push_str(",\"duration_us\":");
        push_int(out, extras.duration_us);
        if let Some(trace_id) = self.caller.trace_id {
            member(out, "trace_id", Some(trace_id));
        }
        if let Some(sealed) = &extras.sealed {
            out.push_str(",\"sealed\":\"");
            URL_SAFE_NO_PAD.encode_string(sealed, out);
            out.push('"');
        }
        out.push_str(",\"answer\":");
        let start = out.len();
        let known = self.write_answer(out, outcome);
        let answer = start..out.len();
        out.push_str(",\"record\":");
        match known {
            Some(known) => out.extend_from_within(known),
            None => write_answer(out, outcome.decision, outcome.return_url.as_deref()),
        }
        write_record(out, self.definitions, outcome.decision, &outcome.entity_ids);
        out.push_str(",\"effects\":");
        effects::write(out, self.definitions, outcome.decision);
        out.push_str(",\"event\":");
        out.push_str(extras.event);
        out.push('}');
        answer
    }

    /// Appends the body of the answer, which begins as the record does, and gives its place.
    fn write_answer(
        &self,
        out: &mut String,
        outcome: &CallOutcome<'_, '_>,
    ) -> Option<Range<usize>> {
        let start = out.len();
        if self.call.endpoint == Endpoint::Beacon {
            self.write_beacon(out, outcome);
            return None;
        }
        if outcome.action == Action::Challenge {
            self.write_challenge(out, outcome);
            return None;
        }
        // Not a challenge, so there isn't a URL that the caller needs unredacted.
        write_answer(out, outcome.decision, None);
        let known = start..out.len();
        self.write_decision_id(out);
        Some(known)
    }

    fn write_challenge(&self, out: &mut String, outcome: &CallOutcome<'_, '_>) {
        out.push_str("{\"action\":{\"type\":\"challenge\",\"challenge\":{\"redirect_url\":");
        let mut buffer = Uuid::encode_buffer();
        let id: &str = self.caller.decision_id.hyphenated().encode_lower(&mut buffer);
        write_string(out, &[self.context.base_url, CHALLENGES, id].concat());
        out.push_str("}}");
        member(out, "reason", Some(outcome.decision.reason().as_str()));
        self.write_decision_id(out);
    }

    fn write_beacon(&self, out: &mut String, outcome: &CallOutcome<'_, '_>) {
        out.push_str("{\"item_id\":");
        write_id(out, self.caller.decision_id);
        out.push_str(",\"lookup_entity_id\":");
        match outcome.entity_ids.first() {
            Some(id) => write_id(out, *id),
            None => out.push_str("null"),
        }
        out.push_str(",\"active_mitigation\":");
        match outcome.mode {
            Some(mode) => {
                out.push_str("{\"decision\":");
                write_string(out, mode.as_str());
                out.push('}');
            }
            None => out.push_str("null"),
        }
        out.push('}');
    }

    fn write_decision_id(&self, out: &mut String) {
        out.push_str(",\"decision_id\":");
        write_id(out, self.caller.decision_id);
        out.push('}');
    }

    fn write_index(&self, out: &mut String, outcome: &CallOutcome<'_, '_>) {
        let definitions = self.definitions;
        if !out.is_empty() {
            out.push(',');
        }
        out.push('[');
        write_id(out, definitions.tenant);
        out.push(',');
        write_id(out, self.caller.decision_id);
        out.push(',');
        push_int(out, self.context.received_at);
        out.push(',');
        write_string(out, self.caller.api_key_id);
        match &self.call.idempotency {
            Some(Idempotency { identity, fingerprint }) => {
                out.push(',');
                write_hash(out, identity);
                out.push(',');
                write_hash(out, fingerprint);
            }
            None => out.push_str(",null,null"),
        }
        out.push(',');
        push_int(out, outcome.decision.time);
        out.push(',');
        write_string(out, outcome.action.as_str());
        out.push(',');
        write_string(out, outcome.decision.reason().as_str());
        out.push(',');
        optional(out, outcome.decision.answer().map(|fired| &*fired.policy.id));
        out.push(',');
        optional(out, outcome.path.as_deref().map(without_query));
        out.push_str(",\"");
        outcome.entity_ids.iter().for_each(|id| push_id(out, *id));
        out.push_str("\",");
        let fired = strongest(outcome.decision);
        let fired = fired.iter().filter_map(|&(clause, mode)| {
            definitions.clause(clause).map(|(policy, _)| (&policy.id, mode))
        });
        list(out, fired, |out, (id, mode)| {
            out.push('[');
            write_string(out, id);
            out.push(',');
            write_string(out, mode.as_str());
            out.push(']');
        });
        out.push(',');
        list(out, failed(outcome.decision).iter(), |out, id| write_string(out, id));
        out.push(']');
    }
}

/// Ids of the policies with a failed expression, once each; an empty id for the other objects.
fn failed<'a>(decision: &Decision<'a>) -> SmallVec<[&'a str; 4]> {
    let ids = decision.errors.iter().map(|(place, _)| match place {
        Place::Scope { policy }
        | Place::Condition { policy, .. }
        | Place::WindowField { policy, .. } => &*policy.id,
        Place::Action { .. }
        | Place::Match { .. }
        | Place::KeyField { .. }
        | Place::Header { .. } => "",
    });
    let mut failed: SmallVec<[&str; 4]> = SmallVec::new();
    for id in ids {
        // Errors are in decision order, so those of one policy are adjacent; those of headers come
        // last.
        if failed.last() != Some(&id) && (!id.is_empty() || failed.first() != Some(&id)) {
            failed.push(id);
        }
    }
    failed
}

fn write_hash(out: &mut String, hash: &[u8; 16]) {
    out.push('"');
    push_hash(out, hash);
    out.push('"');
}
