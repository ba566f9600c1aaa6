//! A deterministic automaton over the machine's states, made while it runs.
//!
//! Its size is bounded, and so are the steps that one search may add. Text that needs a new state
//! for each character is left to the machine itself.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::alphabet::Alphabet;
use super::looks::{Looks, Side};
use super::machine::Machine;
use crate::work::Work;

/// Most bytes of one automaton.
const MAX_BYTES: usize = 512 * 1024;
/// Most steps that one search may add.
const MAX_STEPS: u32 = 512;

/// The work of a step's lookup for a byte of text, and of adding a new step, in addition to a step
/// of the machine; in the units of [`Machine::step_work`].
const BYTE_WORK: u64 = 12;
const NEW_STEP_WORK: u64 = 1_500;
/// Units of work in one unit of cost, some 20 ns.
const A_UNIT: u64 = 100;

/// The targets of a step, other than the start of a state's steps.
const UNKNOWN: u32 = u32::MAX;
const MATCH: u32 = UNKNOWN - 1;
/// A state from which no text matches.
const DEAD: u32 = UNKNOWN - 2;

/// The states found so far; one for each thread that searches.
#[derive(Debug, Default)]
pub(super) struct Lazy {
    /// Steps by state and class; the class behind the last is the end of the text.
    steps: Vec<u32>,
    /// The set of each state, then the side of the last character.
    sets: Vec<u64>,
    sides: Vec<Side>,
    by_set: HashTable<u32>,
    hasher: RandomState,
    state: Vec<u64>,
    next: Vec<u64>,
}

/// A pattern as it runs.
#[derive(Clone, Copy)]
pub(super) struct Automaton<'p> {
    pub(super) alphabet: &'p Alphabet,
    pub(super) machine: &'p Machine,
}

/// The part of the text that was not read, and the state before it.
pub(super) struct Rest<'t> {
    text: &'t str,
    state: u32,
}

impl Automaton<'_> {
    /// Whether the pattern matches anywhere in the text.
    pub(super) fn is_match(self, text: &str, lazy: &mut Lazy, work: &mut impl Work) -> bool {
        self.search(text, lazy, work).unwrap_or_else(|rest| {
            work.add(units(self.machine.step_work(), rest.text.len()));
            self.run(rest, lazy)
        })
    }

    /// The same, but gives up if the search is slow.
    ///
    /// # Errors
    /// The text makes too many new states.
    pub(super) fn search<'t>(
        self,
        text: &'t str,
        lazy: &mut Lazy,
        work: &mut impl Work,
    ) -> Result<bool, Rest<'t>> {
        if lazy.sides.is_empty() {
            lazy.clear(self);
        }
        let mut left = MAX_STEPS;
        let (found, rest) = self.look_up(text, lazy, &mut left);
        let read = text.len().saturating_sub(rest.text.len());
        work.add(units(BYTE_WORK, read).saturating_add(1));
        let added = MAX_STEPS.saturating_sub(left);
        if added > 0 {
            let each = self.machine.step_work().saturating_add(NEW_STEP_WORK);
            work.add(units(each, added as usize));
        }
        found.ok_or(rest)
    }

    /// The result of the known steps and of a number of new ones, and the rest of the text.
    fn look_up<'t>(
        self,
        text: &'t str,
        lazy: &mut Lazy,
        left: &mut u32,
    ) -> (Option<bool>, Rest<'t>) {
        let end = self.alphabet.len();
        let mut state = 0;
        let mut characters = text.chars();
        loop {
            let rest = characters.as_str();
            let class = match characters.next() {
                Some(character) => usize::from(self.alphabet.class(character)),
                None => end,
            };
            let mut next = lazy.step(state, class);
            if next >= DEAD {
                if next == UNKNOWN {
                    if *left == 0 {
                        return (None, Rest { text: rest, state });
                    }
                    *left = left.saturating_sub(1);
                    next = lazy.add(self, state, class);
                }
                if next >= DEAD {
                    return (Some(next == MATCH), Rest { text: rest, state });
                }
            }
            if class == end {
                return (Some(false), Rest { text: rest, state });
            }
            state = next;
        }
    }

    /// Whether the pattern matches in the rest of a text, without keeping steps.
    fn run(self, rest: Rest<'_>, lazy: &mut Lazy) -> bool {
        let number = lazy.number(self, rest.state);
        let mut before = lazy.load(self.machine.words(), number);
        let Lazy { state, next, .. } = lazy;
        for character in rest.text.chars() {
            let class = self.alphabet.class(character);
            let after = self.alphabet.side(class);
            let looks = Looks::between(before, after);
            if self.machine.accepts(state, looks) {
                return true;
            }
            self.machine.step(state, looks, class, next);
            std::mem::swap(state, next);
            before = after;
        }
        self.machine.accepts(state, Looks::between(before, Side::Edge))
    }

    const fn stride(self) -> usize {
        self.alphabet.len().saturating_add(1)
    }
}

