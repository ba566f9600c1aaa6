//! An active definition set: events in, decisions out, state kept. Threads share
//! one engine.

pub mod inspect;
pub mod late;
pub mod successor;

use std::cell::Cell;
use std::sync::Arc;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use tidegate_proof::{Client, Keys};

use crate::decision::budget::{Budget, Spent};
use crate::decision::candidates::Candidates;
use crate::decision::outcomes::{Conditions, KnownOutcomes};
use crate::decision::{Decision, decide, effects, event_time, record};
use crate::definitions::Definitions;
use crate::definitions::candidates_index::IndexCandidates;
use crate::definitions::document::Mode;
use crate::engine::successor::{Followers, Journal};
use crate::event::client::geo::AddressDatabases;
use crate::event::encode::{Settings, encode};
use crate::event::field::Member;
use crate::event::layout::Layout;
use crate::event::locate::locate;
use crate::event::strictness::Strictness;
use crate::event::user_agent::UserAgents;
use crate::event::{self, RawEvent};
use crate::proofs::{AllShown, Slots};
use crate::state::frozen::FrozenState;
use crate::state::lock::StateGuard;
use crate::state::snapshot::SnapshotError;
use crate::state::{AllKnown, Evictions, PassesGuard, StampBlock, State, snapshot};
use crate::value::error::EventError;
use crate::value::limits::Limits;

/// A scratch whose arena has grown past this is dropped.
const KEPT_ARENA_BYTES: usize = 1024 * 1024;

/// A source of events: JSON text, or another form of it.
pub trait EventSource {
    type Error;

    /// Reads the members that the layout needs.
    ///
    /// # Errors
    /// The input isn't an event.
    fn read<'a>(
        &'a self,
        layout: &Layout,
        arena: &'a Bump,
        limits: &Limits,
    ) -> Result<RawEvent<'a>, Self::Error>;

    /// An error of the encoder as an error of this source.
    fn refused(&self, error: EventError) -> Self::Error;
}

impl EventSource for [u8] {
    type Error = EventError;

    fn read<'a>(
        &'a self,
        layout: &Layout,
        arena: &'a Bump,
        limits: &Limits,
    ) -> Result<RawEvent<'a>, EventError> {
        event::read(self, layout, arena, limits)
    }

    fn refused(&self, error: EventError) -> EventError {
        error
    }
}

impl EventSource for RawEvent<'_> {
    type Error = EventError;

    fn read<'a>(&'a self, _: &Layout, _: &'a Bump, _: &Limits) -> Result<RawEvent<'a>, EventError> {
        Ok(self.clone())
    }

    fn refused(&self, error: EventError) -> EventError {
        error
    }
}

/// Statistics of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    pub keys: usize,
    pub max_keys: usize,
    pub evictions: Evictions,
}

/// Memory that an event needs while it is decided, used again for the next.
#[derive(Debug, Default)]
struct Scratch {
    arena: Bump,
    outcomes: KnownOutcomes,
    from_index: IndexCandidates,
}

thread_local! {
    /// Shared by all engines, since none reads an earlier event's data. Empty while in use.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Data about a decision that the caller already has: the places where its budget ended, and the
/// proofs of challenges that its event shows. The engine finds the rest.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub budget: Budget,
    /// If given, no proof is read from the event.
    pub proofs: Option<AllShown>,
}

/// A decision that is not yet applied; the state of its entities stays locked for it.
pub struct Decided<'a, 's> {
    decision: Decision<'a>,
    /// Set if the event shows a proof.
    passes: Option<PassesGuard<'s>>,
    /// The client that may solve a challenge.
    pub challenged: Option<Client>,
    return_url: Option<&'a str>,
    /// `request.path` as received.
    pub path: Option<&'a str>,
    state: StateGuard<'s>,
}

/// Data other than the event that fields are computed from.
#[derive(Default)]
pub struct ReferenceData {
    pub user_agents: Option<&'static UserAgents>,
    pub databases: Option<Arc<AddressDatabases>>,
}

impl ReferenceData {
    /// The same databases, for definitions that may read user agents or not.
    pub(crate) fn with_user_agents(&self, user_agents: Option<&'static UserAgents>) -> Self {
        Self { user_agents, databases: self.databases.clone() }
    }
}

