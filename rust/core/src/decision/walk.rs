//! The walk through a tenant's definitions for one event (docs/decision.md, "The walk").
//!
//! It does not visit every clause. It stops at clauses whose trigger holds, at clauses that
//! mitigate an entity of the event, and at places that report an error, in the order of the
//! definitions.

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::decision::budget::{ERROR_UNITS, FIRED_UNITS, Spent, window_units};
use crate::decision::candidates::Candidates;
use crate::decision::outcomes::{Conditions, Outcome, Undecided};
use crate::decision::{Decision, FiredClause, PendingChange, Place};
use crate::definitions::candidates_index::Step;
use crate::definitions::clause_group::WindowFamily;
use crate::definitions::stop::Stop;
use crate::definitions::window_rule::Rule;
use crate::definitions::{Clause, Definitions, ExpressionId, Policy};
use crate::state::entity::Entity;
use crate::state::lock::StateGuard;
use crate::state::window::Window;
use crate::state::window::family::FamilyWindows;
use crate::value::Text;
use crate::value::error::ErrorCode;

/// Entities of an event without memory on the heap.
const FEW_ENTITIES: usize = 8;

/// The walk and its findings so far.
pub(crate) struct Walk<'a, 'c, 'k, 's> {
    definitions: &'a Definitions,
    conditions: &'c mut Conditions<'a, 'k>,
    candidates: Candidates<'a>,
    hasher: &'s RandomState,
    /// The block of each entity before the event.
    blocks: SmallVec<[Option<&'s Entity>; FEW_ENTITIES]>,
    /// The place of the last windows that were looked up, by entity.
    near: SmallVec<[usize; FEW_ENTITIES]>,
    /// Windows that count, in the order of their numbers.
    counting: ArenaVec<'s, Counting<'a, 's>>,
    decision: Decision<'a>,
}

/// A clause at its place.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    policy: &'a Policy,
    clause: &'a Clause,
    step: Step,
    index: usize,
}

/// Windows that count the event, unless the walk ends before their clauses.
struct Counting<'a, 's> {
    family: &'a WindowFamily,
    /// Position in [`Decision::entities`].
    entity: usize,
    /// The value that a distinct window counts.
    value: Option<Text<'a>>,
    windows: FamilyWindows<'s>,
    /// The number that the widest window would hold then without a threshold.
    most: u16,
}

impl Counting<'_, '_> {
    /// The number that a window of a rule would hold without a threshold.
    fn peek(&self, number: u32, rule: Rule, time: i64, hasher: &RandomState) -> u16 {
        let widest = self.family.family().rules.first();
        if self.windows.are_one() && widest.is_some_and(|it| it.duration == rule.duration) {
            return self.most;
        }
        let peek =
            |window: &Window| window.peek(rule.duration, time, self.value.as_deref(), hasher);
        self.windows.source(number).map_or(1, peek)
    }
}

impl<'a, 'c, 'k, 's> Walk<'a, 'c, 'k, 's> {
    /// Before the first step. The decision has its entities.
    pub(crate) fn new(
        definitions: &'a Definitions,
        conditions: &'c mut Conditions<'a, 'k>,
        candidates: Candidates<'a>,
        state: &'s StateGuard<'_>,
        decision: Decision<'a>,
        arena: &'s Bump,
    ) -> Self {
        let blocks = decision.entities.iter().map(|entity| state.get(entity.known)).collect();
        Self {
            definitions,
            conditions,
            counting: ArenaVec::with_capacity_in(candidates.groups.len(), arena),
            candidates,
            hasher: state.hasher(),
            blocks,
            near: SmallVec::from_elem(0, decision.entities.len()),
            decision,
        }
    }

