//! The state of a tenant's traffic: one block for each entity key, at most `max_keys` of them,
//! everything in constant time (docs/decision.md, "State").
//!
//! Blocks are in shards by the hash of their key, each behind a lock of its own. A
//! decision locks the shards of its entities while it reads and changes them; callers that need
//! more lock all.

pub mod cow_vec;
pub mod entity;
pub mod frozen;
pub(crate) mod late;
pub mod lock;
pub mod passes;
pub(crate) mod shard;
pub mod slab;
pub mod snapshot;
pub(crate) mod stored_key;
pub mod window;

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::definitions::window_rule::Family;
use crate::state::entity::Entity;
use crate::state::lock::StateGuard;
use crate::state::passes::{MAX_PASSES, PassChange, Passes};
use crate::state::shard::Shard;

/// Keys that are searched for together without memory on the heap.
pub(crate) const AT_ONCE: usize = 8;
/// Enough that two threads seldom want the same shard, few enough to lock all together.
pub(crate) const SHARDS: usize = 64;
/// Stamps that a batch reserves together.
const STAMPS: u64 = 64;
const SHARD_MASK: u64 = SHARDS as u64 - 1;
/// A set of shards is the bits of one number.
const _: () = assert!(SHARDS <= u64::BITS as usize);

/// One change of an event in the state of an entity.
#[derive(Clone, Copy, Debug)]
pub enum Change<'c> {
    /// The windows of a family count the event; distinct ones a value in it.
    Count { family: Family<'c>, value: Option<&'c str> },
    /// The window at a position of a family does, and the others do not.
    CountOne { family: Family<'c>, position: usize, value: Option<&'c str> },
    /// A clause fired and mitigates the entity.
    Mitigate { clause: u32, expires_at: i64 },
}

/// The number of evicted keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evictions {
    pub total: u64,
    /// Keys among them that lost a mitigation before its end.
    pub mitigated: u64,
}

/// The result of a search for a key: its hash, and the number of its block if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub(crate) hash: u64,
    pub(crate) index: Option<u32>,
}

impl Known {
    /// Whether there is a block.
    pub fn is_there(self) -> bool {
        self.index.is_some()
    }
}

/// Several of them, in the order of their keys.
pub type AllKnown = SmallVec<[Known; AT_ONCE]>;

/// Blocks of stamps for the decisions of a batch: if each event reserved its own, threads would
/// contend for one counter. Concurrent changes by others count as earlier or later.
#[derive(Debug, Default)]
pub struct StampBlock {
    kept: Range<u64>,
    at_once: u64,
}

impl StampBlock {
    /// Stamps for many events in a row.
    pub fn of_a_batch() -> Self {
        Self { at_once: STAMPS, ..Self::default() }
    }

    /// Gives up the stamps that are left, because newer ones are in use.
    pub(crate) fn forget(&mut self) {
        self.kept = Range::default();
    }

    /// Consecutive stamps.
    pub(crate) fn take(&mut self, count: u64, state: &State) -> Range<u64> {
        let left = self.kept.end.saturating_sub(self.kept.start);
        if left < count {
            let more = count.max(self.at_once);
            let first = state.next_stamps(more);
            self.kept = first..first.saturating_add(more);
        }
        let end = self.kept.start.saturating_add(count);
        let taken = self.kept.start..end;
        self.kept.start = end;
        taken
    }
}

/// The counters that every decision writes. They are on cache lines of their own, since every
/// decision reads the fields next to them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counters {
    /// Existing blocks, and reserved blocks that a decision may still make.
    len: AtomicUsize,
    /// Stamps that are reserved.
    stamps: AtomicU64,
}

/// A shard behind its lock. It has cache lines of its own, since threads write to neighbours at the
/// same time, and two of them, which are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Guarded(Mutex<Shard>);

const _: () = assert!(size_of::<Guarded>() == 128);

