//! The decision on one event (docs/decision.md).
//!
//! [`decide`] walks the definitions and looks at the state as it was before the
//! event; [`Decision::apply`] then makes of it the state after. An explanation is a
//! decision that is not applied.

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::bundle::Mode;
use crate::conditions::{Conditions, EntityState};
use crate::definitions::{Clause, Definitions, Mitigation, Policy};
use crate::entity::Entity;
use crate::error::ErrorCode;
use crate::locked::Locked;
use crate::plan::Step;
use crate::state::{AllKnown, Change, Known};
use crate::survey::{EventEntity, Survey};
use crate::value::{Text, Timestamp};
use crate::window::{Rule, Window};

/// How far an event may be ahead of the time it was received: clocks differ.
const TOLERANCE: i64 = 300_000_000_000;

/// Entities of an event without memory on the heap.
const FEW_ENTITIES: usize = 8;

/// Clauses that fire on one event without growing their list.
const FEW_FIRED: usize = 16;

/// The time of an event, in nanoseconds from 0.
pub fn event_time(observed_at: Option<Timestamp>, received_at: i64) -> i64 {
    let received_at = received_at.max(0);
    observed_at.map_or(received_at, |Timestamp(observed_at)| {
        let latest = received_at.saturating_add(TOLERANCE);
        i64::try_from(observed_at.max(0)).unwrap_or(i64::MAX).min(latest)
    })
}

/// An entity that applies to the event.
#[derive(Debug)]
pub struct AppliedEntity {
    /// Position of its definition.
    pub definition: u32,
    pub key: String,
    /// Where its block was before the event, if it had one.
    known: Known,
    state: EntityState,
    changes: ChangesOfEntity,
}

/// Where the changes for one entity stand among all: each leads to the next.
#[derive(Clone, Copy, Debug, Default)]
struct ChangesOfEntity {
    len: usize,
    first: usize,
    last: usize,
}

/// A clause that fired.
#[derive(Debug)]
pub struct FiredClause<'a> {
    pub policy: &'a Policy,
    pub clause: &'a Clause,
    pub mitigation: Option<&'a Mitigation>,
    /// Position in [`Decision::entities`].
    pub entity: Option<usize>,
    /// What the clause's window held with this event counted.
    pub window: Option<u16>,
    /// It fired only because its mitigation is still active.
    pub is_active: bool,
}

impl FiredClause<'_> {
    pub fn mode(&self) -> Mode {
        self.mitigation.map_or(Mode::Monitor, |mitigation| mitigation.mode)
    }
}

/// Where an expression that was an error stands.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Action { slug: &'a str },
    Match { entity: &'a str },
    KeyField { entity: &'a str, index: usize },
    Scope { policy: &'a str },
    Condition { policy: &'a str, clause: usize },
    WindowField { policy: &'a str, clause: usize },
}

/// Why the answer is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoMatch,
    Policy,
    ActiveMitigation,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoMatch => "no-match",
            Self::Policy => "policy",
            Self::ActiveMitigation => "active-mitigation",
        }
    }
}

/// What was decided on one event, and what it changes.
#[derive(Debug)]
pub struct Decision<'a> {
    pub time: i64,
    /// Positions of the actions that matched.
    pub matched_actions: ArenaVec<'a, u32>,
    pub entities: ArenaVec<'a, AppliedEntity>,
    pub fired: ArenaVec<'a, FiredClause<'a>>,
    pub errors: Vec<(Place<'a>, ErrorCode)>,
    changes: ArenaVec<'a, Pending<'a>>,
}

/// A change, and where the next one for the same entity is.
#[derive(Debug)]
struct Pending<'a> {
    change: PendingChange<'a>,
    next: usize,
}

#[derive(Debug)]
enum PendingChange<'a> {
    Count { clause: u32, rule: Rule },
    CountValue { clause: u32, rule: Rule, value: Text<'a> },
    Mitigate { clause: u32, expires_at: i64 },
}

impl PendingChange<'_> {
    fn change(&self) -> Change<'_> {
        match self {
            Self::Count { clause, rule } => Change::Count { clause: *clause, rule: *rule },
            Self::CountValue { clause, rule, value } => {
                Change::CountValue { clause: *clause, rule: *rule, value }
            }
            Self::Mitigate { clause, expires_at } => {
                Change::Mitigate { clause: *clause, expires_at: *expires_at }
            }
        }
    }
}

