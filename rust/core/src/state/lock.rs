//! Shards of a state while they are locked.

use std::ops::Range;
use std::sync::MutexGuard;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::state::entity::Entity;
use crate::state::frozen::{FrozenState, by_stamp};
use crate::state::shard::Shard;
use crate::state::slab::Queue;
use crate::state::{AT_ONCE, Change, Evictions, Known, PassesGuard, SHARDS, State, shard_of};

/// The place of a shard that is not locked.
const NOT_LOCKED: u8 = u8::MAX;

/// The shards of some keys, or all of them. Nobody else sees or changes their blocks
/// until it is dropped.
#[derive(Debug)]
pub struct StateGuard<'s> {
    state: &'s State,
    /// The position of each shard of the state among the locked ones; past them if it is not
    /// locked.
    places: [u8; SHARDS],
    /// Locked shards in the order of their numbers, which is the order of locking.
    shards: SmallVec<[MutexGuard<'s, Shard>; AT_ONCE]>,
    /// New blocks that are counted already.
    room: usize,
    stamps: Range<u64>,
    /// Whether a block was removed: the number of a block found before may be another's.
    has_lost: bool,
}

impl<'s> StateGuard<'s> {
    pub(crate) fn all(state: &'s State) -> Self {
        Self::only(state, 0..state.shard_count())
    }

    /// Locks the shards of some numbers.
    pub(crate) fn only(state: &'s State, numbers: impl Iterator<Item = usize>) -> Self {
        let mut rest = numbers.fold(0, |all, number| all | bit(number));
        let in_order = std::iter::from_fn(|| {
            let number = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (number < SHARDS).then_some(number)
        });
        let (mut places, mut shards) = ([NOT_LOCKED; SHARDS], SmallVec::new());
        for number in in_order {
            if let (Some(place), Some(shard)) = (places.get_mut(number), state.lock(number)) {
                *place = shards.len() as u8;
                shards.push(shard);
            }
        }
        Self { state, places, shards, room: 0, stamps: 0..0, has_lost: false }
    }

    /// Sets the stamps of the next events.
    pub(crate) fn keep_stamps(&mut self, stamps: Range<u64>) {
        self.stamps = stamps;
    }

    /// Reserves room for new blocks; whether there is any.
    pub(crate) fn reserve(&mut self, count: usize) -> bool {
        let has_room = self.state.reserve(count);
        if has_room {
            self.room = self.room.saturating_add(count);
        }
        has_room
    }

    pub fn len(&self) -> usize {
        self.state.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn max_keys(&self) -> usize {
        self.state.max_keys()
    }

    pub fn evictions(&self) -> Evictions {
        self.state.evictions()
    }

    pub fn passes(&self) -> PassesGuard<'s> {
        self.state.passes()
    }

