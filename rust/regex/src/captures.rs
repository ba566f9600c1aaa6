//! The places where a pattern matches, and the ranges of its groups.
//!
//! First the machine runs over the text backwards and finds at each place the positions
//! that lead to a match. A single thread then goes forwards and always takes the preferred
//! one among them (Frisch and Cardelli, "Greedy Regular Expression Matching", 2004). Each character
//! is processed a fixed number of times for any pattern.

use std::ops::Range;

use super::alphabet::Alphabet;
use super::looks::{Looks, Side};
use super::machine::{Bits, Machine, Set, has};
use super::program::{Choice, Instruction, Place, Program, Repeat};

/// Distance in characters between places whose sets are kept; the sets between are computed again
/// from there.
const BLOCK: usize = 64;

/// A pattern that knows where it matches.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) program: Program,
    /// The machine of the pattern read backwards.
    pub(super) backwards: Machine,
    /// The number of the last position.
    pub(super) last_position: u32,
    pub(super) slots: usize,
}

/// One match: the whole of it, then each group.
#[derive(Debug)]
pub struct Captures {
    slots: Box<[Option<usize>]>,
}

impl Captures {
    /// The range of a group, the whole match for 0; None if the group took no part.
    pub fn get(&self, group: usize) -> Option<Range<usize>> {
        let slot = group.saturating_mul(2);
        let start = self.slots.get(slot).copied().flatten()?;
        let end = self.slots.get(slot.saturating_add(1)).copied().flatten()?;
        Some(start..end)
    }
}

/// The matches in one text, none overlapping another; an empty one right behind the one
/// before it does not count.
pub(super) struct Matches<'p> {
    finder: &'p Finder,
    text: Reading<'p>,
    /// For each place, whether a match begins there.
    begins: Vec<bool>,
    /// The sets at the starts of the blocks.
    kept: Vec<u64>,
    /// The sets of one block.
    block: Vec<u64>,
    block_number: usize,
    thread: Thread,
    /// The place where the next match may begin, and the place where the one before ended.
    start: usize,
    last_end: Option<usize>,
}

/// A text in classes.
struct Reading<'p> {
    alphabet: &'p Alphabet,
    classes: Vec<u16>,
    /// The offset of each character, and of the end.
    offsets: Vec<u32>,
}

impl<'p> Reading<'p> {
    fn new(alphabet: &'p Alphabet, text: &str) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut offsets: Vec<u32> = text.char_indices().map(|(at, _)| offset(at)).collect();
        offsets.push(offset(text.len()));
        let classes = text.chars().map(|character| alphabet.class(character)).collect();
        Self { alphabet, classes, offsets }
    }

    fn side(&self, at: Option<usize>) -> Side {
        let class = at.and_then(|at| self.classes.get(at));
        class.map_or(Side::Edge, |class| self.alphabet.side(*class))
    }

    /// The assertions that hold before the character at a place.
    fn looks(&self, at: usize) -> Looks {
        Looks::between(self.side(at.checked_sub(1)), self.side(Some(at)))
    }

    fn offset(&self, at: usize) -> Option<usize> {
        self.offsets.get(at).map(|offset| *offset as usize)
    }
}

impl<'p> Matches<'p> {
    pub(super) fn new(finder: &'p Finder, alphabet: &'p Alphabet, text: &str) -> Self {
        let text = Reading::new(alphabet, text);
        let machine = &finder.backwards;
        let words = machine.words();
        let length = text.classes.len();
        let mut begins = vec![false; length.saturating_add(1)];
        let mut kept = vec![0; length.div_ceil(BLOCK).saturating_mul(words)];
        let (mut set, mut next) = (vec![0; words], vec![0; words]);
        // From the end: at each place the positions that lead to a match.
        for (at, begins) in begins.iter_mut().enumerate().rev() {
            let looks = text.looks(at);
            if let Some(class) = text.classes.get(at) {
                machine.step(&set, text.looks(at.saturating_add(1)), *class, &mut next);
                std::mem::swap(&mut set, &mut next);
                if at.is_multiple_of(BLOCK) {
                    let start = (at / BLOCK).saturating_mul(words);
                    let place = kept.get_mut(start..start.saturating_add(words));
                    place.unwrap_or_default().copy_from_slice(&set);
                }
            }
            *begins = machine.accepts(&set, looks);
        }
        Self {
            finder,
            text,
            begins,
            kept,
            block: Vec::new(),
            block_number: usize::MAX,
            thread: Thread::new(finder),
            start: 0,
            last_end: None,
        }
    }

    /// The positions that lead to a match by reading the character at a place.
    fn leading(&mut self, at: usize) -> &Set {
        if at >= self.text.classes.len() {
            return &[];
        }
        let words = self.finder.backwards.words();
        if self.block_number != at / BLOCK {
            self.block_number = at / BLOCK;
            self.read_block(words);
        }
        let start = (at % BLOCK).wrapping_mul(words);
        self.block.get(start..start.wrapping_add(words)).unwrap_or_default()
    }

    fn leads(&mut self, position: u32, at: usize) -> bool {
        let last = self.finder.last_position;
        has(self.leading(at), last.wrapping_sub(position))
    }

    /// The last of some positions, counted from the last, that leads to a match.
    fn last_of(&mut self, positions: &[Bits], at: usize) -> Option<u32> {
        let leading = self.leading(at);
        positions.iter().rev().find_map(|bits| bits.last_in(leading))
    }