    /// The decision at the end of the walk.
    pub(crate) fn end(mut self) -> Decision<'a> {
        self.groups();
        self.visit_mitigations();
        let end = self.policies();
        self.count(end);
        let Self { mut candidates, mut decision, conditions, .. } = self;
        if let Some(end) = end {
            // Drop the end of the budget if the walk ended earlier.
            candidates.ends.walk =
                candidates.ends.walk.filter(|stop| *stop <= Stop::window_field(end));
        }
        decision.ends = candidates.ends;
        decision.spent = Spent { walk: conditions.work_done(), ..candidates.spent };
        decision.matched_actions = candidates.matched_actions;
        decision
    }

    /// Finds the clauses that fire by the clause groups that hold, and the windows that count.
    fn groups(&mut self) {
        let definitions = self.definitions;
        for index in 0..self.candidates.groups.len() {
            let position = self.candidates.groups.get(index);
            let Some(group) = position.and_then(|it| definitions.groups.get(*it)) else {
                continue;
            };
            if self.candidates.ends.walk.is_some() && self.is_past(Stop::expression(group.first()))
            {
                break;
            }
            let entity = group.entity.and_then(|definition| self.applied(definition));
            match group.condition.map_or(Ok(true), |condition| self.test(condition, entity)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(Undecided::BudgetEnded) => {
                    self.candidates.ends.stop(Stop::expression(group.first()));
                    break;
                }
                Err(Undecided::Error(_)) => {
                    // Each of them reports it.
                    self.candidates.steps.extend_from_slice(&group.steps);
                    continue;
                }
            }
            self.candidates.steps.extend_from_slice(&group.plain);
            for family in definitions.groups.families_of(group) {
                self.look_at(family, entity);
            }
        }
    }

    /// Finds the clauses of a family that fire.
    fn look_at(&mut self, family: &'a WindowFamily, entity: Option<usize>) {
        let Some(entity) = entity else { return };
        if self.is_past(family.first()) {
            return;
        }
        let field = family.distinct;
        let value = field.map(|field| self.candidates.counted(field, self.conditions)).transpose();
        let Ok(value) = value else {
            self.candidates.steps.extend_from_slice(&family.steps);
            return;
        };
        self.conditions.add_work(window_units(value.as_deref(), family.steps.len()));
        if self.conditions.is_over() {
            self.candidates.ends.stop(family.first());
            return;
        }
        let windows = match (self.block(entity), self.near.get_mut(entity)) {
            (Some(block), Some(near)) => block.family_after(near, family.family()),
            _ => FamilyWindows::default(),
        };
        let (time, hasher) = (self.decision.time, self.hasher);
        let widest = windows.source(family.family().first);
        let most = widest
            .zip(family.family().rules.first())
            .map_or(1, |(window, rule)| window.peek(rule.duration, time, value.as_deref(), hasher));
        let counting = Counting { family, entity, value, windows, most };
        for (number, rule, step) in family.members().rev() {
            if counting.windows.are_one() && rule.threshold > most {
                break;
            }
            if counting.peek(number, rule, time, hasher) >= rule.threshold {
                self.candidates.steps.push(step);
            }
        }
        self.counting.push(counting);
    }

    /// Adds the clauses that mitigate an entity of the event.
    fn visit_mitigations(&mut self) {
        for position in 0..self.decision.entities.len() {
            let mitigations = self.block(position).map_or(&[][..], Entity::mitigations);
            let definitions = self.definitions;
            let places = mitigations.iter().filter_map(|mitigation| {
                definitions.clause_places.get(usize::try_from(mitigation.clause).ok()?)
            });
            let steps = places.map(|&(policy, clause)| Step::clause(policy, clause));
            self.candidates.steps.extend(steps);
        }
        self.candidates.steps.sort_unstable();
        self.candidates.steps.dedup();
    }

    /// Walks through the clauses that may fire. Returns the one that ends the walk.
    fn policies(&mut self) -> Option<Step> {
        let definitions = self.definitions;
        let arena = self.candidates.steps.bump();
        let steps = std::mem::replace(&mut self.candidates.steps, ArenaVec::new_in(arena));
        let (mut visited, mut is_in_scope) = (None, true);
        for step in steps {
            let position = step.policy();
            let Some(policy) = definitions.policy(position) else { continue };
            if visited != Some(position) {
                visited = Some(position);
                is_in_scope = self.scope(policy, Stop::scope(position));
            }
            let index = step.clause_position().and_then(|clause| usize::try_from(clause).ok());
            let Some((index, clause)) =
                index.zip(index.and_then(|index| policy.clauses.get(index)))
            else {
                continue;
            };
            if self.candidates.recording.is_over() {
                self.candidates.ends.stop(Stop::expression(step));
            }
            let has_fired = self.clause(Candidate { policy, clause, step, index }, is_in_scope);
            if has_fired && clause.is_final {
                return Some(step);
            }
        }
        None
    }

    /// Makes the windows of all clauses count, up to the clause that ends the walk.
    fn count(&mut self, end: Option<Step>) {
        let arena = self.counting.bump();
        let counting = std::mem::replace(&mut self.counting, ArenaVec::new_in(arena));
        for Counting { family, entity, value, .. } in counting {
            let ends = self.candidates.ends;
            let is_reached = |step: &Step| {
                end.is_none_or(|end| *step <= end) && !ends.are_before(family.counts_at(*step))
            };
            if family.steps.iter().all(is_reached) {
                self.decision
                    .change(entity, PendingChange::Count { family: family.family(), value });
                continue;
            }
            for (position, _) in
                family.steps.iter().enumerate().filter(|(_, step)| is_reached(step))
            {
                let (family, value) = (family.family(), value.clone());
                self.decision.change(entity, PendingChange::CountOne { family, position, value });
            }
        }
    }

    fn scope(&mut self, policy: &'a Policy, stop: Stop) -> bool {
        !self.is_past(stop)
            && policy.scope.is_none_or(|scope| {
                let outcome = self.conditions.test(scope);
                self.note(outcome, stop, || Place::Scope { policy })
            })
    }

    /// Whether the budget ended at a place or before it.
    fn is_past(&self, place: Stop) -> bool {
        self.candidates.ends.are_before(place)
    }

    /// Whether a clause fires; notes its effects.
    fn clause(&mut self, candidate: Candidate<'a>, is_in_scope: bool) -> bool {
        let clause = candidate.clause;
        if !clause.is_enabled {
            return false;
        }
        let entity = match clause.entity {
            Some(definition) => match self.applied(definition) {
                Some(position) => Some(position),
                None => return false,
            },
            None => None,
        };
        let is_past = self.is_past(Stop::expression(candidate.step));
        let holds = is_in_scope && !is_past && self.holds(candidate, entity);
        let window = if holds { self.counted(candidate) } else { Counted::NotCounted };
        let fires = holds && window.is_reached(clause);
        let is_active = !fires && self.is_active(clause, entity);
        if !fires && !is_active {
            return false;
        }
        let mitigation = self.definitions.mitigation(clause);
        if let (true, Some(entity), Some(mitigation)) = (fires, entity, mitigation)
            && mitigation.ttl > 0
            && !self.decision.is_exempt()
        {
            let expires_at = self.decision.time.saturating_add(mitigation.ttl);
            let change = PendingChange::Mitigate { clause: clause.number, expires_at };
            self.decision.change(entity, change);
        }
        self.candidates.recording.add(FIRED_UNITS);
        self.decision.fired.push(FiredClause {
            policy: candidate.policy,
            clause,
            mitigation,
            entity,
            window: window.value(),
            is_active,
        });
        true
    }

    /// Whether the actions and the condition of a clause hold.
    fn holds(&mut self, candidate: Candidate<'a>, entity: Option<usize>) -> bool {
        let clause = candidate.clause;
        if !self.candidates.has_actions(&clause.actions) {
            return false;
        }
        let Some(condition) = clause.condition else { return true };
        let outcome = self.test(condition, entity);
        self.note(outcome, Stop::expression(candidate.step), || candidate.place_of_condition())
    }

    fn test(&mut self, condition: ExpressionId, entity: Option<usize>) -> Outcome {
        match entity.and_then(|position| self.decision.entities.get(position)) {
            Some(entity) => self.conditions.test_for(condition, entity.state),
            None => self.conditions.test(condition),
        }
    }

    /// The count of the window of a clause that holds, with this event.
    fn counted(&mut self, candidate: Candidate<'a>) -> Counted {
        let Some(window) = &candidate.clause.window else { return Counted::NotCounted };
        let field = window.distinct;
        let stop = Stop::window_field(candidate.step);
        if field.is_some() && self.is_past(stop) {
            return Counted::NotCounted;
        }
        match field.map(|field| self.candidates.counted(field, self.conditions)) {
            None | Some(Ok(_)) => {}
            Some(Err(Undecided::BudgetEnded)) => {
                self.candidates.ends.stop(stop);
                return Counted::NotCounted;
            }
            Some(Err(Undecided::Error(code))) => {
                self.add_error(candidate.place_of_window_field(), code);
                return Counted::NotCounted;
            }
        }
        let after = self.counting.partition_point(|it| it.family.family().first <= window.number);
        let counting = after.checked_sub(1).and_then(|place| self.counting.get(place));
        let is_of = |it: &&Counting<'_, '_>| it.family.family().position(window.number).is_some();
        counting.filter(is_of).map_or(Counted::NotCounted, |counting| {
            let inside = counting.peek(window.number, window.rule, self.decision.time, self.hasher);
            Counted::Value(inside.min(window.rule.threshold))
        })
    }

    fn is_active(&self, clause: &Clause, entity: Option<usize>) -> bool {
        entity
            .and_then(|entity| self.block(entity))
            .is_some_and(|block| block.is_mitigated_by(clause.number, self.decision.time))
    }

    /// The block of an entity before the event.
    fn block(&self, entity: usize) -> Option<&'s Entity> {
        self.blocks.get(entity).copied().flatten()
    }

    /// The position of the event's entity of a definition.
    fn applied(&self, definition: u32) -> Option<usize> {
        self.decision.entities.binary_search_by_key(&definition, |entity| entity.definition).ok()
    }

    /// An outcome as a bool; errors and the end of the budget are noted and count as false.
    fn note(&mut self, outcome: Outcome, stop: Stop, place: impl FnOnce() -> Place<'a>) -> bool {
        match outcome {
            Ok(holds) => return holds,
            Err(Undecided::BudgetEnded) => self.candidates.ends.stop(stop),
            Err(Undecided::Error(code)) => self.add_error(place(), code),
        }
        false
    }

    fn add_error(&mut self, place: Place<'a>, code: ErrorCode) {
        self.candidates.recording.add(ERROR_UNITS);
        self.decision.errors.push((place, code));
    }
}

impl<'a> Candidate<'a> {
    fn place_of_condition(self) -> Place<'a> {
        Place::Condition { policy: self.policy, clause: self.index }
    }

    fn place_of_window_field(self) -> Place<'a> {
        Place::WindowField { policy: self.policy, clause: self.index }
    }
}

/// The count of an event by a clause's window.
#[derive(Clone, Copy)]
enum Counted {
    NotCounted,
    Value(u16),
}

impl Counted {
    fn value(self) -> Option<u16> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotCounted => None,
        }
    }

    /// A clause without a window counts as reached.
    fn is_reached(self, clause: &Clause) -> bool {
        clause
            .window
            .as_ref()
            .is_none_or(|window| self.value().is_some_and(|value| value >= window.rule.threshold))
    }
}
