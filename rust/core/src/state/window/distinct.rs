//! Distinct values with the time each was last seen, in the order of those
//! times. Few values are searched one by one; past [`SCANNED`] a table finds them.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::state::slab::{Queue, Slab};

/// Values searched one by one: up to this number a scan is as fast as a table.
const SCANNED: usize = 8;

#[derive(Clone, Debug)]
struct Seen {
    value: Box<str>,
    time: i64,
}

#[derive(Clone, Debug, Default)]
pub struct DistinctTimes {
    seen: Slab<Seen>,
    order: Queue,
    /// Empty while there are few values, complete otherwise.
    table: HashTable<u32>,
}

impl DistinctTimes {
    /// The newest time.
    pub fn newest(&self) -> Option<i64> {
        Some(self.seen.get(self.order.newest()?)?.time)
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many values were last seen at `edge` or before.
    pub fn outside(&self, edge: i64) -> usize {
        self.iter().take_while(|&(_, time)| time <= edge).count()
    }

    /// When a value was last seen.
    pub fn last_seen(&self, value: &str, hasher: &RandomState) -> Option<i64> {
        Some(self.seen.get(self.find(value, hasher)?)?.time)
    }

    /// Values and times, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.seen.iter(&self.order).map(|(_, seen)| (&*seen.value, seen.time))
    }

    /// Notes a value as seen at `time`, which isn't older than the newest.
    pub fn renew(&mut self, value: &str, time: i64, hasher: &RandomState) {
        if let Some(index) = self.find(value, hasher) {
            self.seen.renew(&mut self.order, index);
            if let Some(seen) = self.seen.get_mut(index) {
                seen.time = time;
            }
            return;
        }
        let seen = Seen { value: value.into(), time };
        let Some(index) = self.seen.insert(&mut self.order, seen) else {
            return;
        };
        if !self.table.is_empty() {
            let Self { seen, table, .. } = self;
            table.insert_unique(hasher.hash_one(value), index, |&other| hash(seen, other, hasher));
        } else if self.order.len() > SCANNED {
            self.index(hasher);
        }
    }

    /// Forgets what was last seen at `edge` or before, and the oldest past `most`.
    pub fn prune(&mut self, edge: i64, most: usize, hasher: &RandomState) {
        while let Some(index) = self.order.oldest() {
            let expired = self.seen.get(index).is_none_or(|seen| seen.time <= edge);
            if !expired && self.order.len() <= most {
                break;
            }
            self.forget(index, hasher);
        }
        if self.seen.capacity() > 32 && self.order.len() < self.seen.capacity() / 4 {
            self.compact(hasher);
        }
    }

    fn find(&self, value: &str, hasher: &RandomState) -> Option<u32> {
        let is_value = |index: u32| self.seen.get(index).is_some_and(|seen| &*seen.value == value);
        if self.table.is_empty() {
            return self
                .seen
                .iter(&self.order)
                .map(|(index, _)| index)
                .find(|&index| is_value(index));
        }
        self.table.find(hasher.hash_one(value), |&index| is_value(index)).copied()
    }

    fn forget(&mut self, index: u32, hasher: &RandomState) {
        if !self.table.is_empty() {
            let hash = hash(&self.seen, index, hasher);
            if let Ok(found) = self.table.find_entry(hash, |&other| other == index) {
                found.remove();
            }
        }
        self.seen.remove(&mut self.order, index);
    }

    fn index(&mut self, hasher: &RandomState) {
        let Self { seen, table, .. } = self;
        for (index, _) in seen.members() {
            table.insert_unique(hash(seen, index, hasher), index, |&other| {
                hash(seen, other, hasher)
            });
        }
    }

    /// Moves the values into a slab of their number: a burst has passed.
    fn compact(&mut self, hasher: &RandomState) {
        let mut fresh = Self::default();
        while let Some(index) = self.order.oldest() {
            if let Some(seen) = self.seen.remove(&mut self.order, index) {
                fresh.seen.insert(&mut fresh.order, seen);
            }
        }
        if fresh.order.len() > SCANNED {
            fresh.index(hasher);
        }
        *self = fresh;
    }
}

fn hash(seen: &Slab<Seen>, index: u32, hasher: &RandomState) -> u64 {
    hasher.hash_one(seen.get(index).map_or("", |seen| &*seen.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_burst_is_given_back() {
        let hasher = RandomState::default();
        let mut values = DistinctTimes::default();
        (0..900).for_each(|time| values.renew(&time.to_string(), time, &hasher));
        assert!(values.seen.capacity() >= 900 && values.table.capacity() >= 900);
        values.renew("one", 10_000, &hasher);
        values.prune(9_000, 900, &hasher);
        assert!(values.seen.capacity() == 1 && values.table.is_empty());
    }
}
