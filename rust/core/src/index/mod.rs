//! The index of a rule set: which few of many rules can be true of an event.
//!
//! **The index proposes, the evaluator decides.** For every rule [`formula`] works out
//! what must hold for it to be true, in terms of [`condition`]s that one search
//! can answer for all rules: equality by hash, parts of texts in one scan
//! ([`substring`]), addresses in [`networks`], numbers by their order. Of these the
//! rarest are chosen as the rule's *access*: at least one of them is true whenever
//! the rule is. An event is searched once ([`searches`]), the conditions found lead to
//! rules ([`postings`]), and only those are evaluated. A search may find too much; it
//! never finds too little.
//!
//! What a rule needs beside the condition that leads to it is found out once for all rules
//! that need it, by the search itself where that says it ([`postings`]), and decides as much
//! as how rare a condition is what leads to a rule ([`access`]). Where both are all that the
//! rule asks for ([`formula::Truth`]), where the search found nothing too much and no limit of
//! cost can be met, the rule is true and is not evaluated. Rules that lack something are
//! dropped together ([`led`]).
//!
//! A rule that only says what must not be has no such condition. It is evaluated on every
//! event, and the report of the index names it.
//!
//! Where errors are told, as in a decision, the index passes over a rule only if it is
//! certainly no error either ([`certainty`], [`worst_cost`], [`guards`]).
//!
//! The index is immutable and shared by threads; what a search needs beside it is in
//! a [`Scratch`] that each thread has of its own.

mod access;
mod atom;
mod build;
pub(crate) mod certainty;
mod condition;
mod formula;
mod guards;
mod implied;
mod led;
mod local;
mod memory;
mod networks;
mod numbers;
mod postings;
mod scratch;
mod searches;
mod substring;
mod text_search;
pub(crate) mod worst_cost;

use std::slice::from_ref;
use std::sync::atomic::AtomicU64;

use crate::evaluate::Meter;
use crate::limits::Limits;
use crate::lists::Lists;
use crate::program::Program;
use crate::record::Record;
use crate::work::Work;
use worst_cost::{Cost, Size};

pub(crate) use atom::Atoms;
pub(crate) use build::ExactRule;
pub use build::{Report, Unindexed};
pub use formula::Reason;
pub(crate) use formula::{Analysed, Formula, Truth, analyse};
pub(crate) use scratch::Marks;
pub use scratch::Scratch;

use guards::Guards;
use led::Led;
use postings::{Meaning, Needs, Posting, Postings, Shared};
use searches::Searches;

/// The programs that an index is of, and what they are evaluated with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) programs: &'a [Program],
    pub(crate) lists: &'a Lists,
    pub(crate) limits: &'a Limits,
}

/// Tells indexes of one process apart.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// An index of programs.
#[derive(Debug)]
pub(crate) struct Index {
    number: u64,
    searches: Searches,
    postings: Postings,
    shared: Box<[Shared]>,
    /// Those of them that are the condition of their own number.
    searched: u64,
    /// Rules that no condition leads to, or that one of their alternatives has nothing to be
    /// led to by: looked at on every event, if they lack nothing.
    always: Box<[Posting]>,
    /// How many conditions are searched for.
    conditions: usize,
    rules: usize,
    /// For an index that passes over no error.
    guards: Option<Guards>,
    /// What the rules cost at most that need not be evaluated where they are certain.
    certain_cost: Cost,
    report: Report,
}

impl Index {
    /// Hands over this thread's memory for searches by this index.
    pub(crate) fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        local::with_scratch(self.number, run)
    }

    /// Hands over the rules that are true of a record, in no order, each once. Those that
    /// `passes` refuses are not evaluated, but may be among them.
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

    /// How many rules may be true of a record.
    pub(crate) fn count_candidates<'a>(&'a self, rules: Rules<'a>, record: &Record<'a>) -> usize {
        let mut count = 0_usize;
        let _ = self.each_candidate(rules, record, Work::unlimited(), |_, _| {
            count = count.saturating_add(1)
        });
        count
    }

    /// Hands over the rules that may be true of a record, in no order, each once, and whether
    /// they are for certain; those that may be errors as well, if they are told. Where they are not,
    /// what is certain may cost too much. The search does no more than so much work, and finds too
    /// much where that ends; gives what it did.
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

    /// The same with scratch memory at hand, some at once, and whether they are true if they
    /// do not cost too much.
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
        scratch.order_found(|condition| self.postings.settles(condition));
        let found = (!scratch.found_too_much).then_some(&scratch.conditions);
        let Rules { programs, lists, limits } = rules;
        let mut needs =
            Needs::new((&self.shared, self.searched), programs, record, lists, limits, found)
                .after(scratch.work);
        if let Some(guards) = &self.guards {
            needs = needs.keeping_errors();
            guards.each_unmet(record, rules.limits, |rule| {
                if scratch.rules.mark(rule) {
                    take(&[rule], false);
                }
            });
        }
        let Scratch { found, rules: seen, found_too_much, settled, led, .. } = scratch;
        let mut consider = |led: &mut Led, needs: &mut Needs<'_, '_>, settled: &mut Vec<u32>| {
            for Posting { rule, need, meaning } in led.take() {
                if needs.lacks(*need) || !seen.mark(*rule) {
                    continue;
                }
                if *meaning == Meaning::True && !needs.are_open() {
                    settled.push(*rule);
                } else {
                    take(&[*rule], false);
                }
            }
        };
        for posting in &self.always {
            if !led.add(*posting, &needs) {
                consider(led, &mut needs, settled);
            }
        }
        for condition in found {
            let settles = self.postings.each(*condition, |posting| {
                if !led.add(posting, &needs) {
                    consider(led, &mut needs, settled);
                }
            });
            if let Some(rule) = settles {
                settled.push(rule);
            }
        }
        consider(led, &mut needs, settled);
        if !settled.is_empty() {
            take(settled, !*found_too_much);
        }
        needs.work()
    }

    pub(crate) const fn report(&self) -> &Report {
        &self.report
    }
}
