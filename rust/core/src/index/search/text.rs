//! All tests of one text: by hash, by a search for parts, by patterns.

use crate::index::requirements::compiled_pattern::{CompiledPattern, CompiledPatterns};
use std::collections::{BTreeMap, HashMap};

use crate::functions;
use crate::functions::named_lists::{ListIndex, Lists};
use crate::functions::regex::clip;
use crate::index::requirements::condition::{Pattern, TextTest};
use crate::index::scratch::Scratch;
use crate::index::search::value_cache::Recall;
use crate::index::substring::{Part, Place, Scanned, Substrings};
use crate::value::work::Work;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use tidegate_regex::Regex;

/// Reported if the search for parts was given up and so found too much. No condition has this
/// number.
const GIVEN_UP: u32 = u32::MAX;
/// The search for parts reports texts required by patterns from this number on.
pub(in crate::index) const FIRST_LITERAL: u32 = 1 << 31;
/// Running fewer patterns than this for one required text is fast.
const MANY: u32 = 16;

/// Conditions by the whole text; most texts have one.
type Whole = HashMap<Box<str>, SmallVec<[u32; 4]>, RandomState>;

/// A pattern of a condition that is true if any of its patterns matches.
#[derive(Debug)]
pub(in crate::index) struct SoughtPattern {
    pub(in crate::index) regex: Regex,
    pub(in crate::index) is_folded: bool,
    pub(in crate::index) condition: u32,
}

/// A text that patterns are run on.
#[derive(Clone, Copy)]
struct Subject<'t> {
    text: &'t str,
    folded: &'t str,
}

impl SoughtPattern {
    /// Whether it matches, or is not run because the work is over.
    fn matches(&self, subject: Subject<'_>, work: &mut Work) -> bool {
        let text = if self.is_folded { subject.folded } else { subject.text };
        self.regex.is_match(clip(text), work)
    }
}

/// A test against a named list.
#[derive(Debug)]
pub(in crate::index) struct ListTest {
    list: ListIndex,
    /// The place of a phrase; None if the whole text is sought in the list.
    phrase: Option<functions::Place>,
    is_folded: bool,
    condition: u32,
}

impl ListTest {
    fn holds(&self, subject: Subject<'_>, lists: &Lists) -> bool {
        let text = if self.is_folded { subject.folded } else { subject.text };
        match self.phrase {
            Some(place) => lists.has_phrase(self.list, place, text).unwrap_or(false),
            None => lists.has_text(self.list, text),
        }
    }
}

#[derive(Debug)]
pub(crate) struct TextSearch {
    pub(in crate::index) whole: Whole,
    pub(in crate::index) whole_folded: Whole,
    pub(in crate::index) substrings: Option<Substrings>,
    /// Patterns that are run where a text that they require was found.
    pub(in crate::index) with_literal: Box<[SoughtPattern]>,
    /// Those patterns by required text, from [`FIRST_LITERAL`] on.
    literals: Box<[Vec<u32>]>,
    /// Patterns that are run on every text.
    pub(in crate::index) others: Box<[SoughtPattern]>,
    pub(in crate::index) lists: Box<[ListTest]>,
    /// Whether some test is of the text in lower case.
    folds: bool,
    /// Whether looking a text up in the value cache is cheaper than the search.
    remembers: bool,
    /// Whether some condition may be true of `""`, the value of what an event lacks.
    finds_in_nothing: bool,
}

impl TextSearch {
    /// Whether some condition may be true of `""`, the value of what an event lacks.
    pub(crate) const fn finds_in_nothing(&self) -> bool {
        self.finds_in_nothing
    }

    /// Reports the conditions that are true of a text.
    pub(crate) fn run(&self, number: usize, text: &str, lists: &Lists, scratch: &mut Scratch) {
        if !self.remembers || text.is_empty() {
            self.search(text, lists, scratch);
            return scratch.report_local();
        }
        let missed = match scratch.value_caches.get_mut(number).map(|cache| cache.recall(text)) {
            Some(Recall::Known(conditions)) => {
                for condition in conditions {
                    scratch.found_too_much |= condition == GIVEN_UP;
                    if scratch.conditions.mark(condition) {
                        scratch.found.push(condition);
                    }
                }
                return;
            }
            Some(Recall::Missed(missed)) => Some(missed),
            Some(Recall::Passed) | None => None,
        };
        self.search(text, lists, scratch);
        if let (Some(missed), Some(cache)) = (missed, scratch.value_caches.get_mut(number))
            && !scratch.work.is_over()
            && cache.wants(missed)
        {
            scratch.local.sort_unstable();
            scratch.local.dedup();
            cache.remember(missed, text, &scratch.local);
        }
        scratch.report_local();
    }

    /// Leaves the conditions that are true of a text in `scratch.local`.
    fn search(&self, text: &str, lists: &Lists, scratch: &mut Scratch) {
        let Scratch { local, folded, found_too_much, work, .. } = scratch;
        local.clear();
        local.extend(self.whole.get(text).into_iter().flatten());
        if self.folds {
            folded.clear();
            folded.push_str(text);
            folded.make_ascii_lowercase();
            local.extend(self.whole_folded.get(&**folded).into_iter().flatten());
        }
        let subject = Subject { text, folded };
        if let Some(substrings) = &self.substrings {
            let start = local.len();
            let scanned = substrings.scan(text.as_bytes(), folded.as_bytes(), |found| {
                local.push(found);
            });
            if scanned == Scanned::GivenUp {
                local.extend(substrings.conditions());
            }
            self.run_patterns(scanned, subject, start, local, work);
            if scanned == Scanned::GivenUp {
                local.push(GIVEN_UP);
                *found_too_much = true;
            }
        }
        let matching = self.others.iter().filter(|pattern| pattern.matches(subject, work));
        local.extend(matching.map(|pattern| pattern.condition));
        *found_too_much |= work.is_over();
        let holding = self.lists.iter().filter(|test| test.holds(subject, lists));
        local.extend(holding.map(|test| test.condition));
    }

