//! The block of one entity key: the state of one actor.

use foldhash::fast::RandomState;

use crate::definitions::window_rule::Family;
use crate::state::Change;
use crate::state::stored_key::StoredKey;
use crate::state::window::family::{Counted, FamilyWindows};
use crate::state::window::packed::PackedWindows;
use crate::state::window::{Window, family};

/// The end of a clause's mitigation of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveMitigation {
    pub clause: u32,
    pub expires_at: i64,
}

/// The state of clauses. Most entities have one window and were never mitigated.
#[derive(Clone, Debug, Default)]
enum Clauses {
    #[default]
    None,
    One(Window),
    Many(Block),
}

/// Windows and the rest.
#[derive(Clone, Debug, Default)]
struct Block {
    packed: PackedWindows,
    /// Windows that are not packed, in the order of their numbers.
    windows: Box<[Window]>,
    rare: Option<Box<Rare>>,
}

/// State that few entities have.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Mitigations in the order of clauses.
    mitigations: Vec<ActiveMitigation>,
    /// Events beyond the number that a block counts in itself.
    events: u64,
}

impl Block {
    /// Makes one change, and gives the place after its window among the packed windows.
    fn change(
        &mut self,
        next: usize,
        change: Change<'_>,
        time: i64,
        hasher: &RandomState,
    ) -> usize {
        match change {
            Change::Count { family, value } => {
                return self.count(next, family, Counted { time, value, hasher });
            }
            Change::CountOne { family, position, value } => {
                self.take_off(family);
                let counted = Counted { time, value, hasher };
                self.change_windows(|all| family::count_one(all, family, position, counted));
            }
            Change::Mitigate { clause, expires_at } => self.mitigate(clause, expires_at),
        }
        next
    }

    fn count(&mut self, next: usize, family: Family<'_>, counted: Counted<'_>) -> usize {
        let Some(widest) = family.rule(0) else { return next };
        if counted.value.is_none() && self.goes_on_clock(family) {
            let place = self.packed.made(next, family.first);
            if self.packed.count(place, widest, counted.time) {
                return place.saturating_add(1);
            }
            self.take_off(family);
        }
        self.change_windows(|all| family::count(all, 0, family, counted));
        next
    }

    /// Whether the windows of a family are one window that is, or can be, packed. A window that
    /// holds little again is packed again.
    #[inline]
    fn goes_on_clock(&mut self, family: Family<'_>) -> bool {
        self.windows.is_empty() || self.comes_back(family)
    }

    fn comes_back(&mut self, family: Family<'_>) -> bool {
        let mut place = 0;
        let there = family::of_family(&self.windows, &mut place, family);
        if !there.are_one() || !there.has_first() {
            return there.are_one();
        }
        let packed = &mut self.packed;
        let comes_back = self.windows.get(place).is_some_and(|window| packed.put(window));
        if comes_back {
            self.change_windows(|all| all.remove(place));
        }
        comes_back
    }

    /// Takes the first window of a family out of the packed ones.
    fn take_off(&mut self, family: Family<'_>) {
        let place = self.packed.find(0, family.first);
        if let Some(window) = place.ok().and_then(|place| self.packed.take(place)) {
            self.change_windows(|all| {
                let place = all.partition_point(|other| other.number() < window.number());
                all.insert(place, window);
            });
        }
    }

    fn change_windows<T>(&mut self, change: impl FnOnce(&mut Vec<Window>) -> T) -> T {
        let mut windows = std::mem::take(&mut self.windows).into_vec();
        let result = change(&mut windows);
        self.windows = windows.into();
        result
    }

    fn mitigate(&mut self, clause: u32, expires_at: i64) {
        let mitigations = &mut self.rare.get_or_insert_default().mitigations;
        match mitigations.binary_search_by_key(&clause, |each| each.clause) {
            Ok(place) => {
                if let Some(active) = mitigations.get_mut(place) {
                    active.expires_at = active.expires_at.max(expires_at);
                }
            }
            Err(place) => mitigations.insert(place, ActiveMitigation { clause, expires_at }),
        }
    }
}

