//! The candidates of an event, found without the state: the actions that match, its entities, the
//! clauses that may fire. Threads find candidates at the same time.

use std::collections::HashMap;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;

use crate::decision::Place;
use crate::decision::budget::{Budget, Ends, EntityStop, Spent, kept_units};
use crate::decision::outcomes::{Conditions, Outcome, Undecided};
use crate::definitions::candidates_index::{IndexCandidates, Scope, Step};
use crate::definitions::clause_group::ClauseGroup;
use crate::definitions::document::MissingKey;
use crate::definitions::entity_key::{KeyWriter, Part};
use crate::definitions::stop::{Stop, reserve};
use crate::definitions::{Definitions, EntityDefinition, ExpressionId};
use crate::value::Text;
use crate::value::error::ErrorCode;
use crate::value::work::Work;

/// An entity that applies to the event.
#[derive(Debug)]
pub struct EventEntity {
    /// Position of its definition.
    pub definition: u32,
    pub key: String,
}

/// The candidates of one event.
#[derive(Debug)]
pub struct Candidates<'a> {
    definitions: &'a Definitions,
    /// Positions of the actions that matched.
    pub matched_actions: ArenaVec<'a, u32>,
    pub entities: ArenaVec<'a, EventEntity>,
    /// Errors of actions and entities.
    pub errors: Vec<(Place<'a>, ErrorCode)>,
    /// Positions of the clause groups that hold, or may by the state, in order.
    pub groups: ArenaVec<'a, u32>,
    /// Stops of the walk at which an error is reported, in any order.
    pub steps: ArenaVec<'a, Step>,
    /// The values that distinct windows count.
    counted: HashMap<ExpressionId, Result<Text<'a>, ErrorCode>, RandomState>,
    /// Work to record clauses that fire and errors of policies.
    pub(crate) recording: Work,
    /// Where the budget ended.
    pub ends: Ends,
    /// Units spent by the search and by entities.
    pub spent: Spent,
}

impl<'a> Candidates<'a> {
    /// Finds the candidates of an event; afterwards `conditions` know the outcomes.
    pub fn new(
        definitions: &'a Definitions,
        conditions: &mut Conditions<'a, '_>,
        from_index: &mut IndexCandidates,
        budget: Budget,
        arena: &'a Bump,
    ) -> Self {
        conditions.search(from_index);
        let (ends, walk, reserved) = bounds(definitions, budget);
        let mut finder = Finder {
            definitions,
            conditions,
            candidates: Self {
                definitions,
                matched_actions: ArenaVec::new_in(arena),
                entities: ArenaVec::with_capacity_in(definitions.entities.len(), arena),
                errors: Vec::new(),
                groups: ArenaVec::with_capacity_in(from_index.groups.len(), arena),
                steps: ArenaVec::new_in(arena),
                counted: HashMap::default(),
                recording: reserved,
                ends,
                spent: Spent { search: from_index.searched, ..Spent::default() },
            },
        };
        finder.conditions.exchange_work(walk);
        finder.actions(&from_index.actions);
        let walk = finder.conditions.exchange_work(reserved);
        finder.entities(&from_index.matches);
        finder.candidates.spent.entities = finder.conditions.exchange_work(walk).done();
        finder.groups(from_index);
        finder.candidates
    }

    /// The text by which a distinct window counts the event.
    ///
    /// # Errors
    /// The code of the expression's error, or the end of the work.
    pub fn counted(
        &self,
        field: ExpressionId,
        conditions: &Conditions<'a, '_>,
    ) -> Result<Text<'a>, Undecided> {
        match self.counted.get(&field) {
            Some(known) => known.clone().map_err(Undecided::Error),
            None => count_text(self.definitions, field, conditions),
        }
    }

    /// The position of the event's entity of a definition.
    pub fn applied(&self, definition: u32) -> Option<usize> {
        self.entities.binary_search_by_key(&definition, |entity| entity.definition).ok()
    }

    /// Whether some actions have all matched.
    pub fn has_actions(&self, actions: &[u32]) -> bool {
        actions.iter().all(|action| self.matched_actions.binary_search(action).is_ok())
    }
}

