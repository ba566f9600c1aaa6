//! The decision on one event (docs/decision.md).
//!
//! [`decide`] walks the definitions (`walk.rs`) and reads the state from before the
//! event; [`Decision::apply`] then updates the state. An explanation is a decision that isn't
//! applied.

pub mod budget;
pub mod candidates;
pub mod effects;
mod headers;
pub(crate) mod late;
pub mod outcomes;
pub mod record;
pub(crate) mod walk;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use smallvec::SmallVec;

use crate::decision::budget::{Ends, Spent};
use crate::decision::candidates::{Candidates, EventEntity};
use crate::decision::outcomes::{Conditions, EntityState};
use crate::decision::record::entity_id;
use crate::decision::walk::Walk;
use crate::definitions::document::{Mode, OverrideKind};
use crate::definitions::overrides::Override;
use crate::definitions::window_rule::Family;
use crate::definitions::{Clause, Definitions, Fallback, Mitigation, Policy, Response, answers};
use crate::event::client::{Client, Problem};
use crate::proofs::{Shown, Status};
use crate::state::lock::StateGuard;
use crate::state::passes::{PassChange, PassDoes, Passes};
use crate::state::{AllKnown, Change, Known};
use crate::value::address::Address;
use crate::value::error::ErrorCode;
use crate::value::limits::CLOCK_TOLERANCE;
use crate::value::{Text, Timestamp};

/// Clauses that fire on one event without growing their list.
const FEW_FIRED: usize = 16;

/// The time of an event, in nanoseconds from 0.
pub fn event_time(observed_at: Option<Timestamp>, received_at: i64) -> i64 {
    let received_at = received_at.max(0);
    observed_at.map_or(received_at, |Timestamp(observed_at)| {
        let latest = received_at.saturating_add(CLOCK_TOLERANCE);
        i64::try_from(observed_at.max(0)).unwrap_or(i64::MAX).min(latest)
    })
}

/// An entity that applies to the event.
#[derive(Debug)]
pub struct AppliedEntity {
    /// Position of its definition.
    pub definition: u32,
    pub key: String,
    /// Its block before the event, if it had one.
    pub(crate) known: Known,
    pub(crate) state: EntityState,
    changes: ChangesOfEntity,
}

/// The first and last change of one entity in the list of all; each change names the next.
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
    /// The count of the clause's window with this event.
    pub window: Option<u16>,
    /// True if it fired only because its mitigation is still active.
    pub is_active: bool,
}

impl FiredClause<'_> {
    pub fn mode(&self) -> Mode {
        self.mitigation.map_or(Mode::Monitor, |mitigation| mitigation.mode)
    }
}

/// The place of an expression that was an error.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Action { slug: &'a str },
    Match { entity: &'a str },
    KeyField { entity: &'a str, index: usize },
    Scope { policy: &'a Policy },
    Condition { policy: &'a Policy, clause: usize },
    WindowField { policy: &'a Policy, clause: usize },
    Header { mitigation: &'a Mitigation, name: &'a str },
}

/// The reason of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoMatch,
    Policy,
    ActiveMitigation,
    BudgetExceeded,
    ChallengeProof,
    Banned,
    Exempt,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoMatch => "no-match",
            Self::Policy => "policy",
            Self::ActiveMitigation => "active-mitigation",
            Self::BudgetExceeded => "budget-exceeded",
            Self::ChallengeProof => "challenge-proof",
            Self::Banned => "banned",
            Self::Exempt => "exempt",
        }
    }
}

/// A decision on one event, and the changes it makes.
#[derive(Debug)]
pub struct Decision<'a> {
    pub time: i64,
    /// Positions of the actions that matched.
    pub matched_actions: ArenaVec<'a, u32>,
    pub entities: ArenaVec<'a, AppliedEntity>,
    pub fired: ArenaVec<'a, FiredClause<'a>>,
    pub errors: Vec<(Place<'a>, ErrorCode)>,
    /// Where the budget ended.
    pub ends: Ends,
    /// The work it took.
    pub spent: Spent,
    /// The reason why the client that the event names has no address.
    pub client_problem: Option<Problem>,
    /// The address of the client that rules saw, unless the stored event has this text in
    /// `request.client_ip`, or hides where it came from.
    pub client_ip: Option<Address>,
    /// The proof of a challenge that the event shows, with its status.
    pub proof: Option<Shown>,
    /// The override that gives the answer.
    pub(crate) overriding: Option<Overriding<'a>>,
    /// The changes of its pass.
    pub(crate) pass_changes: SmallVec<[PassChange; 2]>,
    on_budget_exceeded: &'a Fallback,
    /// The response with computed headers, where the mitigation has some.
    computed: Option<Response>,
    changes: ArenaVec<'a, Pending<'a>>,
}

/// An override, and its answer.
#[derive(Debug)]
pub(crate) struct Overriding<'a> {
    pub(crate) of: &'a Override,
    response: Response,
}

