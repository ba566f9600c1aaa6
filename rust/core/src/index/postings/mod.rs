//! From true conditions to the rules that may be true.
//!
//! Each rule has a mask of the subexpressions that it requires, among the 64 most common ones. One
//! that isn't true drops the rule before it is evaluated. A condition may prove a rule, which is
//! then not evaluated at all ([`Meaning`]).

pub(crate) mod batch;
pub(crate) mod per_thread;
pub(crate) mod preconditions;

use crate::evaluate::Meter;
use crate::event::record::Record;
use crate::functions::named_lists::Lists;
use crate::index::requirements::error_free::Requirement;
use crate::index::requirements::formula::{Exact, at_path};
use crate::index::scratch::Marks;
use crate::program::{Expr, Program};
use crate::value::error::ErrorCode;
use crate::value::limits::Limits;
use crate::value::work::Work;

/// A subexpression that many rules share, by one of its places.
#[derive(Clone, Debug)]
pub(crate) struct CommonSubexpression {
    pub(crate) program: u32,
    pub(crate) path: Box<[u16]>,
    /// Present if the search may say whether it is true.
    pub(crate) known: Option<Known>,
}

/// A shared subexpression by conditions that are searched for.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) exact: Exact,
    /// The facts under which it is true if the search says so.
    pub(crate) preconditions: Box<[Requirement]>,
}

impl Known {
    /// Whether it is exactly the condition of a number.
    pub(crate) fn is_condition(&self, number: u32) -> bool {
        let condition = Exact::One { condition: number, is_positive: true };
        self.exact == condition && self.preconditions.is_empty()
    }

    /// Whether the subexpression is true, if no search found too much. None if it may be an
    /// error and errors are not dropped.
    fn holds(&self, found: &Marks, record: &Record<'_>, drops_errors: bool) -> Option<bool> {
        let is_true = self.exact.holds(&|condition| found.is_marked(condition));
        let is_certain = (drops_errors && !is_true)
            || self.preconditions.iter().all(|precondition| precondition.is_met(record));
        is_certain.then_some(is_true)
    }
}

/// A rule to look at when a condition is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) rule: u32,
    /// The mask of the common subexpressions that it requires.
    pub(crate) required: u64,
    pub(crate) meaning: Meaning,
}

/// The conclusion for a rule if a condition is true and nothing it needs is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    MaybeTrue,
    True,
}

/// The candidates of each condition, in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    /// The start of each condition's postings, and the end of the last.
    starts: Box<[u32]>,
    postings: Box<[Posting]>,
}

impl Postings {
    pub(crate) fn new(by_condition: &[Vec<Posting>]) -> Self {
        let mut starts = vec![0];
        starts.extend(by_condition.iter().scan(0_u32, |end, postings| {
            *end = end.saturating_add(u32::try_from(postings.len()).unwrap_or(u32::MAX));
            Some(*end)
        }));
        Self { starts: starts.into(), postings: by_condition.concat().into() }
    }

    /// The candidates of a condition that is true.
    #[inline]
    pub(crate) fn of(&self, condition: u32) -> &[Posting] {
        let start = |number: usize| self.starts.get(number).map_or(0, |start| *start as usize);
        let number = condition as usize;
        self.postings.get(start(number)..start(number.wrapping_add(1))).unwrap_or_default()
    }
}

/// The values of the shared subexpressions for one event; each is tested on first use.
pub(crate) struct CommonValues<'a, 'e> {
    shared: &'a [CommonSubexpression],
    programs: &'a [Program],
    record: &'e Record<'a>,
    lists: &'a Lists,
    /// The conditions found; None if some of them may not be true.
    found: Option<&'e Marks>,
    meter: Meter,
    /// Whether a subexpression that is an error counts as not true.
    drops_errors: bool,
    known: u64,
    missing: u64,
    /// Whether some that are not missing are not known to be true either.
    is_open: bool,
}

impl<'a, 'e> CommonValues<'a, 'e> {
    /// At first only `searched` ones are known: each is the condition of its own number.
    pub(crate) fn new(
        (shared, searched): (&'a [CommonSubexpression], u64),
        programs: &'a [Program],
        record: &'e Record<'a>,
        lists: &'a Lists,
        limits: &Limits,
        found: Option<&'e Marks>,
    ) -> Self {
        let meter = Meter::new(limits);
        let (known, there) = found.map_or((0, 0), |found| (searched, found.first()));
        Self {
            shared,
            programs,
            record,
            lists,
            found,
            meter,
            drops_errors: true,
            known,
            missing: known & !there,
            is_open: false,
        }
    }

    /// The same for rules that may not be dropped where they are errors.
    pub(crate) fn keeping_errors(self) -> Self {
        Self { drops_errors: false, ..self }
    }

    /// The same, counting on from some work.
    pub(crate) fn after(mut self, work: Work) -> Self {
        self.meter.work = work;
        self
    }

    /// The work done so far.
    pub(crate) const fn work(&self) -> Work {
        self.meter.work
    }

    /// Whether a required subexpression is known not to be true.
    #[inline]
    pub(crate) const fn is_known_to_lack(&self, required: u64) -> bool {
        required & self.missing != 0
    }

    /// Whether a required subexpression is not true.
    #[inline]
    pub(crate) fn lacks(&mut self, required: u64) -> bool {
        if self.is_known_to_lack(required) {
            return true;
        }
        let unknown = required & !self.known;
        unknown != 0 && self.are_missing(unknown)
    }

    /// Tests unknown subexpressions until one is not true.
    #[inline(never)]
    fn are_missing(&mut self, mut unknown: u64) -> bool {
        while unknown != 0 {
            let number = unknown.trailing_zeros();
            self.known |= 1 << number;
            if self.is_missing(number as usize) {
                self.missing |= 1 << number;
                return true;
            }
            unknown &= unknown.wrapping_sub(1);
        }
        false
    }

    /// Whether some that are not missing are not known to be true either.
    pub(crate) const fn are_open(&self) -> bool {
        self.is_open
    }

    fn is_missing(&mut self, number: usize) -> bool {
        let shared = self.shared.get(number);
        if let (Some(CommonSubexpression { known: Some(known), .. }), Some(found)) =
            (shared, self.found)
            && let Some(holds) = known.holds(found, self.record, self.drops_errors)
        {
            return !holds;
        }
        let expression = shared.and_then(|shared| self.expression(shared));
        let Some(expression) = expression.filter(|_| !self.meter.work.is_over()) else {
            self.is_open = true;
            return false;
        };
        self.meter.reset();
        let tested = Program::test_part(expression, self.record, self.lists, &mut self.meter);
        self.meter.work = self.meter.work();
        match tested {
            Ok(holds) if !self.meter.work.is_over() => !holds,
            // Past the cost limit nothing is known: another rule may say the same at less cost.
            Err(failure)
                if self.drops_errors
                    && failure.code != ErrorCode::CostExceeded
                    && !self.meter.work.is_over() =>
            {
                true
            }
            _ => {
                self.is_open = true;
                false
            }
        }
    }

    fn expression(&self, shared: &CommonSubexpression) -> Option<&'a Expr> {
        at_path(&self.programs.get(shared.program as usize)?.root, &shared.path)
    }
}