/// One entity key and its state.
#[derive(Clone, Debug)]
pub struct Entity {
    key: StoredKey,
    /// The last stamp, and in the lowest bits the number of events; the rest of that number is in
    /// [`Rare`].
    stamp_and_events: u64,
    first_seen: i64,
    last_seen: i64,
    clauses: Clauses,
}

/// Bits of a block that count events. The bits left for stamps last for years of events.
const EVENT_BITS: u32 = 16;
const EVENT_MASK: u64 = (1 << EVENT_BITS) - 1;

impl Entity {
    /// A block that has seen no event. The key is the number of the entity's
    /// definition and the canonical JSON array of its parts.
    pub fn new(key: &str, time: i64) -> Self {
        Self {
            key: StoredKey::new(key),
            stamp_and_events: 0,
            first_seen: time,
            last_seen: time,
            clauses: Clauses::None,
        }
    }

    /// A block from a snapshot; windows in the order of their numbers, mitigations in the order of
    /// clauses.
    pub fn restored(
        key: &str,
        event_count: u64,
        (first_seen, last_seen): (i64, i64),
        windows: Vec<Window>,
        mitigations: Vec<ActiveMitigation>,
    ) -> Self {
        let events = event_count & !EVENT_MASK;
        let rare = Some(Box::new(Rare { mitigations, events }));
        let mut entity = Self {
            key: StoredKey::new(key),
            stamp_and_events: event_count & EVENT_MASK,
            first_seen,
            last_seen,
            clauses: Clauses::Many(Block {
                packed: PackedWindows::default(),
                windows: windows.into(),
                rare,
            }),
        };
        entity.simplify();
        entity
    }

    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// The bytes of the key, without a check that they are text.
    pub(crate) fn key_bytes(&self) -> &[u8] {
        self.key.as_bytes()
    }

    pub fn stamp(&self) -> u64 {
        self.stamp_and_events >> EVENT_BITS
    }

    pub fn set_stamp(&mut self, stamp: u64) {
        self.stamp_and_events = (stamp << EVENT_BITS) | (self.stamp_and_events & EVENT_MASK);
    }

    pub fn event_count(&self) -> u64 {
        let more = self.rare().map_or(0, |rare| rare.events);
        more.saturating_add(self.stamp_and_events & EVENT_MASK)
    }

    pub fn first_seen(&self) -> i64 {
        self.first_seen
    }

    pub fn last_seen(&self) -> i64 {
        self.last_seen
    }