impl<'a> Overriding<'a> {
    fn new(of: &'a Override, received_at: i64) -> Self {
        let response = match of.kind {
            OverrideKind::Ban => {
                Response::Block(answers::ban_action(of.seconds_left(received_at)).into())
            }
            OverrideKind::Allow => Response::None,
        };
        Self { of, response }
    }
}

/// A change, and where the next one for the same entity is.
#[derive(Debug)]
struct Pending<'a> {
    change: PendingChange<'a>,
    next: usize,
}

/// A [`Change`] with the values it counts.
#[derive(Debug)]
pub(crate) enum PendingChange<'a> {
    Count { family: Family<'a>, value: Option<Text<'a>> },
    CountOne { family: Family<'a>, position: usize, value: Option<Text<'a>> },
    Mitigate { clause: u32, expires_at: i64 },
}

impl PendingChange<'_> {
    fn change(&self) -> Change<'_> {
        match self {
            Self::Count { family, value } => {
                Change::Count { family: *family, value: value.as_deref() }
            }
            Self::CountOne { family, position, value } => {
                Change::CountOne { family: *family, position: *position, value: value.as_deref() }
            }
            Self::Mitigate { clause, expires_at } => {
                Change::Mitigate { clause: *clause, expires_at: *expires_at }
            }
        }
    }
}