/// An engine: definitions and the state of the traffic.
pub struct Engine {
    definitions: Definitions,
    reference_data: ReferenceData,
    state: State,
    /// The journal of the engine whose state it took over.
    inherited: Option<Arc<Journal>>,
    followers: Followers,
    strictness: Strictness,
    /// Without keys no proof is read.
    proof_keys: Option<Arc<Keys>>,
}

impl Engine {
    /// An engine with empty state.
    pub fn new(definitions: Definitions, reference_data: ReferenceData) -> Self {
        // No decision is to wait for it.
        definitions.index();
        let state = State::new(definitions.max_keys, RandomState::default());
        Self {
            definitions,
            reference_data,
            state,
            inherited: None,
            followers: Followers::default(),
            strictness: Strictness::Any,
            proof_keys: None,
        }
    }

    /// An engine that goes on with the state of another.
    pub(crate) fn inheriting(
        definitions: Definitions,
        reference_data: ReferenceData,
        state: State,
        journal: Arc<Journal>,
    ) -> Self {
        let engine = Self::new(definitions, reference_data);
        Self { state, inherited: Some(journal), ..engine }
    }

    /// The same engine with another strictness for events.
    pub fn with_strictness(self, strictness: Strictness) -> Self {
        Self { strictness, ..self }
    }

    /// The same engine with keys that verify proofs of challenges.
    pub fn with_proof_keys(self, proof_keys: Option<Arc<Keys>>) -> Self {
        Self { proof_keys, ..self }
    }

    pub fn proof_keys(&self) -> Option<&Arc<Keys>> {
        self.proof_keys.as_ref()
    }