impl<'a> Decision<'a> {
    /// The first fired clause that challenges or blocks.
    pub fn answer(&self) -> Option<&FiredClause<'a>> {
        self.fired.iter().find(|fired| fired.mode() != Mode::Monitor)
    }

    pub fn reason(&self) -> Reason {
        match self.answer() {
            None => Reason::NoMatch,
            Some(fired) if fired.is_active => Reason::ActiveMitigation,
            Some(_) => Reason::Policy,
        }
    }

    /// Makes of the state before the event the state after it.
    pub fn apply(&self, state: &mut Locked<'_>) {
        for (position, entity) in self.entities.iter().enumerate() {
            state.update(&entity.key, Some(entity.known), self.time, self.changes_of(position));
        }
    }

    /// What it changes for the entity at a position, in the order of clauses.
    pub(crate) fn changes_of(&self, position: usize) -> impl Iterator<Item = Change<'_>> {
        let entity = self.entities.get(position);
        let ChangesOfEntity { len, first, .. } =
            entity.map_or_else(Default::default, |entity| entity.changes);
        let mut next = first;
        (0..len).map_while(move |_| {
            let pending = self.changes.get(next)?;
            next = pending.next;
            Some(pending.change.change())
        })
    }

    fn change(&mut self, position: usize, change: PendingChange<'a>) {
        let Some(entity) = self.entities.get_mut(position) else { return };
        let place = self.changes.len();
        let ChangesOfEntity { len, first, last } = &mut entity.changes;
        if *len == 0 {
            *first = place;
        } else if let Some(before) = self.changes.get_mut(*last) {
            before.next = place;
        }
        *last = place;
        *len = len.saturating_add(1);
        self.changes.push(Pending { change, next: place });
    }
}

/// Decides on one event at `time`; the state stays as it is.
pub fn decide<'a>(
    definitions: &'a Definitions,
    conditions: &mut Conditions<'a, '_>,
    mut survey: Survey<'a>,
    (state, known): (&Locked<'_>, AllKnown),
    time: i64,
    arena: &'a Bump,
) -> Decision<'a> {
    state.read_ahead(&known);
    let mut entities = ArenaVec::with_capacity_in(known.len(), arena);
    let seen = survey.entities.drain(..).zip(known);
    entities.extend(seen.map(|(entity, known)| applied(entity, known, state, time)));
    let decision = Decision {
        time,
        matched_actions: ArenaVec::new_in(arena),
        entities,
        fired: ArenaVec::with_capacity_in(FEW_FIRED, arena),
        errors: std::mem::take(&mut survey.errors),
        changes: ArenaVec::with_capacity_in(survey.steps.len(), arena),
    };
    let blocks = decision.entities.iter().map(|entity| state.get(entity.known)).collect();
    let near = SmallVec::from_elem(0, decision.entities.len());
    let mut walk =
        Walk { definitions, conditions, survey, hasher: state.hasher(), blocks, near, decision };
    walk.visit_mitigations();
    walk.policies();
    let Walk { survey, mut decision, .. } = walk;
    decision.matched_actions = survey.matched_actions;
    decision
}

fn applied(entity: EventEntity, known: Known, state: &Locked<'_>, time: i64) -> AppliedEntity {
    let EventEntity { definition, key } = entity;
    let unseen = EntityState { event_count: 0, first_seen: time, last_seen: time };
    let block = state.get(known);
    AppliedEntity {
        definition,
        key,
        known,
        state: block.map_or(unseen, |block| EntityState {
            event_count: block.event_count(),
            first_seen: block.first_seen(),
            last_seen: block.last_seen(),
        }),
        changes: ChangesOfEntity::default(),
    }
}

/// The walk through the definitions for one event.
struct Walk<'a, 'c, 'k, 's> {
    definitions: &'a Definitions,
    conditions: &'c mut Conditions<'a, 'k>,
    survey: Survey<'a>,
    hasher: &'s RandomState,
    /// By entity, its block before the event.
    blocks: SmallVec<[Option<&'s Entity>; FEW_ENTITIES]>,
    /// By entity, the place of the window that was asked for last.
    near: SmallVec<[usize; FEW_ENTITIES]>,
    decision: Decision<'a>,
}

/// A clause at its place.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    policy: &'a Policy,
    clause: &'a Clause,
    index: usize,
}

impl<'a, 's> Walk<'a, '_, '_, 's> {
    /// Adds the clauses that mitigate an entity of the event.
    fn visit_mitigations(&mut self) {
        let known = self.survey.steps.len();
        for position in 0..self.decision.entities.len() {
            let mitigations = self.block(position).map_or(&[][..], Entity::mitigations);
            let definitions = self.definitions;
            let places = mitigations.iter().filter_map(|mitigation| {
                definitions.clause_places.get(usize::try_from(mitigation.clause).ok()?)
            });
            let steps = places.map(|&(policy, clause)| Step::clause(policy, clause));
            self.survey.steps.extend(steps);
        }
        if self.survey.steps.len() > known {
            // Of runs in order, which this sort makes use of.
            self.survey.steps.sort();
            self.survey.steps.dedup();
        }
    }