impl<'a> Decision<'a> {
    /// The first fired clause that challenges or blocks; None if an override answers, or a proof
    /// lets the event through.
    ///
    /// After a revoked pass a Block comes before Challenges, since one more solution would lead to
    /// it again.
    pub fn answer(&self) -> Option<&FiredClause<'a>> {
        if self.overriding.is_some() || self.is_proven() {
            return None;
        }
        let is_revoked = self.proof.is_some_and(|proof| proof.status == Status::Revoked);
        let block = self.fired.iter().find(|fired| is_revoked && fired.mode() == Mode::Block);
        block.or_else(|| self.fired.iter().find(|fired| fired.mode() != Mode::Monitor))
    }

    /// Whether the event shows a valid proof, which is the answer.
    fn is_proven(&self) -> bool {
        self.proof.is_some_and(|proof| proof.status == Status::Valid)
    }

    /// Whether an override lets the event through.
    pub(crate) fn is_exempt(&self) -> bool {
        self.overriding.as_ref().is_some_and(|it| it.of.kind == OverrideKind::Allow)
    }

    /// Whether a Block fired, or the answer past the budget would be a block; never while exempt.
    fn blocks(&self) -> bool {
        let mut modes = self.fired.iter().map(FiredClause::mode);
        let falls_back = self.ends.are_any() && modes.clone().all(|mode| mode == Mode::Monitor);
        let is_blocked = falls_back && self.on_budget_exceeded.mode == Some(Mode::Block);
        !self.is_exempt() && (is_blocked || modes.any(|mode| mode == Mode::Block))
    }

    /// Takes the proofs that an event shows, received at a time, before it is applied: the first
    /// that is valid counts, else the first.
    pub(crate) fn show(&mut self, proofs: &[Shown], passes: &Passes, at: i64) {
        let mut found = proofs.iter().map(|proof| settled(*proof, passes));
        let first = found.next();
        let is_valid = |proof: &Shown| proof.status == Status::Valid;
        let counts = first.filter(is_valid).or_else(|| found.find(is_valid)).or(first);
        if let Some(Shown { status: Status::Valid, claim: Some(claim) }) = counts {
            let known = passes.get(claim.pass_id);
            let is_known = known.is_some_and(|pass| pass.moved_to.is_some());
            let moves = (claim.is_moved && !is_known).then_some(PassDoes::Move(claim.network));
            let revokes = self.blocks().then_some(PassDoes::Revoke);
            let (pass_id, expires_at) = (claim.pass_id, claim.expires_at);
            let changes = moves.into_iter().chain(revokes);
            let changes = changes.map(|does| PassChange { pass_id, at, expires_at, does });
            self.pass_changes = changes.collect();
        }
        self.proof = counts;
    }

    /// The answer if the budget ended and no clause gave one.
    fn fallback(&self) -> Option<&'a Fallback> {
        (self.reason() == Reason::BudgetExceeded).then_some(self.on_budget_exceeded)
    }

    /// The mode of the answer: an override's, the mitigation's, or the fallback's where the budget
    /// ended.
    pub fn mode(&self) -> Option<Mode> {
        if let Some(overriding) = &self.overriding {
            return (overriding.of.kind == OverrideKind::Ban).then_some(Mode::Block);
        }
        let answer = self.answer().map(FiredClause::mode);
        answer.or_else(|| self.fallback().and_then(|fallback| fallback.mode))
    }

    /// Whether a clause with a mitigation fired, including one that monitors.
    pub fn is_mitigated(&self) -> bool {
        self.fired.iter().any(|fired| fired.mitigation.is_some())
    }

    /// The response to the caller.
    pub(crate) fn response(&self) -> &Response {
        if let Some(overriding) = &self.overriding {
            return &overriding.response;
        }
        if let Some(computed) = &self.computed {
            return computed;
        }
        let mitigation = self.answer().and_then(|fired| fired.mitigation);
        let fallback = self.fallback().map(|fallback| &fallback.response);
        mitigation.map(|mitigation| &mitigation.response).or(fallback).unwrap_or(&Response::None)
    }

    pub fn reason(&self) -> Reason {
        if let Some(overriding) = &self.overriding {
            return match overriding.of.kind {
                OverrideKind::Ban => Reason::Banned,
                OverrideKind::Allow => Reason::Exempt,
            };
        }
        if self.is_proven() {
            return Reason::ChallengeProof;
        }
        match self.answer() {
            None if self.ends.are_any() => Reason::BudgetExceeded,
            None => Reason::NoMatch,
            Some(fired) if fired.is_active => Reason::ActiveMitigation,
            Some(_) => Reason::Policy,
        }
    }

    /// Updates the state with the event.
    pub fn apply(&self, state: &mut StateGuard<'_>) {
        for (position, entity) in self.entities.iter().enumerate() {
            state.update(&entity.key, Some(entity.known), self.time, self.changes_of(position));
        }
    }

    /// Its changes of the entity at a position, mitigations in the order of clauses.
    pub(crate) fn changes_of(&self, position: usize) -> impl Iterator<Item = Change<'_>> + Clone {
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

    pub(crate) fn change(&mut self, position: usize, change: PendingChange<'a>) {
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

/// Checks a proof against the state of its pass. A proof that is no longer valid is unchanged.
fn settled(proof: Shown, passes: &Passes) -> Shown {
    let Shown { status: Status::Valid, claim: Some(claim) } = proof else { return proof };
    let Some(pass) = passes.get(claim.pass_id) else { return proof };
    let is_elsewhere = claim.is_moved && pass.moved_to.is_some_and(|it| it != claim.network);
    let status = match (pass.is_revoked, is_elsewhere) {
        (true, _) => Status::Revoked,
        (false, true) => Status::OtherClient,
        (false, false) => Status::Valid,
    };
    Shown { status, ..proof }
}

/// Decides on one event that counts at `time`; the state stays as it is.
pub fn decide<'a>(
    definitions: &'a Definitions,
    conditions: &mut Conditions<'a, '_>,
    mut candidates: Candidates<'a>,
    (state, known): (&StateGuard<'_>, AllKnown),
    (time, received_at): (i64, i64),
    arena: &'a Bump,
) -> Decision<'a> {
    let mut entities = ArenaVec::with_capacity_in(known.len(), arena);
    let seen = candidates.entities.drain(..).zip(known);
    entities.extend(seen.map(|(entity, known)| applied(entity, known, state, time)));
    let client = conditions.record().client();
    let overriding = definitions.overrides.as_ref().and_then(|overrides| {
        let ids = entities.iter().map(|entity: &AppliedEntity| entity_id(definitions, &entity.key));
        overrides.find(client.and_then(Client::address), ids, received_at)
    });
    let decision = Decision {
        time,
        matched_actions: ArenaVec::new_in(arena),
        entities,
        fired: ArenaVec::with_capacity_in(FEW_FIRED, arena),
        errors: std::mem::take(&mut candidates.errors),
        ends: Ends::default(),
        spent: Spent::default(),
        client_problem: client.and_then(Client::problem).filter(|it| it.is_noted()),
        client_ip: None,
        proof: None,
        overriding: overriding.map(|of| Overriding::new(of, received_at)),
        pass_changes: SmallVec::new(),
        on_budget_exceeded: &definitions.on_budget_exceeded,
        computed: None,
        changes: ArenaVec::with_capacity_in(candidates.groups.len(), arena),
    };
    Walk::new(definitions, conditions, candidates, state, decision, arena).end()
}

fn applied(entity: EventEntity, known: Known, state: &StateGuard<'_>, time: i64) -> AppliedEntity {
    let EventEntity { definition, key, .. } = entity;
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
