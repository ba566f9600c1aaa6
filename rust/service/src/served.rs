//! One decision in the parts that a service needs: the answer, the record, the effects, and the
//! data for its index.

use smallvec::SmallVec;
use uuid::Uuid;

use tidegate_core::decision::record::Written;
use tidegate_core::decision::{Decision, Reason, effects, record};
use tidegate_core::definitions::document::Mode;
use tidegate_core::definitions::{Definitions, Policy};
use tidegate_core::engine::{Engine, Given};
use tidegate_core::value::error::EventError;

/// One decision, counted.
#[derive(Debug)]
pub struct Served {
    /// The answer to the caller, as JSON.
    pub answer: String,
    /// The whole record, as JSON.
    pub record: String,
    /// The effects that repeat it on a state, as JSON.
    pub effects: String,
    pub reason: Reason,
    /// The mode of the answer, whether a clause gives it or an override; `None` allows.
    pub mode: Option<Mode>,
    /// The time it counts at, in nanoseconds.
    pub time: i64,
    /// The `request.path` of the event, if it has one, up to a query.
    pub path: Option<Box<str>>,
    pub entity_ids: SmallVec<[Uuid; 4]>,
    /// The number of the clause that answered.
    clause: Option<u32>,
    /// Numbers of clauses that fired, one for each policy, with its strongest mode.
    fired: SmallVec<[(u32, Mode); 4]>,
}

impl Served {
    /// The policy that answered.
    pub fn answered<'d>(&self, definitions: &'d Definitions) -> Option<&'d Policy> {
        Some(definitions.clause(self.clause?)?.0)
    }

    /// The policies of which a clause fired, once each, with their strongest mode.
    pub fn fired<'d>(
        &self,
        definitions: &'d Definitions,
    ) -> impl Iterator<Item = (&'d Policy, Mode)> {
        self.fired.iter().filter_map(|&(clause, mode)| Some((definitions.clause(clause)?.0, mode)))
    }
}

impl Served {
    /// Decides on an event and counts it.
    ///
    /// # Errors
    /// It isn't an event; nothing was counted.
    pub fn decide(
        engine: &Engine,
        body: &[u8],
        received_at: i64,
        decision_id: &str,
        given: Given,
    ) -> Result<Self, EventError> {
        engine.decided_within(body, (received_at, given), |decided| {
            let definitions = engine.definitions();
            let path = decided.path.filter(|path| !path.is_empty());
            let path = path.map(|path| definitions.kept_link(path));
            let (decision, return_url) = engine.apply(decided);
            let Written { answer, record, entity_ids } =
                record::served(definitions, &decision, return_url, decision_id);
            Self {
                answer,
                record,
                effects: effects::written(definitions, &decision),
                reason: decision.reason(),
                mode: decision.mode(),
                time: decision.time,
                path: path.map(|path| without_query(&path).into()),
                entity_ids,
                clause: decision.answer().map(|fired| fired.clause.number),
                fired: strongest(&decision),
            }
        })
    }
}

/// A path without a query or fragment that came with it.
pub(crate) fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

pub(crate) fn strongest(decision: &Decision<'_>) -> SmallVec<[(u32, Mode); 4]> {
    let mut strongest: SmallVec<[(u32, Mode); 4]> = SmallVec::new();
    let mut last: Option<&Policy> = None;
    for fired in &decision.fired {
        let mode = fired.mode();
        // The clauses of a policy are next to each other.
        match strongest.last_mut() {
            Some((_, known)) if last.is_some_and(|last| std::ptr::eq(last, fired.policy)) => {
                *known = (*known).max(mode);
            }
            _ => strongest.push((fired.clause.number, mode)),
        }
        last = Some(fired.policy);
    }
    strongest
}
