//! What is remembered of a tenant's traffic: one block for each entity key, at
//! most so many of them, everything in constant time (docs/decision.md, "State").

use std::hash::BuildHasher;
use std::hint::black_box;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::entity::Entity;
use crate::key_table::KeyTable;
use crate::slab::{FreezableSlab, Queue};
use crate::window::{Rule, Window};

/// Keys that are looked for together without memory on the heap.
const AT_ONCE: usize = 8;

/// What one event changes in the state of one of its entities.
#[derive(Clone, Copy, Debug)]
pub enum Change<'c> {
    /// A count window counts the event.
    Count { clause: u32, rule: Rule },
    /// A distinct window counts a value.
    CountValue { clause: u32, rule: Rule, value: &'c str },
    /// A clause fired and mitigates the entity.
    Mitigate { clause: u32, expires_at: i64 },
}

/// How many keys had to make room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evictions {
    pub total: u64,
    /// Of these, keys that lost a mitigation before its end.
    pub mitigated: u64,
}

/// The blocks, found by key and ordered by last touch.
#[derive(Debug)]
pub struct State {
    entities: FreezableSlab<Entity>,
    by_key: KeyTable,
    /// Without and with mitigations after the last touch.
    plain: Queue,
    mitigated: Queue,
    touches: u64,
    evictions: Evictions,
    max_keys: usize,
    /// Keyed anew in every process: keys are text from outside.
    hasher: RandomState,
}

impl State {
    /// An empty state of at most `max_keys` blocks (at least one).
    pub fn new(max_keys: u32, hasher: RandomState) -> Self {
        let max_keys = usize::try_from(max_keys).unwrap_or(usize::MAX).max(1);
        Self {
            entities: FreezableSlab::default(),
            by_key: KeyTable::new(max_keys),
            plain: Queue::default(),
            mitigated: Queue::default(),
            touches: 0,
            evictions: Evictions::default(),
            max_keys,
            hasher,
        }
    }

    pub fn len(&self) -> usize {
        self.plain.len().saturating_add(self.mitigated.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys in the queue of those with mitigations.
    pub fn mitigated_len(&self) -> usize {
        self.mitigated.len()
    }

    pub fn evictions(&self) -> Evictions {
        self.evictions
    }

    pub fn set_evictions(&mut self, evictions: Evictions) {
        self.evictions = evictions;
    }

    pub fn max_keys(&self) -> usize {
        self.max_keys
    }

    pub fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    /// The number of a key's block.
    pub fn find(&self, key: &str) -> Option<u32> {
        self.by_key.find(self.hasher.hash_one(key.as_bytes()), |&index| self.has_key(index, key))
    }

    /// The numbers of several keys' blocks. No search waits for the memory of another.
    pub fn find_all<'k>(
        &self,
        keys: impl Iterator<Item = &'k str>,
    ) -> SmallVec<[Option<u32>; AT_ONCE]> {
        let sought = keys.map(|key| {
            let hash = self.hasher.hash_one(key.as_bytes());
            // Of the same hash, as far as the table knows it: nearly always the right one.
            (key, hash, self.by_key.find(hash, |_| true))
        });
        let sought: SmallVec<[_; AT_ONCE]> = sought.collect();
        let found = sought.into_iter().map(|(key, hash, likely)| {
            let likely = likely?;
            if self.has_key(likely, key) {
                return Some(likely);
            }
            self.by_key.find(hash, |&index| self.has_key(index, key))
        });
        found.collect()
    }

    /// Looks at the windows of blocks that are about to be used, so that the memory of all
    /// comes in at the same time.
    pub fn read_ahead(&self, known: &[Option<u32>]) {
        let blocks = known.iter().flatten().filter_map(|index| self.get(*index));
        let clauses = blocks.flat_map(Entity::windows).map(Window::clause);
        black_box(clauses.fold(0, |all, clause| all ^ clause));
    }

    pub fn get(&self, index: u32) -> Option<&Entity> {
        self.entities.get(index)
    }

    /// All blocks in the order of their last touch, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entity> {
        by_touch(&self.entities, &self.plain, &self.mitigated)
    }

    /// A copy of the state as it is now, made at once; the state pays for it bit by
    /// bit, when it changes while the copy is there.
    pub fn freeze(&mut self) -> FrozenState {
        FrozenState {
            entities: self.entities.freeze(),
            plain: self.plain,
            mitigated: self.mitigated,
            evictions: self.evictions,
        }
    }