    fn policies(&mut self) {
        let definitions = self.definitions;
        let arena = self.survey.steps.bump();
        let steps = std::mem::replace(&mut self.survey.steps, ArenaVec::new_in(arena));
        let (mut visited, mut is_in_scope) = (None, true);
        for step in steps {
            let position = step.policy();
            let Some(policy) = definitions.policy(position) else { continue };
            if visited != Some(position) {
                visited = Some(position);
                is_in_scope = self.scope(policy);
            }
            let index = step.clause_position().and_then(|clause| usize::try_from(clause).ok());
            let Some((index, clause)) =
                index.zip(index.and_then(|index| policy.clauses.get(index)))
            else {
                continue;
            };
            let has_fired = self.clause(Candidate { policy, clause, index }, is_in_scope);
            if has_fired && clause.is_final {
                return;
            }
        }
    }

    fn scope(&mut self, policy: &'a Policy) -> bool {
        policy.scope.is_none_or(|scope| {
            let outcome = self.conditions.test(scope);
            self.note(outcome, || Place::Scope { policy: &policy.slug })
        })
    }

    /// Whether a clause fires; notes what it does.
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
        let holds = is_in_scope && self.holds(candidate, entity);
        let window = if holds { self.count(candidate, entity) } else { Counted::NotCounted };
        let fires = holds && window.is_reached(clause);
        let is_active = !fires && self.is_active(clause, entity);
        if !fires && !is_active {
            return false;
        }
        let mitigation = self.definitions.mitigation(clause);
        if let (true, Some(entity), Some(mitigation)) = (fires, entity, mitigation)
            && mitigation.ttl > 0
        {
            let expires_at = self.decision.time.saturating_add(mitigation.ttl);
            let change = PendingChange::Mitigate { clause: clause.number, expires_at };
            self.decision.change(entity, change);
        }
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
        if !self.survey.has_actions(clause) {
            return false;
        }
        let Some(condition) = clause.condition else { return true };
        let state = entity.and_then(|position| self.decision.entities.get(position));
        let outcome = match state {
            Some(entity) => self.conditions.test_for(condition, entity.state),
            None => self.conditions.test(condition),
        };
        self.note(outcome, || candidate.place_of_condition())
    }

    /// What the window of a clause holds with this event, which is to be counted.
    fn count(&mut self, candidate: Candidate<'a>, entity: Option<usize>) -> Counted {
        let (Some(window), Some(position)) = (&candidate.clause.window, entity) else {
            return Counted::NotCounted;
        };
        let (clause, rule) = (candidate.clause.number, window.rule);
        let Some(field) = window.distinct else {
            let time = self.decision.time;
            let value = self.window(position, clause).map_or(1, |window| window.peek(rule, time));
            self.decision.change(position, PendingChange::Count { clause, rule });
            return Counted::Value(value);
        };
        let value = match self.survey.counted(field, self.conditions) {
            Ok(text) => text,
            Err(code) => {
                self.decision.errors.push((candidate.place_of_window_field(), code));
                return Counted::NotCounted;
            }
        };
        let (time, hasher) = (self.decision.time, self.hasher);
        let count = self
            .window(position, clause)
            .map_or(1, |window| window.peek_value(rule, time, &value, hasher));
        let change = PendingChange::CountValue { clause, rule, value };
        self.decision.change(position, change);
        Counted::Value(count)
    }

    /// The window of a clause, which comes after that of the last call for the entity.
    fn window(&mut self, entity: usize, clause: u32) -> Option<&'s Window> {
        let block = self.block(entity)?;
        block.window_after(self.near.get_mut(entity)?, clause)
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

    /// An outcome as a bool; an error is noted and false.
    fn note(
        &mut self,
        outcome: Result<bool, ErrorCode>,
        place: impl FnOnce() -> Place<'a>,
    ) -> bool {
        outcome.unwrap_or_else(|code| {
            self.decision.errors.push((place(), code));
            false
        })
    }
}

impl<'a> Candidate<'a> {
    fn place_of_condition(self) -> Place<'a> {
        Place::Condition { policy: &self.policy.slug, clause: self.index }
    }

    fn place_of_window_field(self) -> Place<'a> {
        Place::WindowField { policy: &self.policy.slug, clause: self.index }
    }
}

/// Whether and how far a clause's window counted the event.
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

    /// A clause without a window has none to reach.
    fn is_reached(self, clause: &Clause) -> bool {
        clause
            .window
            .as_ref()
            .is_none_or(|window| self.value().is_some_and(|value| value >= window.rule.threshold))
    }
}