    /// The numbers of its windows, in order.
    pub fn window_numbers(&self) -> Vec<u32> {
        let packed = self.packed().into_iter().flat_map(PackedWindows::numbers);
        let mut numbers: Vec<u32> =
            packed.chain(self.windows().iter().map(Window::number)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The windows that are not packed.
    fn windows(&self) -> &[Window] {
        match &self.clauses {
            Clauses::None => &[],
            Clauses::One(window) => std::slice::from_ref(window),
            Clauses::Many(block) => &block.windows,
        }
    }

    fn packed(&self) -> Option<&PackedWindows> {
        match &self.clauses {
            Clauses::Many(block) => Some(&block.packed),
            _ => None,
        }
    }

    pub fn mitigations(&self) -> &[ActiveMitigation] {
        self.rare().map_or(&[], |rare| &rare.mitigations)
    }

    /// The windows of a family, which comes after the family of the last call with the same
    /// `next`; that is 0 at first.
    pub fn family_after(&self, next: &mut usize, family: Family<'_>) -> FamilyWindows<'_> {
        let apart = family::of_family(self.windows(), &mut 0, family);
        let Some(packed) = self.packed() else { return apart };
        let found = packed.find(*next, family.first);
        *next = found.map_or_else(|place| place, |place| place.saturating_add(1));
        match found.ok().and_then(|place| packed.window(place)) {
            Some(first) => apart.with_first(first),
            None => apart,
        }
    }

    /// Whether a clause mitigates the entity at `time`.
    pub fn is_mitigated_by(&self, clause: u32, time: i64) -> bool {
        let mitigations = self.mitigations();
        let place = mitigations.binary_search_by_key(&clause, |each| each.clause);
        let active = place.ok().and_then(|place| mitigations.get(place));
        active.is_some_and(|active| time < active.expires_at)
    }

    pub fn is_mitigated_at(&self, time: i64) -> bool {
        self.mitigations().iter().any(|each| time < each.expires_at)
    }

    /// Whether it had a mitigation at its last stamp.
    pub fn is_mitigated(&self) -> bool {
        !self.mitigations().is_empty()
    }

    /// Counts an event at `time` with its changes, best in the order of windows.
    pub fn see<'c>(
        &mut self,
        mut changes: impl Iterator<Item = Change<'c>> + Clone,
        time: i64,
        stamp: u64,
        hasher: &RandomState,
    ) {
        // One for each change, when none of them is a mitigation.
        let windows = changes.size_hint().1.unwrap_or(0);
        if windows > 1 && matches!(self.clauses, Clauses::None) {
            self.clauses =
                Clauses::Many(Block { packed: PackedWindows::new(windows), ..Block::default() });
        }
        let mut next = 0;
        loop {
            if let Clauses::Many(block) = &mut self.clauses {
                (next, changes) = block.packed.add_newest(next, changes, time);
            }
            match changes.next() {
                Some(change) => next = self.change(next, change, time, hasher),
                None => break,
            }
        }
        self.last_seen = self.last_seen.max(time);
        self.count(stamp);
        self.forget(&[], time);
    }

    /// Removes the mitigations of some clauses, and those that have ended at `time`.
    pub fn forget(&mut self, clauses: &[u32], time: i64) {
        if let Clauses::Many(block) = &mut self.clauses {
            if let Some(rare) = &mut block.rare {
                let is_kept = |each: &ActiveMitigation| {
                    time < each.expires_at && !clauses.contains(&each.clause)
                };
                rare.mitigations.retain(is_kept);
            }
            self.simplify();
        }
    }

    /// Makes one change, and gives the place after its window among the packed windows.
    fn change(
        &mut self,
        next: usize,
        change: Change<'_>,
        time: i64,
        hasher: &RandomState,
    ) -> usize {
        if let Change::Count { family, value } = change
            && let Some(&widest) = family.rules.first()
        {
            let counted = Counted { time, value, hasher };
            if let Clauses::None = self.clauses {
                self.clauses = Clauses::One(counted.empty(family.first));
            }
            if let Clauses::One(window) = &mut self.clauses
                && window.number() == family.first
            {
                counted.add_event(window, widest);
                return next;
            }
        }
        self.block_mut().map_or(next, |block| block.change(next, change, time, hasher))
    }

    /// The general form; converts a small form.
    fn block_mut(&mut self) -> Option<&mut Block> {
        if !matches!(self.clauses, Clauses::Many(_)) {
            let windows = match std::mem::take(&mut self.clauses) {
                Clauses::One(window) => Box::from([window]),
                _ => Box::default(),
            };
            self.clauses = Clauses::Many(Block { windows, ..Block::default() });
        }
        match &mut self.clauses {
            Clauses::Many(block) => Some(block),
            _ => None,
        }
    }

    /// Counts an event that is the newest stamp.
    fn count(&mut self, stamp: u64) {
        let events = self.stamp_and_events.wrapping_add(1) & EVENT_MASK;
        self.stamp_and_events = (stamp << EVENT_BITS) | events;
        if events == 0
            && let Some(block) = self.block_mut()
        {
            let rare = block.rare.get_or_insert_default();
            rare.events = rare.events.saturating_add(EVENT_MASK.wrapping_add(1));
        }
    }

    fn rare(&self) -> Option<&Rare> {
        match &self.clauses {
            Clauses::Many(block) => block.rare.as_deref(),
            _ => None,
        }
    }

    /// Goes back to a small form if it suffices.
    fn simplify(&mut self) {
        let Clauses::Many(block) = &mut self.clauses else { return };
        if block.rare.as_ref().is_some_and(|rare| rare.mitigations.is_empty() && rare.events == 0) {
            block.rare = None;
        }
        if block.rare.is_none() && block.packed.len().saturating_add(block.windows.len()) <= 1 {
            let alone = block.packed.take(0).or_else(|| block.change_windows(Vec::pop));
            self.clauses = alone.map_or(Clauses::None, Clauses::One);
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
