//! An engine with changed definitions takes over the state of another one, which still decides.
//!
//! The state is frozen at once and copied in the background. Meanwhile the old engine also passes
//! the effects of its decisions to the new one, which applies them before it reads its state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bumpalo::Bump;

use crate::decision::effects;
use crate::definitions::Definitions;
use crate::engine::Engine;
use crate::event::user_agent::UserAgents;
use crate::state::lock::StateGuard;
use crate::state::snapshot;
use crate::state::snapshot::SnapshotError;
use crate::state::snapshot::migrate::carried;

/// A journal this short is left to the next decision.
const FEW_ENTRIES: usize = 256;
/// Rounds of catching up with an engine that decides as fast as it can.
const ROUNDS: usize = 10;

/// Effects on their way from one engine to the next.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<Vec<String>>,
    has_entries: AtomicBool,
}

impl Journal {
    fn push(&self, entry: String) {
        lock(&self.entries).push(entry);
        self.has_entries.store(true, Ordering::Release);
    }

    /// Whether any effect waits.
    pub(crate) fn has_entries(&self) -> bool {
        self.has_entries.load(Ordering::Acquire)
    }

    fn len(&self) -> usize {
        lock(&self.entries).len()
    }

    /// Applies and removes all effects that wait.
    pub(crate) fn drain(&self, definitions: &Definitions, state: &mut StateGuard<'_>) {
        if !self.has_entries.swap(false, Ordering::Acquire) {
            return;
        }
        let entries = std::mem::take(&mut *lock(&self.entries));
        let mut arena = Bump::new();
        for entry in entries {
            // An engine wrote them, so they are well formed.
            if let Ok(effects) = effects::read(definitions, entry.as_bytes(), &arena) {
                effects.iter().for_each(|effect| effect.apply(definitions, state));
            }
            arena.reset();
        }
    }
}

/// The engines that follow this one and receive its effects, as long as they exist.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    journals: Mutex<Vec<Weak<Journal>>>,
    are_there: AtomicBool,
}

impl Followers {
    /// Passes on the effects just applied to the state, which is still locked.
    pub(crate) fn tell(&self, effects: impl FnOnce() -> String) {
        // Set under the lock of the state, which is held here too.
        if !self.are_there.load(Ordering::Relaxed) {
            return;
        }
        let mut journals = lock(&self.journals);
        journals.retain(|journal| journal.strong_count() > 0);
        self.are_there.store(!journals.is_empty(), Ordering::Relaxed);
        if journals.is_empty() {
            return;
        }
        let effects = effects();
        for journal in journals.iter().filter_map(Weak::upgrade) {
            journal.push(effects.clone());
        }
    }

    fn add(&self) -> Arc<Journal> {
        let journal = Arc::new(Journal::default());
        lock(&self.journals).push(Arc::downgrade(&journal));
        self.are_there.store(true, Ordering::Relaxed);
        journal
    }
}

impl Engine {
    /// An engine with other definitions and this engine's state, as far as they have a place for
    /// it, as if it had restored a snapshot. This one may go on deciding: until it is dropped, the
    /// new one applies its decisions too.
    ///
    /// # Errors
    /// The definitions are of another tenant.
    pub fn succeeded_by(
        &self,
        definitions: Definitions,
        user_agents: Option<&'static UserAgents>,
    ) -> Result<Self, SnapshotError> {
        if definitions.tenant != self.definitions().tenant {
            return Err(SnapshotError("the definitions are of another tenant".into()));
        }
        let (frozen, hasher, journal) = {
            let mut state = self.state();
            (state.freeze(), state.hasher().clone(), self.followers().add())
        };
        let state = if definitions.keeps_as(self.definitions()) {
            carried(self.definitions(), &definitions, &frozen, hasher)
        } else {
            // Values that are secrets from now on leave the state too.
            snapshot::restore(&definitions, self.save(&frozen).as_bytes(), hasher)?
        };
        drop(frozen);
        let reference_data = self.reference_data().with_user_agents(user_agents);
        let engine = Self::inheriting(definitions, reference_data, state, Arc::clone(&journal))
            .with_proof_keys(self.proof_keys().cloned());
        // Catch up, so that the first decision doesn't wait for all new effects.
        for _ in 0..ROUNDS {
            if journal.len() <= FEW_ENTRIES {
                break;
            }
            drop(engine.state());
        }
        Ok(engine)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
