//! The outcomes of a definition set's expressions for one event. The decision only
//! gets them here, by number, and doesn't know how they are found.

use std::cell::Cell;

use crate::definitions::candidates_index::IndexCandidates;
use crate::definitions::{Definitions, ExpressionId};
use crate::evaluate::Meter;
use crate::event::layout::Slot;
use crate::event::record::Record;
use crate::value::error::{ErrorCode, Failure};
use crate::value::work::Work;
use crate::value::{Timestamp, Value};

/// The outcome of an expression that must be a bool.
pub type Outcome = Result<bool, Undecided>;

/// The reason why an expression has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    Error(ErrorCode),
    /// The work ended before or during the evaluation.
    BudgetEnded,
}

/// Outcomes already known, kept between events so that nothing is cleared: an
/// entry counts when it carries the stamp of this event.
#[derive(Debug, Default)]
pub struct KnownOutcomes {
    stamp: u64,
    entries: Vec<(u64, Outcome)>,
}

impl KnownOutcomes {
    fn begin(&mut self, expressions: usize) {
        self.stamp = self.stamp.saturating_add(1);
        self.entries.resize(expressions, (0, Ok(false)));
    }

    fn get(&self, id: ExpressionId) -> Option<Outcome> {
        let &(stamp, outcome) = self.entries.get(id.index())?;
        (stamp == self.stamp).then_some(outcome)
    }

    fn set(&mut self, id: ExpressionId, outcome: Outcome) {
        if let Some(entry) = self.entries.get_mut(id.index()) {
            *entry = (self.stamp, outcome);
        }
    }
}

/// State of an entity as expressions see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityState {
    pub event_count: u64,
    pub first_seen: i64,
    pub last_seen: i64,
}

/// One event's record and the outcomes of expressions over it. An expression is evaluated on first
/// use, once.
#[derive(Debug)]
pub struct Conditions<'a, 'k> {
    definitions: &'a Definitions,
    record: Record<'a>,
    known: &'k mut KnownOutcomes,
    /// Work done for expressions.
    work: Cell<Work>,
}

impl<'a, 'k> Conditions<'a, 'k> {
    pub fn new(
        definitions: &'a Definitions,
        record: Record<'a>,
        known: &'k mut KnownOutcomes,
    ) -> Self {
        known.begin(definitions.expressions.programs().len());
        Self { definitions, record, known, work: Cell::new(Work::unlimited()) }
    }

    pub(crate) fn record(&self) -> &Record<'a> {
        &self.record
    }

    /// Continues with other work. Gives the work done so far.
    pub(crate) fn exchange_work(&self, work: Work) -> Work {
        self.work.replace(work)
    }

    /// Units done since the last exchange.
    pub(crate) fn work_done(&self) -> u64 {
        self.work.get().done()
    }

    /// Counts work outside of expressions.
    pub(crate) fn add_work(&self, units: u64) {
        let mut work = self.work.get();
        work.add(units);
        self.work.set(work);
    }

    /// Whether the work is over; then the last outcome doesn't count.
    pub(crate) fn is_over(&self) -> bool {
        self.work.get().is_over()
    }

    /// Whether an expression that does not read `entity.*` is true.
    ///
    /// # Errors
    /// The code of its error, or the end of the work.
    pub fn test(&mut self, id: ExpressionId) -> Outcome {
        if let Some(outcome) = self.known.get(id) {
            return outcome;
        }
        let outcome = self.evaluate_test(id);
        if outcome != Err(Undecided::BudgetEnded) {
            self.known.set(id, outcome);
        }
        outcome
    }

    /// Whether an expression is true for a clause that binds an entity.
    ///
    /// # Errors
    /// As [`Conditions::test`].
    pub fn test_for(&mut self, id: ExpressionId, entity: EntityState) -> Outcome {
        let definitions = self.definitions;
        if !definitions.expressions.reads_entity(id) {
            return self.test(id);
        }
        let slots = definitions.entity_slots;
        let count = i64::try_from(entity.event_count).unwrap_or(i64::MAX);
        let time = |time: i64| Value::Timestamp(Timestamp(i128::from(time)));
        self.set(slots.event_count, Some(Value::Int(count)));
        self.set(slots.first_seen_at, Some(time(entity.first_seen)));
        self.set(slots.last_seen_at, Some(time(entity.last_seen)));
        let outcome = self.evaluate_test(id);
        self.set(slots.event_count, None);
        self.set(slots.first_seen_at, None);
        self.set(slots.last_seen_at, None);
        outcome
    }

    /// The value of an expression; it doesn't count if the work is over afterwards.
    ///
    /// # Errors
    /// The code of its error.
    pub fn value(&self, id: ExpressionId) -> Result<Value<'a>, ErrorCode> {
        let definitions = self.definitions;
        let program = definitions.expressions.program(id).ok_or(ErrorCode::NoSuchField)?;
        if self.is_over() {
            return Err(ErrorCode::NoSuchField);
        }
        let mut meter = Meter::within(&definitions.limits, self.work.get());
        let value = program.evaluate(&self.record, &definitions.lists, &mut meter);
        self.work.set(meter.work());
        value.map_err(|Failure { code, .. }| code)
    }

    /// Whether an expression does not depend on the state.
    pub fn is_free_of_state(&self, id: ExpressionId) -> bool {
        !self.definitions.expressions.reads_entity(id)
    }

    /// Finds the candidates of the event and its true expressions.
    pub fn search(&mut self, from_index: &mut IndexCandidates) {
        let definitions = self.definitions;
        let Definitions { expressions, lists, limits, .. } = definitions;
        definitions.index().search((expressions, lists, limits), &self.record, from_index);
        for id in &from_index.proven {
            self.known.set(*id, Ok(true));
        }
    }

    /// Sets the field `actions.NAME`, where some expression reads it.
    pub fn set_action(&mut self, slot: Option<Slot>, has_matched: bool) {
        self.set(slot, Some(Value::Bool(has_matched)));
    }

    fn set(&mut self, slot: Option<Slot>, value: Option<Value<'a>>) {
        if let Some(slot) = slot {
            self.record.set(slot, value);
        }
    }

    fn evaluate_test(&self, id: ExpressionId) -> Outcome {
        let definitions = self.definitions;
        let program = definitions.expressions.program(id);
        let program = program.ok_or(Undecided::Error(ErrorCode::NoSuchField))?;
        if self.is_over() {
            return Err(Undecided::BudgetEnded);
        }
        let mut meter = Meter::within(&definitions.limits, self.work.get());
        let outcome = program.test(&self.record, &definitions.lists, &mut meter);
        self.work.set(meter.work());
        if self.is_over() {
            return Err(Undecided::BudgetEnded);
        }
        outcome.map_err(|Failure { code, .. }| Undecided::Error(code))
    }
}
