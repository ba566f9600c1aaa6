//! One decision in the parts that a service needs: the answer, the record, the effects, and the
//! data for its index.

use smallvec::SmallVec;
use uuid::Uuid;

use crate::decision::effects::EffectsError;
use crate::decision::record::Written;
use crate::decision::{Decision, Reason, effects, record};
use crate::definitions::document::Mode;
use crate::definitions::{Clause, Definitions, Policy};
use crate::engine::{Engine, Given};
use crate::value::error::EventError;

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
    /// The policy that answered, and the mode of its mitigation.
    pub fn answered<'d>(&self, definitions: &'d Definitions) -> Option<(&'d Policy, Mode)> {
        let (policy, clause) = definitions.clause(self.clause?)?;
        Some((policy, mode(definitions, clause)))
    }

    /// The policies of which a clause fired, once each, with their strongest mode.
    pub fn fired<'d>(
        &self,
        definitions: &'d Definitions,
    ) -> impl Iterator<Item = (&'d Policy, Mode)> {
        self.fired.iter().filter_map(|&(clause, mode)| Some((definitions.clause(clause)?.0, mode)))
    }
}

impl Engine {
    /// Decides on an event and counts it.
    ///
    /// # Errors
    /// It is no event; nothing was counted.
    pub fn serve(
        &self,
        body: &[u8],
        received_at: i64,
        decision_id: &str,
        given: Given,
    ) -> Result<Served, EventError> {
        self.decided_within(body, (received_at, given), |decided| {
            let definitions = self.definitions();
            let path = decided.path.filter(|path| !path.is_empty());
            let path = path.map(|path| definitions.kept_link(path));
            let (decision, return_url) = self.apply(decided);
            let Written { answer, record, entity_ids } =
                record::served(definitions, &decision, return_url, decision_id);
            Served {
                answer,
                record,
                effects: effects::written(definitions, &decision),
                reason: decision.reason(),
                time: decision.time,
                path: path.map(|path| without_query(&path).into()),
                entity_ids,
                clause: decision.answer().map(|fired| fired.clause.number),
                fired: strongest(&decision),
            }
        })
    }

    /// Repeats decisions by their effects, in order. Skips effects that the definitions have no
    /// place for.
    ///
    /// # Errors
    /// Some are malformed: those before them are applied, nothing of them is.
    pub fn apply_effects<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e [u8]>,
    ) -> Result<(), EffectsError> {
        let mut arena = bumpalo::Bump::new();
        for (position, entry) in entries.into_iter().enumerate() {
            let effects = effects::read(self.definitions(), entry, &arena);
            let effects = effects.map_err(|fault| EffectsError::new(fault, position))?;
            let mut state = self.state();
            effects.iter().for_each(|effect| effect.apply(self.definitions(), &mut state));
            self.followers().tell(|| String::from_utf8_lossy(entry).into_owned());
            drop(state);
            drop(effects);
            arena.reset();
        }
        Ok(())
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

fn mode(definitions: &Definitions, clause: &Clause) -> Mode {
    definitions.mitigation(clause).map_or(Mode::Monitor, |mitigation| mitigation.mode)
}