    /// The first alternative that surely leads to a match.
    fn first_that_leads(&mut self, choice: &Choice, at: usize) -> Option<u32> {
        let last = self.finder.last_position;
        let position = last.wrapping_sub(self.last_of(&choice.first, at)?);
        let after = choice.starts.partition_point(|start| *start <= position);
        u32::try_from(after.checked_sub(1)?).ok()
    }

    fn read_block(&mut self, words: usize) {
        let Self { text, kept, block, .. } = self;
        let machine = &self.finder.backwards;
        let start = self.block_number.saturating_mul(BLOCK);
        let end = start.saturating_add(BLOCK).min(text.classes.len());
        let after = self.block_number.saturating_add(1).saturating_mul(words);
        let mut set: Vec<u64> = match kept.get(after..after.saturating_add(words)) {
            Some(set) => set.to_vec(),
            None => vec![0; words],
        };
        block.resize(BLOCK.saturating_mul(words), 0);
        for (at, next) in (start..end).zip(block.chunks_exact_mut(words)).rev() {
            let class = text.classes.get(at).copied().unwrap_or_default();
            machine.step(&set, text.looks(at.saturating_add(1)), class, next);
            set.copy_from_slice(next);
        }
    }

    /// The match that begins at a place, where one does.
    fn follow(&mut self, start: usize) -> Captures {
        let finder = self.finder;
        let mut thread = std::mem::take(&mut self.thread);
        thread.slots.fill(None);
        thread.mark(0, self.text.offset(start));
        let mut at = start;
        let mut place = finder.program.start;
        while let Some(next) = thread.settle(finder, place, at, self) {
            at = at.saturating_add(1);
            place = next;
        }
        thread.mark(1, self.text.offset(at));
        self.last_end = Some(at);
        self.start = at;
        let captures = Captures { slots: thread.slots.clone().into() };
        self.thread = thread;
        captures
    }
}

impl Iterator for Matches<'_> {
    type Item = Captures;

    fn next(&mut self) -> Option<Captures> {
        loop {
            let begins = self.begins.get(self.start..)?;
            let start = self.start.saturating_add(begins.iter().position(|begins| *begins)?);
            let last_end = self.last_end;
            let found = self.follow(start);
            if self.start != start || last_end != Some(start) {
                return Some(found);
            }
            self.start = start.saturating_add(1);
        }
    }
}

/// The one thread, and its next steps if this one fails.
#[derive(Debug, Default)]
struct Thread {
    slots: Vec<Option<usize>>,
    stack: Vec<Task>,
    /// The time at which each place was last entered.
    entered: Vec<u32>,
    now: u32,
}

#[derive(Debug)]
enum Task {
    Enter(Place),
    /// Set a slot back.
    Restore(u32, Option<usize>),
}

impl Thread {
    fn new(finder: &Finder) -> Self {
        Self {
            slots: vec![None; finder.slots],
            entered: vec![0; finder.program.instructions.len()],
            ..Self::default()
        }
    }

    fn mark(&mut self, slot: u32, at: Option<usize>) -> Option<usize> {
        let place = self.slots.get_mut(slot as usize)?;
        std::mem::replace(place, at)
    }

    /// Adds the next places, the last of them first.
    fn enter(&mut self, places: impl IntoIterator<Item = Place>) {
        self.stack.extend(places.into_iter().map(Task::Enter));
    }

    /// Advances to the preferred character that leads to a match, and reads it. Returns the place
    /// after it, or None at the end of the match.
    fn settle(
        &mut self,
        finder: &Finder,
        place: Place,
        at: usize,
        matches: &mut Matches<'_>,
    ) -> Option<Place> {
        self.now = self.now.wrapping_add(1);
        self.stack.clear();
        self.stack.push(Task::Enter(place));
        while let Some(task) = self.stack.pop() {
            let place = match task {
                Task::Enter(place) => place,
                Task::Restore(slot, before) => {
                    self.mark(slot, before);
                    continue;
                }
            };
            let entered = self.entered.get_mut(place as usize)?;
            if std::mem::replace(entered, self.now) == self.now {
                continue;
            }
            match finder.program.instructions.get(place as usize)? {
                Instruction::Accept => return None,
                Instruction::Read { position, then } => {
                    if matches.leads(*position, at) {
                        return Some(*then);
                    }
                }
                Instruction::Require { needs, then } => {
                    if matches.text.looks(at).allow(*needs) {
                        self.stack.push(Task::Enter(*then));
                    }
                }
                Instruction::Mark { slot, then } => {
                    let before = self.mark(*slot, matches.text.offset(at));
                    self.stack.push(Task::Restore(*slot, before));
                    self.stack.push(Task::Enter(*then));
                }
                Instruction::Repeat(Repeat { enter, leave, greedy, guard }) => {
                    match (guard, greedy) {
                        (None, true) => self.enter([*leave, *enter]),
                        (None, false) => self.enter([*enter, *leave]),
                        (Some(guard), greedy) => {
                            match (matches.last_of(guard, at).is_some(), greedy) {
                                (true, true) => self.enter([*enter]),
                                (true, false) => self.enter([*enter, *leave]),
                                (false, _) => self.enter([*leave]),
                            }
                        }
                    }
                }
                Instruction::Choose(choice) => {
                    let sure = matches.first_that_leads(choice, at);
                    let end = choice
                        .others
                        .partition_point(|other| sure.is_none_or(|sure| *other < sure));
                    let others = choice.others.get(..end).unwrap_or_default();
                    let tried = sure.iter().chain(others.iter().rev());
                    self.enter(
                        tried.filter_map(|number| choice.places.get(*number as usize)).copied(),
                    );
                }
            }
        }
        None
    }
}
