//! Count windows of one entity, packed: they share their times.
//!
//! The clauses that count one actor mostly count the same few events. So each time is stored once,
//! and a window is a set of times: eight bytes for a time, eight for a window, all in one piece of
//! memory. A window that outgrows this, or that doesn't fit among them, is kept separately
//! ([`crate::state::window`]).

use crate::definitions::window_rule::Rule;
use crate::state::Change;
use crate::state::window::{FEW, FEW_AGAIN, Window};

/// Times that are shared: as many as a set has bits.
const MOST: usize = 32;
/// With more times than this, a window that has left does not come back.
const FULL: usize = 16;
/// Words by which the memory grows.
const STEP: usize = 4;

/// The number of windows; the windows, each its number and its set, in the order of their numbers;
/// the times, oldest first. A time that no window holds stays until its place is needed.
/// Without any window there aren't any words.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedWindows(Vec<u64>);

impl PackedWindows {
    /// None yet, with memory for a number of windows.
    pub(crate) fn new(windows: usize) -> Self {
        let mut words = Vec::with_capacity(windows.saturating_add(STEP).saturating_add(1));
        words.push(0);
        Self(words)
    }

    /// Windows.
    pub(crate) fn len(&self) -> usize {
        self.0.first().map_or(0, |&windows| windows as usize)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let (windows, _) = self.parts();
        windows.iter().copied().map(number_of)
    }

    /// The place of a window, present or absent. Callers search in the order of numbers, so mostly
    /// it is at `next`, after the one before.
    #[inline]
    pub(crate) fn find(&self, next: usize, number: u32) -> Result<usize, usize> {
        let (windows, _) = self.parts();
        if windows.get(next).is_some_and(|&window| number_of(window) == number) {
            Ok(next)
        } else {
            windows.binary_search_by_key(&number, |&window| number_of(window))
        }
    }

    /// The place of a window, which is created if it is missing.
    #[inline]
    pub(crate) fn made(&mut self, next: usize, number: u32) -> usize {
        self.find(next, number).unwrap_or_else(|place| {
            self.insert(place, word(number, 0));
            self.set_len(self.len().saturating_add(1));
            place
        })
    }

