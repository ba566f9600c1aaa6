//! All tests of one text: by hash, by a search for parts, by pattern.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use regex::Regex;

use crate::functions::regex::clip;
use crate::index::condition::TextTest;
use crate::index::memory::Recall;
use crate::index::scratch::Scratch;
use crate::index::substring::{GramCounts, Part, Place, Scanned, Substrings};
use crate::lists::{ListIndex, Lists};

/// Patterns by their text, as programs have them.
pub(crate) type CompiledPatterns = HashMap<Box<str>, Regex, RandomState>;

/// Conditions by the whole text.
#[derive(Debug, Default)]
struct Whole {
    ranges: HashMap<Box<str>, (u32, u32), RandomState>,
    conditions: Box<[u32]>,
}

impl Whole {
    fn new(named: HashMap<Box<str>, Vec<u32>, RandomState>) -> Self {
        let mut conditions = Vec::new();
        let mut ranges = HashMap::default();
        for (text, of_text) in named {
            let start = u32::try_from(conditions.len()).unwrap_or(u32::MAX);
            conditions.extend(of_text);
            let end = u32::try_from(conditions.len()).unwrap_or(u32::MAX);
            ranges.insert(text, (start, end));
        }
        Self { ranges, conditions: conditions.into() }
    }

    #[inline]
    fn find(&self, text: &str) -> &[u32] {
        let Some((start, end)) = self.ranges.get(text) else { return &[] };
        self.conditions.get(*start as usize..*end as usize).unwrap_or_default()
    }

    fn memory_bytes(&self) -> usize {
        let texts: usize = self.ranges.keys().map(|text| text.len()).sum();
        let places = self.ranges.capacity().saturating_mul(size_of::<(Box<str>, (u32, u32))>());
        texts.saturating_add(places).saturating_add(std::mem::size_of_val(&*self.conditions))
    }
}

/// Patterns that no text leads to.
#[derive(Debug)]
struct Patterns {
    patterns: Box<[Regex]>,
    is_folded: bool,
    condition: u32,
}

#[derive(Debug)]
pub(crate) struct TextSearch {
    whole: Whole,
    whole_folded: Whole,
    substrings: Option<Substrings>,
    patterns: Box<[Patterns]>,
    lists: Box<[(ListIndex, u32)]>,
    /// Whether some test is of the text in lower case.
    folds: bool,
    /// Whether looking a text up in a memory is cheaper than the search.
    remembers: bool,
}

impl TextSearch {
    /// Reports the conditions that are true of a text.
    #[inline]
    pub(crate) fn run(&self, number: usize, text: &str, lists: &Lists, scratch: &mut Scratch) {
        if !self.remembers || text.is_empty() {
            self.search(text, lists, scratch);
            return scratch.report_local();
        }
        let missed = match scratch.memories.get_mut(number).map(|memory| memory.recall(text)) {
            Some(Recall::Known(conditions)) => {
                for condition in conditions {
                    if scratch.conditions.mark(*condition) {
                        scratch.found.push(*condition);
                    }
                }
                return;
            }
            Some(Recall::Missed(missed)) => Some(missed),
            Some(Recall::Passed) | None => None,
        };
        self.search(text, lists, scratch);
        if let (Some(missed), Some(memory)) = (missed, scratch.memories.get_mut(number))
            && memory.wants(missed)
        {
            scratch.local.sort_unstable();
            scratch.local.dedup();
            memory.remember(missed, text, &scratch.local);
        }
        scratch.report_local();
    }

    /// Leaves the conditions that are true of a text in `scratch.local`.
    fn search(&self, text: &str, lists: &Lists, scratch: &mut Scratch) {
        let Scratch { local, folded, .. } = scratch;
        local.clear();
        local.extend(self.whole.find(text));
        if self.folds {
            folded.clear();
            folded.push_str(text);
            folded.make_ascii_lowercase();
            local.extend(self.whole_folded.find(folded));
        }
        if let Some(substrings) = &self.substrings {
            let scanned = substrings.scan(text.as_bytes(), folded.as_bytes(), |condition| {
                local.push(condition);
            });
            if scanned == Scanned::GivenUp {
                local.extend(substrings.conditions());
            }
        }
        for patterns in &self.patterns {
            let subject = clip(if patterns.is_folded { folded } else { text });
            if patterns.patterns.iter().any(|pattern| pattern.is_match(subject)) {
                local.push(patterns.condition);
            }
        }
        for (list, condition) in &self.lists {
            if lists.has_text(*list, text) {
                local.push(*condition);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let substrings = self.substrings.as_ref().map_or(0, Substrings::memory_bytes);
        self.whole
            .memory_bytes()
            .saturating_add(self.whole_folded.memory_bytes())
            .saturating_add(substrings)
    }
}

#[derive(Default)]
pub(crate) struct TextSearchBuilder {
    whole: HashMap<Box<str>, Vec<u32>, RandomState>,
    whole_folded: HashMap<Box<str>, Vec<u32>, RandomState>,
    parts: Vec<Part>,
    patterns: Vec<Patterns>,
    lists: Vec<(ListIndex, u32)>,
}

impl TextSearchBuilder {
    pub(crate) fn add(
        &mut self,
        test: &TextTest,
        is_folded: bool,
        condition: u32,
        compiled: &CompiledPatterns,
    ) {
        let (texts, place) = match test {
            TextTest::Equals(texts) => {
                let whole = if is_folded { &mut self.whole_folded } else { &mut self.whole };
                for text in texts {
                    whole.entry(text.clone()).or_default().push(condition);
                }
                return;
            }
            TextTest::InList(list) => return self.lists.push((*list, condition)),
            TextTest::Matches(patterns) => {
                let patterns =
                    patterns.iter().filter_map(|pattern| compiled.get(pattern).cloned()).collect();
                return self.patterns.push(Patterns { patterns, is_folded, condition });
            }
            TextTest::Contains(texts) => (texts, Place::Anywhere),
            TextTest::StartsWith(texts) => (texts, Place::Start),
            TextTest::EndsWith(texts) => (texts, Place::End),
        };
        let parts =
            texts.iter().map(|text| Part { text: text.clone(), place, is_folded, condition });
        self.parts.extend(parts);
    }

    /// The search; `counts` has the grams of texts of its kind.
    pub(crate) fn build(self, counts: &GramCounts) -> TextSearch {
        let substrings = match self.parts.as_slice() {
            [] => None,
            parts => Some(Substrings::new(parts, counts)),
        };
        let has_folded_patterns = self.patterns.iter().any(|patterns| patterns.is_folded);
        TextSearch {
            folds: substrings.is_some() || has_folded_patterns || !self.whole_folded.is_empty(),
            remembers: substrings.is_some() || !self.patterns.is_empty(),
            whole: Whole::new(self.whole),
            whole_folded: Whole::new(self.whole_folded),
            substrings,
            patterns: self.patterns.into(),
            lists: self.lists.into(),
        }
    }
}
