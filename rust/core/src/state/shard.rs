//! A part of the state, chosen by the hashes of its keys: one decision locks it, and decisions on
//! other actors do not wait.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::state::Change;
use crate::state::entity::Entity;
use crate::state::slab::{FreezableSlab, Queue};

/// Average keys per table in a full state. A table rehashes all of its keys when it grows, and a
/// decision waits for that.
const KEYS_OF_A_TABLE: usize = 4_096;

/// Blocks found by key and ordered by last stamp.
///
/// The fields that every event changes come first, on one cache line with the lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shard {
    /// Blocks without and with mitigations after their last stamp.
    plain: Queue,
    mitigated: Queue,
    entities: FreezableSlab<Entity>,
    /// Numbers of the blocks by the hashes of their keys, in tables that each grow alone.
    by_key: Box<[HashTable<u32>]>,
}

impl Shard {
    /// An empty shard, with tables for a number of keys.
    pub(crate) fn new(keys: usize) -> Self {
        let tables = keys.div_ceil(KEYS_OF_A_TABLE);
        Self {
            plain: Queue::default(),
            mitigated: Queue::default(),
            entities: FreezableSlab::default(),
            by_key: std::iter::repeat_with(HashTable::new).take(tables).collect(),
        }
    }

    pub(crate) fn plain(&self) -> &Queue {
        &self.plain
    }

    pub(crate) fn mitigated(&self) -> &Queue {
        &self.mitigated
    }

    pub(crate) fn entities(&self) -> &FreezableSlab<Entity> {
        &self.entities
    }

    /// A copy of all blocks as they are now, in their queues.
    pub(crate) fn freeze(&mut self) -> (FreezableSlab<Entity>, [Queue; 2]) {
        (self.entities.freeze(), [self.plain, self.mitigated])
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Entity> {
        self.entities.get(index)
    }

    pub(crate) fn find(&self, hash: u64, key: &str) -> Option<u32> {
        let has_key = |entity: &Entity| entity.key_bytes() == key.as_bytes();
        let table = self.by_key.get(table_of(hash, self.by_key.len()))?;
        table.find(hash, |&index| self.get(index).is_some_and(has_key)).copied()
    }

    /// Counts an event at `time`, which is the newest stamp.
    pub(crate) fn see<'c>(
        &mut self,
        index: u32,
        changes: impl Iterator<Item = Change<'c>> + Clone,
        (time, stamp): (i64, u64),
        hasher: &RandomState,
    ) {
        self.stamp(index, |entity| entity.see(changes, time, stamp, hasher));
    }

    /// Ends mitigations by some clauses at `time`, which is the newest stamp.
    pub(crate) fn lift(&mut self, index: u32, (time, stamp): (i64, u64), clauses: &[u32]) {
        self.stamp(index, |entity| {
            entity.forget(clauses, time);
            entity.set_stamp(stamp);
        });
    }

    /// Replaces a block and gives it the newest stamp.
    pub(crate) fn rewrite(
        &mut self,
        index: u32,
        stamp: u64,
        change: impl FnOnce(&Entity) -> Entity,
    ) {
        self.stamp(index, |entity| {
            *entity = change(entity);
            entity.set_stamp(stamp);
        });
    }

    /// Changes a block and moves it to the new end of its queue after the change.
    fn stamp(&mut self, index: u32, change: impl FnOnce(&mut Entity)) {
        let Some(entity) = self.entities.get_mut(index) else { return };
        let was_mitigated = entity.is_mitigated();
        change(entity);
        let is_mitigated = entity.is_mitigated();
        let Self { entities, plain, mitigated, .. } = self;
        let (queue, other) = if is_mitigated { (mitigated, plain) } else { (plain, mitigated) };
        if was_mitigated == is_mitigated {
            entities.renew(queue, index);
        } else {
            entities.transfer(other, queue, index);
        }
    }

    /// Puts a block whose key is not there at the new end of its queue.
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        entity: Entity,
        hasher: &RandomState,
    ) -> Option<u32> {
        let queue = if entity.is_mitigated() { &mut self.mitigated } else { &mut self.plain };
        let index = self.entities.insert(queue, entity)?;
        let Self { entities, by_key, .. } = self;
        let table = by_key.get_mut(table_of(hash, by_key.len()))?;
        table.insert_unique(hash, index, |&other| hash_of(entities, other, hasher));
        Some(index)
    }

    pub(crate) fn remove(&mut self, index: u32, hasher: &RandomState) -> Option<Entity> {
        let hash = hash_of(&self.entities, index, hasher);
        let table = self.by_key.get_mut(table_of(hash, self.by_key.len()))?;
        if let Ok(entry) = table.find_entry(hash, |&other| other == index) {
            entry.remove();
        }
        let is_mitigated = self.entities.get(index)?.is_mitigated();
        let queue = if is_mitigated { &mut self.mitigated } else { &mut self.plain };
        self.entities.remove(queue, index)
    }
}

/// The table of a hash, by bits that neither determine its shard nor are used within a table.
fn table_of(hash: u64, tables: usize) -> usize {
    (u64::from((hash >> 24) as u32).wrapping_mul(tables as u64) >> 32) as usize
}

fn hash_of(entities: &FreezableSlab<Entity>, index: u32, hasher: &RandomState) -> u64 {
    hasher.hash_one(entities.get(index).map_or(&[][..], Entity::key_bytes))
}