    /// Counts an event at `time`, if that is the newest. Makes changes as long as each is for the
    /// window at `next`, then the one after, and only puts that time into its set. Gives the
    /// changes that are left, and the window of the first.
    // Not inlined, it fits into the registers.
    #[inline(never)]
    pub(crate) fn add_newest<'c, C>(
        &mut self,
        mut next: usize,
        mut changes: C,
        time: i64,
    ) -> (usize, C)
    where
        C: Iterator<Item = Change<'c>> + Clone,
    {
        // A time takes its place only where some window may hold it.
        let window = self.parts().0.get(next);
        if window.is_none_or(|&window| rule_for(window, changes.clone().next()).is_none()) {
            return (next, changes);
        }
        self.push(time);
        let (windows, times) = self.parts_mut().unwrap_or_default();
        let newest = times.split_last().filter(|&(&newest, _)| as_time(newest) == time);
        let Some((_, earlier)) = newest else { return (next, changes) };
        for window in windows.get_mut(next..).unwrap_or_default() {
            let mut rest = changes.clone();
            match rule_for(*window, rest.next()) {
                Some(rule) if add(window, rule, earlier, time) => changes = rest,
                _ => break,
            }
            next = next.wrapping_add(1);
        }
        (next, changes)
    }

    /// Counts an event at `time`. False if it doesn't fit; the caller then moves the window out, so
    /// that it counts by itself.
    pub(crate) fn count(&mut self, place: usize, rule: Rule, time: i64) -> bool {
        self.push(time);
        let Some((windows, times)) = self.parts_mut() else { return false };
        let Some(window) = windows.get_mut(place) else { return false };
        let last = times.len().wrapping_sub(1);
        let latest = times.get(last).copied().map(as_time);
        let mut set = set_of(*window);
        let time = match latest {
            Some(latest) if latest > time => newest(set, times).unwrap_or(time).max(time),
            _ => time,
        };
        let edge = rule.edge(time);
        while oldest(set, times).is_some_and(|oldest| oldest <= edge) {
            set = without_lowest(set);
        }
        let mut kept = set.count_ones();
        if kept >= u32::from(rule.threshold) {
            set = without_lowest(set);
            kept = kept.wrapping_sub(1);
        }
        if kept >= u32::from(FEW) {
            return false;
        }
        // Other windows have counted an event at this time already.
        let is_there = latest == Some(time) && set & bit(last) == 0;
        *window = word(number_of(*window), if is_there { set | bit(last) } else { set });
        if is_there {
            return true;
        }
        self.mark(place, time)
    }

    /// Adds a time if it is newer than all and there is memory for it.
    fn push(&mut self, time: i64) {
        let (_, times) = self.parts();
        let is_newer = times.last().is_none_or(|&last| as_time(last) < time);
        if is_newer && times.len() < MOST && self.0.len() < self.0.capacity() {
            self.0.push(time.cast_unsigned());
        }
    }

    /// Puts a time into the set of a window that has no newer one.
    fn mark(&mut self, place: usize, time: i64) -> bool {
        let (_, times) = self.parts();
        if times.len() >= MOST || self.0.len() == self.0.capacity() {
            self.forget();
        }
        let (windows, times) = self.parts();
        let len = times.len();
        // Mostly it is the newest.
        let before = times.iter().rposition(|&other| as_time(other) <= time);
        let after = before.map_or(0, |before| before.saturating_add(1));
        let set = windows.get(place).map_or(0, |&window| set_of(window));
        let same = before.filter(|&before| times.get(before).copied().map(as_time) == Some(time));
        if let Some(same) = same.map(bit).filter(|same| set & same == 0) {
            self.set(place, set | same);
            return true;
        }
        if len >= MOST {
            return false;
        }
        self.insert(self.len().saturating_add(after), time.cast_unsigned());
        if after < len {
            let older = bit(after).wrapping_sub(1);
            self.each_set(|set| (set & older) | (set & !older).unbounded_shl(1));
        }
        self.set(place, set | bit(after));
        true
    }

    /// The content of a window, as a window by itself.
    pub(crate) fn window(&self, place: usize) -> Option<Window> {
        let (windows, times) = self.parts();
        let &window = windows.get(place)?;
        let mut set = set_of(window);
        let times = std::iter::from_fn(|| {
            let time = oldest(set, times)?;
            set = without_lowest(set);
            Some(time)
        });
        Some(Window::of_few(number_of(window), times))
    }

    /// Takes a window out.
    pub(crate) fn take(&mut self, place: usize) -> Option<Window> {
        let window = self.window(place)?;
        self.0.remove(place.saturating_add(1));
        self.set_len(self.len().saturating_sub(1));
        Some(window)
    }

    /// Takes in a window that is not there, if it holds so little that it will stay.
    pub(crate) fn put(&mut self, window: &Window) -> bool {
        let (_, times) = self.parts();
        let len = window.times().take(FEW_AGAIN.saturating_add(1)).count();
        if window.is_distinct() || len > FEW_AGAIN || times.len() > FULL {
            return false;
        }
        let place = self.made(0, window.number());
        window.times().all(|time| self.mark(place, time))
    }

    #[inline]
    fn parts(&self) -> (&[u64], &[u64]) {
        let parts = self.0.split_first();
        let parts = parts.and_then(|(&len, rest)| rest.split_at_checked(len as usize));
        parts.unwrap_or_default()
    }

    #[inline]
    fn parts_mut(&mut self) -> Option<(&mut [u64], &mut [u64])> {
        let (&mut len, rest) = self.0.split_first_mut()?;
        rest.split_at_mut_checked(len as usize)
    }

    fn set(&mut self, place: usize, set: u32) {
        let window = self.parts_mut().and_then(|(windows, _)| windows.get_mut(place));
        if let Some(window) = window {
            *window = word(number_of(*window), set);
        }
    }

    fn each_set(&mut self, change: impl Fn(u32) -> u32) {
        for window in self.parts_mut().into_iter().flat_map(|(windows, _)| windows) {
            *window = word(number_of(*window), change(set_of(*window)));
        }
    }

    fn set_len(&mut self, len: usize) {
        if let Some(first) = self.0.first_mut() {
            *first = len as u64;
        }
    }

    /// Inserts a word at a place after the first.
    fn insert(&mut self, place: usize, word: u64) {
        if self.0.is_empty() {
            *self = Self::new(1);
        }
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(STEP);
        }
        self.0.insert(place.saturating_add(1), word);
    }

    /// Drops times that no window holds: the oldest, or all if the oldest are held.
    fn forget(&mut self) {
        let (windows, times) = self.parts();
        let kept = windows.iter().fold(0, |kept, &window| kept | set_of(window));
        // Mostly they are the oldest.
        let past = (kept.trailing_zeros() as usize).min(times.len());
        let start = self.len().saturating_add(1);
        if past > 0 {
            self.0.drain(start..start.saturating_add(past));
            self.each_set(|set| set.unbounded_shr(past as u32));
            return;
        }
        let mut place = 0_usize;
        self.0.retain(|_| {
            let is_held = place < start || kept & bit(place.wrapping_sub(start)) != 0;
            place = place.saturating_add(1);
            is_held
        });
        self.each_set(|set| {
            let (mut rest, mut gathered) = (set, 0);
            while rest != 0 {
                let older = bit(rest.trailing_zeros() as usize).wrapping_sub(1);
                gathered |= bit((kept & older).count_ones() as usize);
                rest = without_lowest(rest);
            }
            gathered
        });
    }
}

