//! Parts of text by an automaton: for parts of few letters, of which text of the same letters
//! has one so often that no filter says where.
//!
//! That of Aho and Corasick (Efficient String Matching, 1975): a step for each byte of the text
//! finds the longest run of a part that ends there, and that leads to the shorter ones. What no run
//! goes on from has no row of steps of its own: it is told by the step, which leads to the longest
//! of its ends that has one.
//!
//! Not that of the crate of their name, which has a row for every run and a list of parts for
//! each of its ends. It takes twice the memory, and past the bound for text full of them
//! (`benchmarks/README.md`, hostile sets).

use std::collections::VecDeque;
use std::ops::Range;

use crate::index::gram_table::{BLOCK, Entry, LOOKS_A_COMPARISON, Looks, keep_if};

/// Parts of more bytes that differ are not of few letters.
const MAX_CLASSES: usize = 32;
/// How many steps there may be for each part, of eight bytes.
const STEPS_A_PART: usize = 8;
/// A text of up to so many bytes is gone through in one piece.
const SHORT: usize = 64;
/// No part.
const NOTHING: u32 = u32::MAX;

/// A part by a run of its bytes.
pub(crate) struct Run<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) condition: u32,
    /// What to compare, where the part need not be wherever the run is.
    pub(crate) entry: Option<Entry>,
}

/// What a byte leads to.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Where the row of steps for the next byte begins.
    row: u32,
    /// The part of the longest run that ends with the byte.
    part: u32,
}

/// A part whose run was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    condition: u32,
    /// The part of the next shorter run that ends there as well, or of the same one.
    next: u32,
}

#[derive(Debug)]
pub(crate) struct Automaton {
    /// The places of bytes in a row.
    classes: Box<[u8; 256]>,
    steps: Box<[Step]>,
    parts: Box<[Found]>,
    /// Of the first parts, which are compared.
    entries: Box<[Entry]>,
    /// How many bytes the longest run has.
    width: usize,
}

impl Automaton {
    /// None where the runs have too many letters or too little in common.
    pub(crate) fn new(mut runs: Vec<Run<'_>>) -> Option<Self> {
        runs.sort_by_key(|run| run.entry.is_none());
        let mut trie = Trie::new(&runs)?;
        let steps = trie.steps()?;
        let parts = runs.iter().zip(trie.next);
        Some(Self {
            classes: trie.classes,
            steps,
            parts: parts.map(|(run, next)| Found { condition: run.condition, next }).collect(),
            entries: runs.iter().filter_map(|run| run.entry).collect(),
            width: runs.iter().map(|run| run.bytes.len()).max()?,
        })
    }