    /// Replaces the literals found, from `start` on, by the conditions of their patterns that
    /// match. After a search that was given up no pattern is run and all are reported.
    fn run_patterns(
        &self,
        scanned: Scanned,
        subject: Subject<'_>,
        start: usize,
        local: &mut Vec<u32>,
        work: &mut Work,
    ) {
        let found = local.get_mut(start..).unwrap_or_default();
        // The fold has no branch, so that it is vectorised; most texts have no such literal.
        if found.iter().fold(0, |all, found| all | found) < FIRST_LITERAL {
            return;
        }
        found.sort_unstable();
        let first = found.partition_point(|found| *found < FIRST_LITERAL);
        let mut literals: SmallVec<[u32; 32]> =
            local.drain(start.saturating_add(first)..).collect();
        literals.dedup();
        let mut patterns: SmallVec<[u32; 32]> = SmallVec::new();
        for literal in literals {
            let literal = (literal ^ FIRST_LITERAL) as usize;
            patterns.extend_from_slice(self.literals.get(literal).map_or(&[], Vec::as_slice));
        }
        patterns.sort_unstable();
        patterns.dedup();
        for number in patterns {
            let Some(pattern) = self.with_literal.get(number as usize) else { continue };
            let is_known = local.last() == Some(&pattern.condition);
            if !is_known && (scanned == Scanned::GivenUp || pattern.matches(subject, work)) {
                local.push(pattern.condition);
            }
        }
    }
}

/// Chooses for each pattern one of the texts it requires, the best that few other patterns
/// require. Returns the texts chosen, each with its patterns.
fn literals(required: &[Vec<Vec<Box<str>>>]) -> BTreeMap<&str, Vec<u32>> {
    let mut sharers: HashMap<&str, u32, RandomState> = HashMap::default();
    for text in required.iter().flatten().flatten() {
        let count = sharers.entry(text).or_default();
        *count = count.saturating_add(1);
    }
    let sharers = |text: &str| sharers.get(text).copied().unwrap_or(0);
    let sharing = |texts: &&Vec<Box<str>>| {
        texts.iter().map(|text| sharers(text)).max().map(|most| most / MANY)
    };
    let mut by_text: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (number, choices) in (0_u32..).zip(required) {
        for text in choices.iter().min_by_key(sharing).into_iter().flatten() {
            by_text.entry(text).or_default().push(number);
        }
    }
    by_text
}

#[derive(Default)]
pub(crate) struct TextSearchBuilder {
    whole: Whole,
    whole_folded: Whole,
    parts: Vec<Part>,
    with_literal: Vec<SoughtPattern>,
    /// The [`CompiledPattern::required`] of each pattern.
    required: Vec<Vec<Vec<Box<str>>>>,
    others: Vec<SoughtPattern>,
    lists: Vec<ListTest>,
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
            TextTest::InList(list) => {
                return self.lists.push(ListTest {
                    list: *list,
                    phrase: None,
                    is_folded,
                    condition,
                });
            }
            TextTest::HasPhrase(list, place) => {
                let phrase = Some(*place);
                return self.lists.push(ListTest { list: *list, phrase, is_folded, condition });
            }
            TextTest::Matches(patterns) => {
                for pattern in patterns {
                    self.add_pattern(pattern, is_folded, condition, compiled);
                }
                return;
            }
            TextTest::Contains(texts) => (texts, Place::Anywhere),
            TextTest::StartsWith(texts) => (texts, Place::Start),
            TextTest::EndsWith(texts) => (texts, Place::End),
        };
        let parts =
            texts.iter().map(|text| Part { text: text.clone(), place, is_folded, condition });
        self.parts.extend(parts);
    }

    fn add_pattern(
        &mut self,
        pattern: &Pattern,
        is_folded: bool,
        condition: u32,
        compiled: &CompiledPatterns,
    ) {
        let Some(compiled) = compiled.get(&pattern.text) else { return };
        let CompiledPattern { regex, required } = compiled;
        let sought = SoughtPattern { regex: regex.clone(), is_folded, condition };
        if required.is_empty() {
            return self.others.push(sought);
        }
        self.with_literal.push(sought);
        self.required.push(required.clone());
    }

    pub(crate) fn build(mut self) -> TextSearch {
        self.whole.shrink_to_fit();
        self.whole_folded.shrink_to_fit();
        let literals = literals(&self.required);
        self.parts.extend((FIRST_LITERAL..).zip(literals.keys()).map(|(number, text)| Part {
            text: Box::from(*text),
            place: Place::Anywhere,
            is_folded: true,
            condition: number,
        }));
        let substrings = match self.parts.as_slice() {
            [] => None,
            parts => Some(Substrings::new(parts)),
        };
        let others: Box<[SoughtPattern]> = self.others.into();
        let has_folded_tests = others.iter().any(|pattern| pattern.is_folded)
            || self.lists.iter().any(|test| test.is_folded);
        let is_named = self.whole.contains_key("") || self.whole_folded.contains_key("");
        TextSearch {
            finds_in_nothing: is_named || !others.is_empty() || !self.lists.is_empty(),
            folds: substrings.is_some() || has_folded_tests || !self.whole_folded.is_empty(),
            remembers: substrings.is_some() || !others.is_empty(),
            whole: self.whole,
            whole_folded: self.whole_folded,
            substrings,
            with_literal: self.with_literal.into(),
            literals: literals.into_values().collect(),
            others,
            lists: self.lists.into(),
        }
    }
}

#[cfg(test)]
mod tests;
