//! The index of a rule set: it finds the few of many rules that can be true of an event.
//!
//! **The index proposes, the evaluator decides.** For every rule [`requirements::formula`] finds
//! the conditions without which the rule is not true. One search answers a condition for all
//! rules: equality of texts by hash, parts of texts in one pass ([`substring`]), addresses
//! by their networks, numbers by their order. The rarest conditions of a rule are its *access path*
//! ([`requirements::access_path`]): at least one of them is true whenever the rule is. An event is searched once
//! ([`search`]), each condition found has a list of rules ([`postings`]), and only those rules
//! are evaluated. A search may find too many rules, but never too few.
//!
//! Rules share subexpressions. The index tests each common one once an event, and drops all rules
//! that require one which isn't true ([`postings::batch`]). A rule is *proven* if it consists of
//! its condition and its shared subexpressions ([`requirements::formula::Exact`]), the search was
//! exact and the rule can't reach a cost limit. A proven rule isn't evaluated.
//!
//! A rule with only negative conditions has no access path. It is evaluated on every event, and the
//! report of the index lists it.
//!
//! A decision reports errors. Its index skips a rule only if the rule certainly isn't an
//! error either ([`requirements::error_free`], [`requirements::worst_cost`],
//! [`postings::preconditions`]).
//!
//! The index is immutable and threads share it. Each thread has a [`Scratch`] of its own.

mod build;
pub(crate) mod layered;
mod postings;
pub(crate) mod requirements;
mod scratch;
pub(crate) mod search;
mod substring;

use std::slice::from_ref;
use std::sync::atomic::AtomicU64;

use crate::evaluate::Meter;
use crate::event::record::Record;
use crate::functions::named_lists::Lists;
use crate::program::Program;
use crate::value::limits::Limits;
use crate::value::work::Work;
use requirements::worst_cost::{Cost, Size};

pub(crate) use build::IndexedRule;
pub use build::{Report, Unindexed};
pub(crate) use requirements::conditions_of::Extractor;
pub use requirements::formula::Reason;
pub(crate) use requirements::formula::{Analysed, Exact, Necessary, analyse};
pub use scratch::Scratch;

use postings::batch::Batch;
use postings::preconditions::Preconditions;
use postings::{CommonSubexpression, CommonValues, Meaning, Posting, Postings};
use search::Searches;

/// The programs of an index, and the data to evaluate them with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) programs: &'a [Program],
    pub(crate) lists: &'a Lists,
    pub(crate) limits: &'a Limits,
}

/// The number of the next index; each of the process has its own.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// An index of programs.
#[derive(Debug)]
pub(crate) struct Index {
    number: u64,
    searches: Searches,
    postings: Postings,
    shared: Box<[CommonSubexpression]>,
    /// The bits of subexpressions that are the condition of their own number.
    searched: u64,
    /// Rules without an access path, or with an alternative that has none: candidates on every
    /// event, if they lack no shared subexpression.
    always: Box<[Posting]>,
    /// The number of conditions that are searched for.
    conditions: usize,
    rules: usize,
    /// Present if the index passes over no error.
    preconditions: Option<Preconditions>,
    /// The worst cost of a rule that the index may prove.
    certain_cost: Cost,
    report: Report,
}

impl Index {
    /// Calls `run` with this thread's memory for searches by this index.
    pub(crate) fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        postings::per_thread::with_scratch(self.number, run)
    }

    /// Calls `take` with the rules that are true of a record, in no order, each once. A rule that
    /// `passes` refuses is not evaluated, but may be among them.
    pub(crate) fn matches<'a>(
        &'a self,
        scratch: &mut Scratch,
        rules: Rules<'a>,
        record: &Record<'a>,
        passes: impl Fn(u32) -> bool,
        mut take: impl FnMut(&[u32]),
    ) {
        let mut meter = Meter::new(rules.limits);
        let mut holds = |rule: u32| {
            meter.reset();
            let program = rules.programs.get(rule as usize);
            program.is_some_and(|program| program.test(record, rules.lists, &mut meter) == Ok(true))
        };
        let mut is_cheap = None;
        let mut is_within = || {
            *is_cheap
                .get_or_insert_with(|| self.certain_cost.is_within(rules.limits, Size::of(record)))
        };
        self.candidates(rules, record, scratch, Work::unlimited(), |candidates, are_certain| {
            if are_certain && is_within() {
                return take(candidates);
            }
            let passing = candidates.iter().filter(|rule| passes(**rule));
            passing.filter(|rule| holds(**rule)).for_each(|rule| take(from_ref(rule)));
        });
    }

    /// The number of rules that may be true of a record.
    pub(crate) fn count_candidates<'a>(&'a self, rules: Rules<'a>, record: &Record<'a>) -> usize {
        let mut count = 0_usize;
        let _ = self.each_candidate(rules, record, Work::unlimited(), |_, _| {
            count = count.saturating_add(1)
        });
        count
    }

    /// Calls `take` with the rules that may be true of a record, in no order, each once, and with
    /// whether the rule is proven. An index that passes over no error also gives the rules that
    /// may be errors; in any other a proven rule may still cost too much. The search stops at
    /// the limit of `work`, and then finds too much. Returns the work done.
    pub(crate) fn each_candidate<'a>(
        &'a self,
        rules: Rules<'a>,
        record: &Record<'a>,
        work: Work,
        mut take: impl FnMut(u32, bool),
    ) -> Work {
        self.with_scratch(|scratch| {
            self.candidates(rules, record, scratch, work, |candidates, are_certain| {
                candidates.iter().for_each(|rule| take(*rule, are_certain));
            })
        })
    }

    /// [`Index::each_candidate`] with a scratch at hand; `take` gets several rules at once.
    fn candidates<'a>(
        &'a self,
        rules: Rules<'a>,
        record: &Record<'a>,
        scratch: &mut Scratch,
        work: Work,
        mut take: impl FnMut(&[u32], bool),
    ) -> Work {
        scratch.begin(&self.searches, self.conditions, self.rules, work);
        self.searches.run(record, rules.lists, scratch);
        let found = (!scratch.found_too_much).then_some(&scratch.conditions);
        let Rules { programs, lists, limits } = rules;
        let mut common = CommonValues::new(
            (&self.shared, self.searched),
            programs,
            record,
            lists,
            limits,
            found,
        )
        .after(scratch.work);
        if let Some(preconditions) = &self.preconditions {
            common = common.keeping_errors();
            preconditions.each_unmet(record, rules.limits, |rule| {
                if scratch.rules.mark(rule) {
                    take(&[rule], false);
                }
            });
        }
        let Scratch { found, rules: seen, found_too_much, proven, batch, .. } = scratch;
        let mut consider =
            |batch: &mut Batch, common: &mut CommonValues<'_, '_>, proven: &mut Vec<u32>| {
                for Posting { rule, required, meaning } in batch.take() {
                    if common.lacks(*required) || !seen.mark(*rule) {
                        continue;
                    }
                    if *meaning == Meaning::True && !common.are_open() {
                        proven.push(*rule);
                    } else {
                        take(&[*rule], false);
                    }
                }
            };
        for posting in &self.always {
            if !batch.add(*posting, &common) {
                consider(batch, &mut common, proven);
            }
        }
        for condition in found {
            for posting in self.postings.of(*condition) {
                if !batch.add(*posting, &common) {
                    consider(batch, &mut common, proven);
                }
            }
        }
        consider(batch, &mut common, proven);
        if !proven.is_empty() {
            take(proven, !*found_too_much);
        }
        common.work()
    }

    pub(crate) const fn report(&self) -> &Report {
        &self.report
    }
}