fn count_text<'a>(
    definitions: &Definitions,
    field: ExpressionId,
    conditions: &Conditions<'a, '_>,
) -> Result<Text<'a>, Undecided> {
    let value = conditions.value(field);
    if conditions.is_over() {
        return Err(Undecided::BudgetEnded);
    }
    let part = value.and_then(Part::from_value).map_err(Undecided::Error)?;
    Ok(definitions.kept_part(field, part).into_text())
}

/// The ends that are known beforehand; the work left for actions and policies; the work left for
/// entities, and as much for the record.
const fn bounds(definitions: &Definitions, budget: Budget) -> (Ends, Work, Work) {
    let most = definitions.limits.decision_work;
    match budget {
        Budget::Own => {
            let none = Ends { walk: None, entities: None };
            (none, Work::up_to(most), Work::up_to(reserve(most)))
        }
        Budget::Known(ends) => (ends, Work::unlimited(), Work::unlimited()),
    }
}

struct Finder<'a, 'c, 'k> {
    definitions: &'a Definitions,
    conditions: &'c mut Conditions<'a, 'k>,
    candidates: Candidates<'a>,
}

impl<'a> Finder<'a, '_, '_> {
    /// Tests the actions that may match, and marks the others as not matched if expressions read
    /// them.
    fn actions(&mut self, candidates: &[u32]) {
        let definitions = self.definitions;
        let mut candidates = candidates.iter().copied().peekable();
        let mut read = definitions.index().read_actions().iter().copied().peekable();
        while let Some(position) = candidates.peek().into_iter().chain(read.peek()).copied().min() {
            let is_candidate = candidates.next_if_eq(&position).is_some();
            read.next_if_eq(&position);
            let Some(action) = definitions.action(position) else { continue };
            let stop = Stop::Action(position);
            let has_matched = is_candidate && !self.candidates.ends.are_before(stop) && {
                let outcome = self.conditions.test(action.expression);
                if outcome == Err(Undecided::BudgetEnded) {
                    self.candidates.ends.stop(stop);
                }
                self.note(outcome, || Place::Action { slug: &action.slug })
            };
            self.conditions.set_action(action.slot, has_matched);
            if has_matched {
                self.candidates.matched_actions.push(position);
            }
        }
    }

    fn entities(&mut self, candidates: &[u32]) {
        let definitions = self.definitions;
        for (position, definition) in (0..).zip(&*definitions.entities) {
            let stop = EntityStop::matching(position);
            if self.candidates.ends.are_before_entity(stop) {
                break;
            }
            let applies = definition.match_expression.is_none_or(|expression| {
                candidates.binary_search(&position).is_ok() && {
                    let outcome = self.conditions.test(expression);
                    if outcome == Err(Undecided::BudgetEnded) {
                        self.candidates.ends.stop_entities(stop);
                    }
                    self.note(outcome, || Place::Match { entity: &definition.slug })
                }
            });
            if applies && let Some(key) = self.key(position, definition) {
                self.candidates.entities.push(EventEntity { definition: position, key });
            }
        }
    }

    /// The key of the event's entity of a definition, if it has one.
    fn key(&mut self, position: u32, definition: &'a EntityDefinition) -> Option<String> {
        let mut key = KeyWriter::new(position);
        for (index, &field) in definition.key_fields.iter().enumerate() {
            let stop = EntityStop::key_field(position, index);
            if self.candidates.ends.are_before_entity(stop) {
                return None;
            }
            let part = self.key_part(field);
            if self.conditions.is_over() {
                self.candidates.ends.stop_entities(stop);
                return None;
            }
            match part {
                Ok(Some(part)) => key.push(&self.definitions.kept_part(field, part)),
                Ok(None) if definition.on_missing_key == MissingKey::Blank => {
                    key.push(&Part::Text("".into()));
                }
                Ok(None) => return None,
                Err(code) => {
                    let place = Place::KeyField { entity: &definition.slug, index };
                    self.candidates.errors.push((place, code));
                    return None;
                }
            }
        }
        let key = key.finish();
        self.conditions.add_work(kept_units(key.len()));
        if self.conditions.is_over() {
            let last = definition.key_fields.len().saturating_sub(1);
            self.candidates.ends.stop_entities(EntityStop::key_field(position, last));
            return None;
        }
        Some(key)
    }