fn word(number: u32, set: u32) -> u64 {
    u64::from(number).unbounded_shl(u32::BITS) | u64::from(set)
}

fn number_of(window: u64) -> u32 {
    window.unbounded_shr(u32::BITS) as u32
}

fn set_of(window: u64) -> u32 {
    window as u32
}

fn as_time(word: u64) -> i64 {
    word.cast_signed()
}

/// The rule of a change that counts an event in a window.
#[inline]
fn rule_for(window: u64, change: Option<Change<'_>>) -> Option<Rule> {
    match change {
        Some(Change::Count { family, value: None }) if family.first == number_of(window) => {
            family.rule(0)
        }
        _ => None,
    }
}

/// Puts a time that comes after `earlier` ones into the set of a window. False if there may be no
/// room for it, or if another event has the same time.
#[inline]
fn add(window: &mut u64, rule: Rule, earlier: &[u64], time: i64) -> bool {
    let (newest, mut word) = (u64::from(bit(earlier.len())), *window);
    // The set has at most `earlier.len()` times.
    if earlier.len() >= usize::from(rule.threshold.min(FEW.into())) || word & newest != 0 {
        return false;
    }
    let age = |other: u64| time.wrapping_sub(as_time(other)).cast_unsigned();
    // The number of the window is above all bits of the set.
    let oldest = |word: u64| earlier.get(word.trailing_zeros() as usize).copied();
    while oldest(word).is_some_and(|it| age(it) >= rule.duration.cast_unsigned()) {
        word &= word.wrapping_sub(1);
    }
    *window = word | newest;
    true
}

/// The bit of a place; no bit for a place beyond a set.
fn bit(place: usize) -> u32 {
    1_u32.unbounded_shl(place as u32)
}

fn without_lowest(set: u32) -> u32 {
    set & set.wrapping_sub(1)
}

/// The oldest time of a set.
fn oldest(set: u32, times: &[u64]) -> Option<i64> {
    times.get(set.trailing_zeros() as usize).copied().map(as_time)
}

/// The newest time of a set.
fn newest(set: u32, times: &[u64]) -> Option<i64> {
    times.get(set.checked_ilog2()? as usize).copied().map(as_time)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