/// Units of cost for the work on bytes or steps, each of which takes as much.
pub(super) const fn units(each: u64, count: usize) -> u64 {
    each.saturating_mul(count as u64) / A_UNIT
}

impl Lazy {
    #[inline]
    fn step(&self, state: u32, class: usize) -> u32 {
        self.steps.get((state as usize).wrapping_add(class)).copied().unwrap_or(UNKNOWN)
    }

    fn number(&self, automaton: Automaton<'_>, state: u32) -> usize {
        (state as usize).checked_div(automaton.stride()).unwrap_or(0)
    }

    /// Copies the set of a state to where it can be changed.
    fn load(&mut self, words: usize, number: usize) -> Side {
        let start = number.saturating_mul(words);
        let set = self.sets.get(start..start.saturating_add(words)).unwrap_or_default();
        self.state.clear();
        self.state.extend_from_slice(set);
        self.next.resize(words, 0);
        self.sides.get(number).copied().unwrap_or(Side::Edge)
    }

    /// Computes the target of a step, and keeps it.
    #[cold]
    fn add(&mut self, automaton: Automaton<'_>, state: u32, class: usize) -> u32 {
        let Automaton { alphabet, machine } = automaton;
        let number = self.number(automaton, state);
        let before = self.load(machine.words(), number);
        let read = u16::try_from(class).unwrap_or(u16::MAX);
        let is_end = class == alphabet.len();
        let after = if is_end { Side::Edge } else { alphabet.side(read) };
        let looks = Looks::between(before, after);
        let next = if machine.accepts(&self.state, looks) {
            MATCH
        } else if is_end {
            DEAD
        } else {
            machine.step(&self.state, looks, read, &mut self.next);
            if !machine.begins_anywhere() && self.next.iter().all(|word| *word == 0) {
                DEAD
            } else {
                return self.lead(automaton, state, class, after);
            }
        };
        self.set_step(state, class, next);
        next
    }

    /// The state of the set in `next`, which the step leads to from now on.
    fn lead(&mut self, automaton: Automaton<'_>, state: u32, class: usize, side: Side) -> u32 {
        let words = automaton.machine.words();
        let hash = self.hasher.hash_one((&self.next, side));
        let is_same = |number: &u32| {
            let start = (*number as usize).saturating_mul(words);
            self.sides.get(*number as usize) == Some(&side)
                && self.sets.get(start..start.saturating_add(words)) == Some(&*self.next)
        };
        let found = self.by_set.find(hash, is_same).copied();
        if let Some(number) = found {
            let next = number.wrapping_mul(automaton.stride() as u32);
            self.set_step(state, class, next);
            return next;
        }
        let bytes = size_of_val(&*self.steps).saturating_add(size_of_val(&*self.sets));
        let is_full = bytes > MAX_BYTES;
        if is_full {
            self.clear(automaton);
        }
        let number = self.insert(automaton, side, hash);
        let next = number.wrapping_mul(automaton.stride() as u32);
        if !is_full {
            self.set_step(state, class, next);
        }
        next
    }

    fn set_step(&mut self, state: u32, class: usize, next: u32) {
        if let Some(step) = self.steps.get_mut((state as usize).wrapping_add(class)) {
            *step = next;
        }
    }

    /// Adds the set in `next` as a state.
    fn insert(&mut self, automaton: Automaton<'_>, side: Side, hash: u64) -> u32 {
        let Self { steps, sets, sides, by_set, hasher, next, .. } = self;
        let words = automaton.machine.words();
        let number = u32::try_from(sides.len()).unwrap_or(u32::MAX);
        sets.extend_from_slice(next);
        sides.push(side);
        steps.resize(steps.len().saturating_add(automaton.stride()), UNKNOWN);
        by_set.insert_unique(hash, number, |number| {
            let start = (*number as usize).saturating_mul(words);
            let set = sets.get(start..start.saturating_add(words)).unwrap_or_default();
            hasher.hash_one((set, sides.get(*number as usize).copied().unwrap_or(Side::Edge)))
        });
        number
    }

    /// Drops all states but the first, which is before the text.
    fn clear(&mut self, automaton: Automaton<'_>) {
        self.steps.clear();
        self.sets.clear();
        self.sides.clear();
        self.by_set.clear();
        let kept = std::mem::take(&mut self.next);
        self.next = vec![0; automaton.machine.words()];
        let hash = self.hasher.hash_one((&self.next, Side::Edge));
        self.insert(automaton, Side::Edge, hash);
        self.next = kept;
    }
}