    /// One part of a key, `None` when it is missing.
    fn key_part(&self, field: ExpressionId) -> Result<Option<Part<'a>>, ErrorCode> {
        match self.conditions.value(field) {
            Ok(value) => Part::from_value(value).map(|part| (!part.is_blank()).then_some(part)),
            Err(ErrorCode::NoSuchKey | ErrorCode::NoSuchField) => Ok(None),
            Err(code) => Err(code),
        }
    }

    /// Keeps the clause groups that may hold, and the steps at which an error is reported.
    fn groups(&mut self, from_index: &IndexCandidates) {
        let definitions = self.definitions;
        let scopes = from_index.scopes.iter().filter_map(|scope| definitions.index().scope(*scope));
        let mut scopes = scopes.peekable();
        for &position in &from_index.groups {
            let Some(group) = definitions.groups.get(position) else { continue };
            if scopes.peek().is_some() || self.candidates.ends.walk.is_some() {
                let first = Stop::expression(group.first());
                while let Some(scope) = scopes.next_if(|scope| scope.first() < first) {
                    self.scope(scope);
                }
                if self.candidates.ends.are_before(first) {
                    return;
                }
            }
            match self.may_hold(group) {
                Ok(true) => {
                    self.values(group);
                    self.candidates.groups.push(position);
                }
                Ok(false) | Err(Undecided::BudgetEnded) => {}
                Err(Undecided::Error(_)) => self.candidates.steps.extend_from_slice(&group.steps),
            }
        }
        scopes.for_each(|scope| self.scope(scope));
    }

    /// Notes the policies at which the error of a scope is reported.
    fn scope(&mut self, scope: &Scope) {
        if self.candidates.ends.are_before(scope.first()) {
            return;
        }
        match self.conditions.test(scope.expression) {
            Ok(_) => {}
            Err(Undecided::BudgetEnded) => self.candidates.ends.stop(scope.first()),
            Err(Undecided::Error(_)) => {
                self.candidates.steps.extend(scope.policies.iter().copied().map(Step::scope));
            }
        }
    }

    fn may_hold(&mut self, group: &ClauseGroup) -> Outcome {
        let applies = |entity| self.candidates.applied(entity).is_some();
        if !group.entity.is_none_or(applies) || !self.candidates.has_actions(&group.actions) {
            return Ok(false);
        }
        match group.scope.map_or(Ok(true), |scope| self.conditions.test(scope)) {
            Ok(true) => {}
            Ok(false) | Err(Undecided::Error(_)) => return Ok(false),
            Err(Undecided::BudgetEnded) => {
                self.candidates.ends.stop(Stop::scope(group.first().policy()));
                return Err(Undecided::BudgetEnded);
            }
        }
        let outcome = match group.condition {
            Some(condition) if self.conditions.is_free_of_state(condition) => {
                self.conditions.test(condition)
            }
            _ => Ok(true),
        };
        if outcome == Err(Undecided::BudgetEnded) {
            self.candidates.ends.stop(Stop::expression(group.first()));
        }
        outcome
    }

    /// Finds the values that the distinct windows of a clause group count.
    fn values(&mut self, group: &ClauseGroup) {
        for family in self.definitions.groups.families_of(group) {
            let Some(field) = family.distinct else { continue };
            if self.candidates.counted.contains_key(&field)
                || self.candidates.ends.are_before(family.first())
            {
                continue;
            }
            let text = match count_text(self.definitions, field, self.conditions) {
                Ok(text) => Ok(text),
                Err(Undecided::Error(code)) => Err(code),
                Err(Undecided::BudgetEnded) => {
                    self.candidates.ends.stop(family.first());
                    continue;
                }
            };
            self.candidates.counted.insert(field, text);
        }
    }

    /// An outcome as a bool; errors and the end of the work are noted and count as false.
    fn note(&mut self, outcome: Outcome, place: impl FnOnce() -> Place<'a>) -> bool {
        if let Err(Undecided::Error(code)) = outcome {
            self.candidates.errors.push((place(), code));
        }
        outcome == Ok(true)
    }
}

#[cfg(test)]
mod tests;