    /// The conditions of all its parts.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|found| found.condition)
    }

    /// Reports the parts that are in the text, until there is too much to look at: says
    /// whether there is not.
    pub(crate) fn scan(&self, looks: &mut Looks<'_, impl FnMut(u32)>) -> bool {
        let text = looks.folded;
        if text.len() <= SHORT {
            return self.scan_short(looks).is_some();
        }
        // A step waits for the one before, so halves are gone through together. Each has as
        // much of the other as a run may take.
        let length = text.len().div_ceil(2).saturating_add(self.width).min(text.len());
        let later = text.len().wrapping_sub(length);
        let halves = [text.get(..length), text.get(later..)];
        let [first, second] = halves.map(|half| half.unwrap_or_default().chunks(BLOCK / 2));
        let mut starts = [0, later as u32];
        let (mut rows, mut ended) = ([0; 2], [(0, 0); BLOCK]);
        for blocks in first.zip(second) {
            let count = self.keep_ends(blocks, starts, &mut rows, &mut ended);
            if self.report(ended.get(..count).unwrap_or_default(), looks).is_none() {
                return false;
            }
            starts = starts.map(|start| start.wrapping_add(BLOCK as u32 / 2));
        }
        true
    }

    fn scan_short(&self, looks: &mut Looks<'_, impl FnMut(u32)>) -> Option<()> {
        let mut row = 0;
        for (end, byte) in (0..).zip(looks.folded) {
            let step = self.step(row, *byte);
            row = step.row;
            if step.part != NOTHING {
                self.report(&[(end, step.part)], looks)?;
            }
        }
        Some(())
    }

    /// Keeps where runs end in blocks of the text, each with the part of the longest, and gives
    /// their number.
    #[inline(never)]
    fn keep_ends(
        &self,
        (first, second): (&[u8], &[u8]),
        [first_start, second_start]: [u32; 2],
        rows: &mut [u32; 2],
        ended: &mut [(u32, u32); BLOCK],
    ) -> usize {
        let [mut first_row, mut second_row] = *rows;
        let mut count = 0;
        let mut go = |row: &mut u32, byte: &u8, end: u32| {
            let step = self.step(*row, *byte);
            *row = step.row;
            keep_if(step.part != NOTHING, (end, step.part), ended, &mut count);
        };
        for (place, (first, second)) in (0..).zip(first.iter().zip(second)) {
            go(&mut first_row, first, first_start.wrapping_add(place));
            go(&mut second_row, second, second_start.wrapping_add(place));
        }
        *rows = [first_row, second_row];
        count
    }

    #[inline(always)]
    fn step(&self, row: u32, byte: u8) -> Step {
        let class = self.classes.get(usize::from(byte)).copied().unwrap_or(0);
        let step = self.steps.get((row as usize).wrapping_add(usize::from(class)));
        step.copied().unwrap_or(Step { row: 0, part: NOTHING })
    }

    /// Reports the parts of the longest runs that end somewhere, and of those that end there as
    /// well; None if they are too many.
    fn report(&self, ended: &[(u32, u32)], looks: &mut Looks<'_, impl FnMut(u32)>) -> Option<()> {
        for &(end, longest) in ended {
            let mut part = longest;
            while let Some(Found { condition, next }) = self.parts.get(part as usize).copied() {
                looks.left = looks.left.checked_sub(1)?;
                match self.entries.get(part as usize) {
                    None => (looks.report)(condition),
                    Some(entry) => {
                        looks.left = looks.left.saturating_sub(LOOKS_A_COMPARISON);
                        looks.compare(entry, end as usize);
                    }
                }
                part = next;
            }
        }
        Some(())
    }
}

/// What the runs begin with, each a node: the children of a node by class, 0 where there is
/// none, and the part of the run that is the node.
struct Trie {
    classes: Box<[u8; 256]>,
    /// How many classes there are.
    width: usize,
    children: Vec<u32>,
    parts: Vec<u32>,
    /// By the part, what [`Found`] says.
    next: Vec<u32>,
}