    /// Updates the block of a key for one event at `time`, in place of a new one if
    /// there is none. `known` is where it was when the event was looked at.
    pub fn update<'c>(
        &mut self,
        key: &str,
        known: Option<u32>,
        time: i64,
        changes: impl Iterator<Item = Change<'c>>,
    ) {
        let index = match known.filter(|&index| self.has_key(index, key)) {
            Some(index) => Some(index),
            // An entity before this one may have made it leave, or be the same key.
            None => self.find(key).or_else(|| self.add(key, time)),
        };
        let Some(index) = index else { return };
        let Some(entity) = self.entities.get_mut(index) else { return };
        let was_mitigated = entity.is_mitigated();
        entity.see(changes, time, self.touches, &self.hasher);
        let is_mitigated = entity.is_mitigated();
        self.touched(index, was_mitigated, is_mitigated);
    }

    /// Ends the mitigations of an entity by some clauses at `time`.
    pub fn lift(&mut self, key: &str, time: i64, clauses: &[u32]) {
        let Some(index) = self.find(key) else { return };
        let Some(entity) = self.entities.get_mut(index) else { return };
        let was_mitigated = entity.is_mitigated();
        entity.forget(clauses, time);
        entity.set_touch(self.touches);
        let is_mitigated = entity.is_mitigated();
        self.touched(index, was_mitigated, is_mitigated);
    }

    /// Takes a block to the new end of the queue that it belongs to now.
    fn touched(&mut self, index: u32, was_mitigated: bool, is_mitigated: bool) {
        self.touches = self.touches.saturating_add(1);
        let (plain, mitigated) = (&mut self.plain, &mut self.mitigated);
        match (was_mitigated, is_mitigated) {
            (false, false) => self.entities.renew(plain, index),
            (true, true) => self.entities.renew(mitigated, index),
            (false, true) => self.entities.transfer(plain, mitigated, index),
            (true, false) => self.entities.transfer(mitigated, plain, index),
        }
    }

    /// Puts a block from a snapshot at the newest end, also past the bound. A key that is
    /// there already is refused.
    pub fn adopt(&mut self, mut entity: Entity) -> bool {
        if self.find(entity.key()).is_some() {
            return false;
        }
        entity.set_touch(self.touches);
        self.touches = self.touches.saturating_add(1);
        self.insert(entity).is_some()
    }

    /// Lets what is past the bound leave uncounted, the oldest first.
    pub fn limit(&mut self) {
        while self.len() > self.max_keys {
            let touch = |queue: &Queue| {
                queue.oldest().and_then(|index| self.entities.get(index)).map(Entity::touch)
            };
            let oldest = match (touch(&self.plain), touch(&self.mitigated)) {
                (Some(plain), Some(mitigated)) if mitigated < plain => self.mitigated.oldest(),
                (None, _) => self.mitigated.oldest(),
                _ => self.plain.oldest(),
            };
            if oldest.and_then(|index| self.remove(index)).is_none() {
                return;
            }
        }
    }

    /// Bytes of the blocks, their keys and their table.
    pub fn memory_bytes(&self) -> usize {
        let blocks = self.entities.capacity().saturating_mul(FreezableSlab::<Entity>::SLOT_BYTES);
        let heap: usize = self.entities.members().map(|(_, entity)| entity.heap_bytes()).sum();
        blocks.saturating_add(heap).saturating_add(self.by_key.memory_bytes())
    }

    fn has_key(&self, index: u32, key: &str) -> bool {
        self.entities.get(index).is_some_and(|entity| entity.key_bytes() == key.as_bytes())
    }

    /// Makes a block for a key that has none, and room for it.
    fn add(&mut self, key: &str, time: i64) -> Option<u32> {
        while self.len() >= self.max_keys {
            self.evict(time)?;
        }
        self.insert(Entity::new(key, time))
    }

    fn insert(&mut self, entity: Entity) -> Option<u32> {
        let hash = self.hasher.hash_one(entity.key_bytes());
        let queue = if entity.is_mitigated() { &mut self.mitigated } else { &mut self.plain };
        let index = self.entities.insert(queue, entity)?;
        let Self { entities, by_key, hasher, .. } = self;
        by_key.insert(hash, index, |other| hash_of(entities, other, hasher));
        Some(index)
    }

    /// Removes the key whose loss hurts least.
    fn evict(&mut self, time: i64) -> Option<()> {
        let expired = |index: &u32| {
            self.entities.get(*index).is_some_and(|entity| !entity.is_mitigated_at(time))
        };
        let victim = self.mitigated.oldest().filter(expired);
        let victim = victim.or_else(|| self.plain.oldest()).or_else(|| self.mitigated.oldest())?;
        let lost = self.remove(victim)?;
        self.evictions.total = self.evictions.total.saturating_add(1);
        let mitigated = u64::from(lost.is_mitigated_at(time));
        self.evictions.mitigated = self.evictions.mitigated.saturating_add(mitigated);
        Some(())
    }

    fn remove(&mut self, index: u32) -> Option<Entity> {
        let hash = hash_of(&self.entities, index, &self.hasher);
        self.by_key.remove(hash, index);
        let is_mitigated = self.entities.get(index)?.is_mitigated();
        let queue = if is_mitigated { &mut self.mitigated } else { &mut self.plain };
        self.entities.remove(queue, index)
    }
}

/// A state as it was at one moment.
#[derive(Debug, Default)]
pub struct FrozenState {
    entities: FreezableSlab<Entity>,
    plain: Queue,
    mitigated: Queue,
    evictions: Evictions,
}

impl FrozenState {
    /// All blocks in the order of their last touch, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entity> {
        by_touch(&self.entities, &self.plain, &self.mitigated)
    }

    /// The blocks that have mitigations, in the order of their last touch.
    pub fn mitigated(&self) -> impl Iterator<Item = &Entity> {
        self.entities.iter(&self.mitigated).map(|(_, entity)| entity)
    }

    pub fn evictions(&self) -> Evictions {
        self.evictions
    }

    pub fn len(&self) -> usize {
        self.plain.len().saturating_add(self.mitigated.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn by_touch<'s>(
    entities: &'s FreezableSlab<Entity>,
    plain: &Queue,
    mitigated: &Queue,
) -> impl Iterator<Item = &'s Entity> {
    let mut plain = entities.iter(plain).map(|(_, entity)| entity).peekable();
    let mut mitigated = entities.iter(mitigated).map(|(_, entity)| entity).peekable();
    std::iter::from_fn(move || {
        let touch = |entity: Option<&&Entity>| entity.map_or(u64::MAX, |entity| entity.touch());
        if touch(plain.peek()) <= touch(mitigated.peek()) { plain.next() } else { mitigated.next() }
    })
}

fn hash_of(entities: &FreezableSlab<Entity>, index: u32, hasher: &RandomState) -> u64 {
    hasher.hash_one(entities.get(index).map_or(&[][..], Entity::key_bytes))
}

#[cfg(test)]
#[path = "state_tests.rs"]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