    pub fn strictness(&self) -> Strictness {
        self.strictness
    }

    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The text of an event that states where its client is: see [`locate`].
    ///
    /// # Arguments
    /// * `body` - the text of the event.
    /// * `event` - the event, as it was read of the text by the definitions' layout.
    /// * `databases` - instead of the engine's own, which say it without stating it.
    pub fn locate<'a>(
        &self,
        body: &'a [u8],
        event: &mut RawEvent<'a>,
        databases: Option<&AddressDatabases>,
        arena: &'a Bump,
    ) -> Option<&'a [u8]> {
        let Definitions { layout, trusted_proxies, limits, .. } = &self.definitions;
        let settings = Settings { trusted_proxies, databases, user_agents: None, limits };
        locate(body, event, layout, settings, arena)
    }

    pub(crate) fn reference_data(&self) -> &ReferenceData {
        &self.reference_data
    }

    pub(crate) fn followers(&self) -> &Followers {
        &self.followers
    }

    /// Decides on an event and counts it. Gives the answer to the caller, as JSON.
    ///
    /// # Errors
    /// The input isn't an event; nothing was counted.
    pub fn answer<S>(&self, source: &S, received_at: i64) -> Result<String, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided(source, received_at, |decided| {
            let (decision, return_url) = self.apply(decided);
            let mut text = String::with_capacity(128);
            record::answer(&mut text, &decision, return_url);
            text
        })
    }

    /// Decides on events in order and counts them, as [`Engine::answer`] does on each.
    /// Others may decide between two of them. Answers that are the same in a row share a text.
    pub fn answer_batch(
        &self,
        events: &[&[u8]],
        received_at: i64,
    ) -> Vec<Result<Arc<str>, EventError>> {
        let (mut text, mut last) = (String::new(), Arc::<str>::default());
        let mut stamps = StampBlock::of_a_batch();
        let answers = events.iter().map(|event| {
            text.clear();
            self.decided_with(*event, (received_at, Given::default()), &mut stamps, |decided| {
                let (decision, return_url) = self.apply(decided);
                record::answer(&mut text, &decision, return_url);
            })?;
            if *last != *text {
                last = Arc::from(&*text);
            }
            Ok(last.clone())
        });
        answers.collect()
    }

    /// Decides on an event and counts it. Gives the whole record, as JSON.
    ///
    /// # Errors
    /// As [`Engine::answer`].
    pub fn record<S>(&self, source: &S, received_at: i64, given: Given) -> Result<String, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided_within(source, (received_at, given), |decided| {
            let (decision, return_url) = self.apply(decided);
            record::record(&self.definitions, &decision, return_url)
        })
    }

    /// The record that an event would get now. Nothing is counted.
    ///
    /// # Errors
    /// The input isn't an event.
    pub fn peek<S>(&self, source: &S, received_at: i64, given: Given) -> Result<String, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided_within(
            source,
            (received_at, given),
            |Decided { decision, return_url, state, .. }| {
                drop(state);
                record::record(&self.definitions, &decision, return_url)
            },
        )
    }

    /// The work that a decision would take now. Nothing is counted in the state.
    ///
    /// # Errors
    /// The input isn't an event.
    pub fn work_of<S>(&self, source: &S, received_at: i64) -> Result<Spent, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided(source, received_at, |Decided { decision, .. }| decision.spent)
    }

    /// A snapshot of only an event's entities and the pass it shows.
    ///
    /// # Errors
    /// The input isn't an event.
    pub fn entity_states<S>(
        &self,
        source: &S,
        received_at: i64,
        given: Given,
    ) -> Result<String, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided_within(source, (received_at, given), |decided| {
            let Decided { decision, passes, state, .. } = decided;
            let claim = decision.proof.and_then(|proof| proof.claim);
            let shown = passes.zip(claim).map(|(passes, it)| passes.get().only(it.pass_id));
            let keys = decision.entities.iter().map(|entity| state.find(&entity.key));
            let blocks = keys.filter_map(|known| state.get(known));
            let about = (state.evictions(), &shown.unwrap_or_default());
            snapshot::save_entities(&self.definitions, about, blocks)
        })
    }

    /// The whole state as JSON.
    pub fn snapshot(&self) -> String {
        snapshot::save(&self.definitions, &self.state())
    }

    /// Replaces the state by a snapshot.
    ///
    /// # Errors
    /// It isn't a snapshot of this version and tenant; the state is unchanged.
    pub fn restore(&self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let hasher = self.state.hasher().clone();
        let state = snapshot::restore(&self.definitions, bytes, hasher)?;
        let before = self.state().exchange(state);
        drop(before);
        Ok(())
    }

    /// Takes the state and leaves an empty one, since dropping a large state takes time.
    pub fn take_state(&self) -> State {
        let empty = State::new(self.definitions.max_keys, self.state.hasher().clone());
        self.state().exchange(empty)
    }

    /// A copy of the state as it is now, without walking through it.
    pub fn freeze(&self) -> FrozenState {
        self.state().freeze()
    }

    /// A copy of the state as JSON.
    pub fn save(&self, frozen: &FrozenState) -> String {
        let about = (frozen.evictions(), &**frozen.passes());
        snapshot::save_entities(&self.definitions, about, frozen.iter())
    }

    /// A copy of the state as JSON, in pieces.
    ///
    /// # Errors
    /// The error of `take` for a piece.
    pub fn write<E>(
        &self,
        frozen: &FrozenState,
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let about = (frozen.evictions(), &**frozen.passes());
        snapshot::write_entities(&self.definitions, about, frozen.iter(), take)
    }

    pub fn stats(&self) -> Stats {
        let state = self.state();
        Stats { keys: state.len(), max_keys: state.max_keys(), evictions: state.evictions() }
    }

    pub fn decided<S, T>(
        &self,
        source: &S,
        received_at: i64,
        finish: impl FnOnce(Decided<'_, '_>) -> T,
    ) -> Result<T, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided_within(source, (received_at, Given::default()), finish)
    }

    pub fn decided_within<S, T>(
        &self,
        source: &S,
        within: (i64, Given),
        finish: impl FnOnce(Decided<'_, '_>) -> T,
    ) -> Result<T, S::Error>
    where
        S: EventSource + ?Sized,
    {
        self.decided_with(source, within, &mut StampBlock::default(), finish)
    }

    fn decided_with<S, T>(
        &self,
        source: &S,
        within: (i64, Given),
        stamps: &mut StampBlock,
        finish: impl FnOnce(Decided<'_, '_>) -> T,
    ) -> Result<T, S::Error>
    where
        S: EventSource + ?Sized,
    {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let Scratch { arena, outcomes, from_index } = &mut *scratch;
        let memory = (outcomes, from_index, stamps);
        let result = self.decide_in(arena, memory, source, within, finish);
        arena.reset();
        if arena.allocated_bytes() <= KEPT_ARENA_BYTES {
            SCRATCH.set(Some(scratch));
        }
        result
    }

    fn decide_in<'a, S, T>(
        &'a self,
        arena: &'a Bump,
        (outcomes, from_index, stamps): (&mut KnownOutcomes, &mut IndexCandidates, &mut StampBlock),
        source: &'a S,
        (received_at, Given { budget, proofs }): (i64, Given),
        finish: impl FnOnce(Decided<'a, '_>) -> T,
    ) -> Result<T, S::Error>
    where
        S: EventSource + ?Sized,
    {
        let definitions = &self.definitions;
        let event = source.read(&definitions.layout, arena, &definitions.limits)?;
        if let Some(error) = self.strictness.refusal(&event) {
            return Err(source.refused(error));
        }
        let settings = Settings {
            trusted_proxies: &definitions.trusted_proxies,
            databases: self.reference_data.databases.as_deref(),
            user_agents: self.reference_data.user_agents,
            limits: &definitions.limits,
        };
        let record = encode(&event, &definitions.layout, arena, settings)
            .map_err(|error| source.refused(error))?;
        let times = (event_time(event.observed_at, received_at), received_at.max(0));
        let reads = self.proof_keys.as_deref().zip(definitions.proof_slots.as_ref());
        let shown = |(keys, slots): (&Keys, &Slots)| slots.shown(keys, &record, received_at);
        let proofs = proofs.or_else(|| reads.map(shown)).unwrap_or_default();
        let mut conditions = Conditions::new(definitions, record, outcomes);
        let candidates = Candidates::new(definitions, &mut conditions, from_index, budget, arena);
        let (state, known) = self.look_up(&candidates, stamps);
        let mut decision =
            decide(definitions, &mut conditions, candidates, (&state, known), times, arena);
        decision.client_ip = conditions
            .record()
            .client_address()
            .and_then(|address| definitions.kept_client(event.member(Member::ClientIp), address));
        let passes = (!proofs.is_empty()).then(|| self.state.passes());
        if let Some(passes) = &passes {
            decision.show(&proofs, passes.get(), received_at.max(0));
        }
        decision.compute_headers(definitions, &conditions);
        let challenged = reads.filter(|_| decision.mode() == Some(Mode::Challenge));
        let challenged = challenged.map(|(keys, slots)| slots.client(keys, conditions.record()));
        let path = event.member(Member::Path);
        let return_url = event.return_url;
        Ok(finish(Decided { decision, passes, challenged, return_url, path, state }))
    }

    /// Applies a decision and unlocks the state.
    pub fn apply<'a>(&self, decided: Decided<'a, '_>) -> (Decision<'a>, Option<&'a str>) {
        let Decided { decision, return_url, mut state, mut passes, .. } = decided;
        decision.apply(&mut state);
        if let Some(passes) = &mut passes {
            decision.pass_changes.iter().for_each(|change| passes.apply(change));
        }
        self.followers.tell(|| effects::written(&self.definitions, &decision));
        (decision, return_url)
    }

    /// The state of the entities of an event.
    fn look_up(
        &self,
        candidates: &Candidates<'_>,
        stamps: &mut StampBlock,
    ) -> (StateGuard<'_>, AllKnown) {
        let keys = candidates.entities.iter().map(|entity| &*entity.key);
        loop {
            let found = self.state.look_up(keys.clone(), stamps);
            if !self.inherited.as_ref().is_some_and(|journal| journal.has_entries()) {
                return found;
            }
            drop(found);
            drop(self.state());
            stamps.forget();
        }
    }

    /// The whole state.
    pub(crate) fn state(&self) -> StateGuard<'_> {
        let mut state = self.state.all();
        if let Some(journal) = &self.inherited {
            journal.drain(&self.definitions, &mut state);
        }
        state
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