impl Trie {
    fn new(runs: &[Run<'_>]) -> Option<Self> {
        let mut classes = Box::new([0; 256]);
        let mut width = 1_u8;
        for byte in runs.iter().flat_map(|run| run.bytes) {
            let class = classes.get_mut(usize::from(*byte))?;
            if *class == 0 {
                *class = width;
                width = width.checked_add(1)?;
            }
        }
        let width = usize::from(width);
        if width > MAX_CLASSES {
            return None;
        }
        let most = most_rows(runs.len(), width).saturating_add(runs.len());
        let mut trie =
            Self { classes, width, children: vec![0; width], parts: vec![NOTHING], next: vec![] };
        for (part, run) in (0..).zip(runs) {
            let mut node = 0;
            for byte in run.bytes {
                node = trie.child_or_new(node, *byte)?;
            }
            if trie.parts.len() > most {
                return None;
            }
            let first = trie.parts.get_mut(node as usize)?;
            trie.next.push(*first);
            *first = part;
        }
        Some(trie)
    }

    fn child_or_new(&mut self, node: u32, byte: u8) -> Option<u32> {
        let class = usize::from(*self.classes.get(usize::from(byte))?);
        let place = (node as usize).checked_mul(self.width)?.checked_add(class)?;
        let child = self.children.get_mut(place)?;
        if *child == 0 {
            *child = u32::try_from(self.parts.len()).ok()?;
            self.parts.push(NOTHING);
            self.children.resize(self.parts.len().checked_mul(self.width)?, 0);
        }
        self.children.get(place).copied()
    }

    /// The rows of steps: of the nodes that have children, the shortest first. None if there are
    /// too many. A node without children goes on as its end does: the longest node that it ends
    /// with.
    fn steps(&mut self) -> Option<Box<[Step]>> {
        let mut ends = vec![0_u32; self.parts.len()];
        let mut starts = ends.clone();
        let (mut nodes, mut with_rows) = (VecDeque::from([0_u32]), Vec::new());
        while let Some(node) = nodes.pop_front() {
            let end = *ends.get(node as usize)?;
            let row = self.row(node)?;
            let start = if self.children.get(row.clone())?.iter().all(|child| *child == 0) {
                *starts.get(end as usize)?
            } else {
                with_rows.push(row.clone());
                u32::try_from(with_rows.len().checked_sub(1)?.checked_mul(self.width)?).ok()?
            };
            *starts.get_mut(node as usize)? = start;
            for (place, of_end) in row.zip(self.row(end)?) {
                let after_end = if node == 0 { 0 } else { *self.children.get(of_end)? };
                let child = self.children.get_mut(place)?;
                if *child == 0 {
                    *child = after_end;
                } else {
                    nodes.push_back(*child);
                    *ends.get_mut(*child as usize)? = after_end;
                    let (child, end) = (*child, *self.parts.get(after_end as usize)?);
                    self.append(child, end)?;
                }
            }
        }
        if with_rows.len() > most_rows(self.next.len(), self.width) {
            return None;
        }
        let step = |child: &u32| {
            let node = *child as usize;
            Some(Step { row: *starts.get(node)?, part: *self.parts.get(node)? })
        };
        let children = with_rows.into_iter().filter_map(|row| self.children.get(row)).flatten();
        children.map(step).collect()
    }

    /// Where the children of a node are.
    fn row(&self, node: u32) -> Option<Range<usize>> {
        let start = (node as usize).checked_mul(self.width)?;
        Some(start..start.checked_add(self.width)?)
    }

    /// Puts the parts of a node's end behind its own.
    fn append(&mut self, node: u32, end: u32) -> Option<()> {
        let first = self.parts.get_mut(node as usize)?;
        if *first == NOTHING {
            *first = end;
            return Some(());
        }
        let mut last = *first as usize;
        while let Some(next) = self.next.get(last).filter(|next| **next != NOTHING) {
            last = *next as usize;
        }
        *self.next.get_mut(last)? = end;
        Some(())
    }
}

/// How many rows of a width there may be for so many parts.
fn most_rows(parts: usize, width: usize) -> usize {
    parts.saturating_mul(STEPS_A_PART).checked_div(width).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automaton(texts: &[String]) -> Option<Automaton> {
        let run = |(condition, bytes)| Run { bytes, condition, entry: None };
        Automaton::new((0..).zip(texts.iter().map(String::as_bytes)).map(run).collect())
    }

    fn found(automaton: &Automaton, text: &str) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let (text, parts) = (text.as_bytes(), &[][..]);
        let report = |condition| found.push(condition);
        let mut looks = Looks { text, folded: text, parts, left: 100, report };
        let is_within = automaton.scan(&mut looks);
        found.sort_unstable();
        found.dedup();
        is_within.then_some(found)
    }

    #[test]
    fn all_that_end_together_are_found_until_there_are_too_many() {
        let automaton =
            automaton(&["aabaa", "abaa", "baa", "aa", "aa", "bb"].map(Into::into)).unwrap();
        for (text, expected) in [
            ("", vec![]),
            ("a", vec![]),
            ("aaxabaa", vec![1, 2, 3, 4]),
            ("aabaa", vec![0, 1, 2, 3, 4]),
            ("aabb", vec![3, 4, 5]),
            ("bbaxa", vec![5]),
        ] {
            assert_eq!(found(&automaton, text), Some(expected), "{text}");
        }
        assert_eq!(found(&automaton, &"aabaa".repeat(30)), None);
        assert_eq!(found(&automaton, &"abx".repeat(300)), Some(vec![]));
    }

    #[test]
    fn runs_of_many_letters_or_with_little_in_common_have_no_automaton() {
        let texts: Vec<String> = (0..1000).map(|number| format!("{number:016b}")).collect();
        assert!(automaton(&texts).is_some());
        let mut many = texts.clone();
        many.extend((32..=96).map(|byte: u8| format!("{}", char::from(byte))));
        assert!(automaton(&many).is_none());
        let texts: Vec<String> = (1..1000_u32)
            .map(|number| format!("{:032b}", number.wrapping_mul(0x9E37_79B1)))
            .collect();
        assert!(automaton(&texts).is_none());
    }
}