    pub fn hasher(&self) -> &'s RandomState {
        self.state.hasher()
    }

    /// Looks for a key of a locked shard.
    pub fn find(&self, key: &str) -> Known {
        self.find_hashed(self.state.hash(key), key)
    }

    pub(crate) fn find_hashed(&self, hash: u64, key: &str) -> Known {
        let shard = self.shard(shard_of(hash));
        Known { hash, index: shard.and_then(|shard| shard.find(hash, key)) }
    }

    pub fn get(&self, known: Known) -> Option<&Entity> {
        self.shard(shard_of(known.hash))?.get(known.index?)
    }

    /// Updates the block of a key for one event at `time`, creating it if it is missing. `known`
    /// is the result of a search since the shards were locked.
    pub fn update<'c>(
        &mut self,
        key: &str,
        known: Option<Known>,
        time: i64,
        changes: impl Iterator<Item = Change<'c>> + Clone,
    ) {
        let known = known.unwrap_or_else(|| self.find(key));
        let number = shard_of(known.hash);
        // An earlier entity may have evicted it, or have the same key.
        let index = known.index.filter(|_| !self.has_lost);
        let index = index.or_else(|| self.shard(number)?.find(known.hash, key));
        let index = index.or_else(|| self.add(known.hash, key, time));
        let (stamp, hasher) = (self.next_stamp(), self.state.hasher());
        if let (Some(shard), Some(index)) = (self.shard_mut(number), index) {
            shard.see(index, changes, (time, stamp), hasher);
        }
    }

    /// Ends the mitigations of an entity by some clauses at `time`.
    pub fn lift(&mut self, key: &str, time: i64, clauses: &[u32]) {
        let Known { hash, index } = self.find(key);
        let Some(index) = index else { return };
        let stamp = self.next_stamp();
        if let Some(shard) = self.shard_mut(shard_of(hash)) {
            shard.lift(index, (time, stamp), clauses);
        }
    }

    /// Replaces the block of a key, creating it at `time` if it is missing.
    pub(crate) fn rewrite(&mut self, key: &str, time: i64, change: impl Fn(&Entity) -> Entity) {
        let Known { hash, index } = self.find(key);
        let index = index.or_else(|| self.add(hash, key, time));
        let stamp = self.next_stamp();
        if let (Some(shard), Some(index)) = (self.shard_mut(shard_of(hash)), index) {
            shard.rewrite(index, stamp, change);
        }
    }

    /// Blocks of locked shards in the order of their last stamp, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entity> {
        by_stamp(self.shards.iter().flat_map(|shard| {
            [shard.plain(), shard.mitigated()].map(|queue| (shard.entities(), queue))
        }))
    }

    /// A copy of the blocks of locked shards as they are now, made immediately. While the copy
    /// exists, a change of the state copies the part that it changes.
    pub fn freeze(&mut self) -> FrozenState {
        let parts = self.shards.iter_mut().map(|shard| shard.freeze()).collect();
        FrozenState::new(parts, self.evictions(), self.passes().freeze())
    }

    /// Exchanges the whole state, of which all shards are locked, for another of the same hasher.
    /// Gives the old one.
    pub fn exchange(&mut self, mut other: State) -> State {
        self.has_lost = true;
        self.state.exchange(&mut other, self.shards.iter_mut().map(|shard| &mut **shard));
        other
    }

    /// Removes the block whose last stamp is the oldest of all that are locked.
    pub(crate) fn remove_oldest(&mut self) -> Option<Entity> {
        let plain = self.oldest(Shard::plain);
        let mitigated = self.oldest(Shard::mitigated);
        let (_, number, index) = plain.into_iter().chain(mitigated).min()?;
        self.remove(number, index)
    }

    pub(crate) fn shard_mut(&mut self, number: usize) -> Option<&mut Shard> {
        let &place = self.places.get(number)?;
        self.shards.get_mut(usize::from(place)).map(|shard| &mut **shard)
    }

    fn shard(&self, number: usize) -> Option<&Shard> {
        let &place = self.places.get(number)?;
        self.shards.get(usize::from(place)).map(|shard| &**shard)
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamps.next().unwrap_or_else(|| self.state.next_stamps(1))
    }

    /// Makes a block for a key that has none, and room for it.
    fn add(&mut self, hash: u64, key: &str, time: i64) -> Option<u32> {
        if self.room == 0 {
            while !self.reserve(1) {
                self.evict(time)?;
            }
        }
        let hasher = self.state.hasher();
        let index = self.shard_mut(shard_of(hash))?.insert(hash, Entity::new(key, time), hasher)?;
        self.room = self.room.saturating_sub(1);
        Some(index)
    }

    /// Evicts the least important key.
    fn evict(&mut self, time: i64) -> Option<()> {
        let mitigated = self.oldest(Shard::mitigated);
        let is_expired = |&(_, number, index): &(u64, usize, u32)| {
            let entity = self.shard(number).and_then(|shard| shard.get(index));
            entity.is_some_and(|entity| !entity.is_mitigated_at(time))
        };
        let victim = mitigated.filter(is_expired).or_else(|| self.oldest(Shard::plain));
        let (_, number, index) = victim.or(mitigated)?;
        let lost = self.remove(number, index)?;
        let Evictions { total, mitigated } = self.evictions();
        self.state.set_evictions(Evictions {
            total: total.saturating_add(1),
            mitigated: mitigated.saturating_add(u64::from(lost.is_mitigated_at(time))),
        });
        Some(())
    }

    /// The oldest block of one of the queues: its stamp, shard and number.
    fn oldest(&self, queue: fn(&Shard) -> &Queue) -> Option<(u64, usize, u32)> {
        let numbers = 0..self.state.shard_count();
        let oldest = numbers.filter_map(|number| {
            let shard = self.shard(number)?;
            let index = queue(shard).oldest()?;
            Some((shard.get(index)?.stamp(), number, index))
        });
        oldest.min()
    }

    fn remove(&mut self, number: usize, index: u32) -> Option<Entity> {
        let hasher = self.state.hasher();
        let lost = self.shard_mut(number)?.remove(index, hasher)?;
        self.has_lost = true;
        self.state.shrink(1);
        Some(lost)
    }
}

/// The bit of a shard's number.
fn bit(number: usize) -> u64 {
    1_u64.unbounded_shl(u32::try_from(number).unwrap_or(u32::MAX))
}

impl Drop for StateGuard<'_> {
    fn drop(&mut self) {
        if self.room > 0 {
            self.state.shrink(self.room);
        }
    }
}