impl Guarded {
    fn get_mut(&mut self) -> &mut Shard {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The blocks of all keys.
#[derive(Debug)]
pub struct State {
    shards: Box<[Guarded]>,
    counters: Counters,
    /// Changed under the locks of all shards.
    evictions: Mutex<Evictions>,
    /// Locked after the shards, by callers that need both.
    passes: Mutex<Arc<Passes>>,
    max_keys: usize,
    /// Seeded in every process, since keys are untrusted text.
    hasher: RandomState,
}

impl State {
    /// An empty state of at most `max_keys` blocks (at least one).
    pub fn new(max_keys: u32, hasher: RandomState) -> Self {
        let max_keys = usize::try_from(max_keys).unwrap_or(usize::MAX).max(1);
        let shard = || Guarded(Mutex::new(Shard::new(max_keys.div_ceil(SHARDS))));
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            counters: Counters::default(),
            evictions: Mutex::default(),
            passes: Mutex::default(),
            max_keys,
            hasher,
        }
    }

    pub fn len(&self) -> usize {
        self.counters.len.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn max_keys(&self) -> usize {
        self.max_keys
    }

    pub fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    pub fn evictions(&self) -> Evictions {
        *self.evictions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_evictions(&self, evictions: Evictions) {
        *self.evictions.lock().unwrap_or_else(PoisonError::into_inner) = evictions;
    }

    /// The passes; nobody else sees or changes them until they are dropped.
    pub fn passes(&self) -> PassesGuard<'_> {
        let passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        PassesGuard { passes, max: self.max_keys.min(MAX_PASSES) }
    }

    /// Locks all of it.
    pub fn all(&self) -> StateGuard<'_> {
        StateGuard::all(self)
    }

    /// Finds some keys and locks the shards they need, or all shards when blocks may have to make
    /// room for new ones.
    pub fn look_up<'k>(
        &self,
        keys: impl Iterator<Item = &'k str>,
        stamps: &mut StampBlock,
    ) -> (StateGuard<'_>, AllKnown) {
        let keys: SmallVec<[(u64, &str); AT_ONCE]> =
            keys.map(|key| (self.hash(key), key)).collect();
        let count = u64::try_from(keys.len()).unwrap_or(u64::MAX);
        let find = |locked: &StateGuard<'_>| -> AllKnown {
            keys.iter().map(|&(hash, key)| locked.find_hashed(hash, key)).collect()
        };
        let mut locked = StateGuard::only(self, keys.iter().map(|&(hash, _)| shard_of(hash)));
        locked.keep_stamps(stamps.take(count, self));
        let known = find(&locked);
        let new = known.iter().filter(|known| !known.is_there()).count();
        if locked.reserve(new) {
            return (locked, known);
        }
        drop(locked);
        let mut all = self.all();
        all.keep_stamps(stamps.take(count, self));
        let known = find(&all);
        (all, known)
    }

    /// Puts a block from a snapshot at the newest end, even past the bound. False if the key is
    /// there already.
    pub fn adopt(&mut self, mut entity: Entity) -> bool {
        let hash = self.hasher.hash_one(entity.key_bytes());
        let Self { shards, hasher, counters: Counters { stamps, len }, .. } = self;
        let Some(shard) = shards.get_mut(shard_of(hash)) else { return false };
        let shard = shard.get_mut();
        if shard.find(hash, entity.key()).is_some() {
            return false;
        }
        let stamp = stamps.get_mut();
        entity.set_stamp(*stamp);
        *stamp = stamp.saturating_add(1);
        *len.get_mut() = len.get_mut().saturating_add(1);
        shard.insert(hash, entity, hasher).is_some()
    }

    /// Removes blocks past the bound, the oldest first, without counting them.
    pub fn limit(&mut self) {
        let mut all = self.all();
        while all.len() > self.max_keys && all.remove_oldest().is_some() {}
    }

    /// Exchanges the whole state, which is locked, for another of the same hasher.
    pub(crate) fn exchange<'l>(
        &self,
        other: &mut Self,
        locked: impl Iterator<Item = &'l mut Shard>,
    ) {
        for (mine, its) in locked.zip(&mut other.shards) {
            std::mem::swap(mine, its.get_mut());
        }
        let Counters { len, stamps } = &mut other.counters;
        let (len, stamps) = (len.get_mut(), stamps.get_mut());
        *len = self.counters.len.swap(*len, Ordering::Relaxed);
        *stamps = self.counters.stamps.swap(*stamps, Ordering::Relaxed);
        let evictions = self.evictions();
        self.set_evictions(other.evictions());
        other.set_evictions(evictions);
        std::mem::swap(&mut *self.passes().passes, &mut *other.passes().passes);
    }

    pub(crate) fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key.as_bytes())
    }

    /// The shard of a number. A thread that panicked while it held the lock can leave it half
    /// changed, but the service matters more.
    pub(crate) fn lock(&self, number: usize) -> Option<MutexGuard<'_, Shard>> {
        Some(self.shards.get(number)?.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Counts blocks that are about to be made, if there is room for all.
    pub(crate) fn reserve(&self, count: usize) -> bool {
        let grown = |len: usize| len.checked_add(count).filter(|&len| len <= self.max_keys);
        count == 0
            || self.counters.len.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    pub(crate) fn shrink(&self, count: usize) {
        self.counters.len.fetch_sub(count, Ordering::Relaxed);
    }

    /// Reserves a block of stamps; its first.
    pub(crate) fn next_stamps(&self, count: u64) -> u64 {
        self.counters.stamps.fetch_add(count, Ordering::Relaxed)
    }
}

/// The passes while they are locked.
#[derive(Debug)]
pub struct PassesGuard<'s> {
    passes: MutexGuard<'s, Arc<Passes>>,
    max: usize,
}

impl PassesGuard<'_> {
    pub fn get(&self) -> &Passes {
        &self.passes
    }

    pub fn apply(&mut self, change: &PassChange) {
        Arc::make_mut(&mut self.passes).apply(change, self.max);
    }

    /// Replaces the passes, as many as there is room for.
    pub fn replace(&mut self, mut passes: Arc<Passes>) {
        Arc::make_mut(&mut passes).limit(self.max);
        *self.passes = passes;
    }

    /// A copy; the state copies its passes at the next change if the copy still exists.
    pub(crate) fn freeze(&self) -> Arc<Passes> {
        Arc::clone(&self.passes)
    }
}

/// The number of a key's shard, from bits of its hash that the tables do not use.
pub(crate) fn shard_of(hash: u64) -> usize {
    usize::try_from((hash >> 16) & SHARD_MASK).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
