//! From true conditions to the rules that may be true.
//!
//! Beside each rule stands the mask of what it needs of the 64 subexpressions that rules share
//! most. One that is not true drops the rule before it is evaluated. A condition may prove a
//! rule, which is then not evaluated at all ([`Meaning`]).

pub(crate) mod batch;
pub(crate) mod guards;
pub(crate) mod per_thread;

use std::collections::HashMap;
use std::iter::once;

use foldhash::fast::RandomState;

use crate::evaluate::Meter;
use crate::event::record::Record;
use crate::functions::named_lists::Lists;
use crate::index::requirements::error_free::Requirement;
use crate::index::requirements::formula::{Truth, at_path};
use crate::index::scratch::Marks;
use crate::program::{Expr, Program};
use crate::value::error::ErrorCode;
use crate::value::limits::Limits;
use crate::value::work::Work;

/// A subexpression that many rules share, by one of the places where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) program: u32,
    pub(crate) path: Box<[u16]>,
    /// If what the search found says whether it is true.
    pub(crate) known: Option<Known>,
}

/// A shared subexpression by conditions that are searched for.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) truth: Truth,
    /// The facts under which it is true if the search says so.
    pub(crate) facts: Box<[Requirement]>,
}

impl Known {
    /// Whether it is the condition of a number, no more and no less.
    pub(crate) fn is_condition(&self, number: u32) -> bool {
        let condition = Truth::One { condition: number, is_positive: true };
        self.truth == condition && self.facts.is_empty()
    }

    /// Whether the subexpression is true, if no search found too much. None if it may be an
    /// error and errors are not dropped.
    fn holds(&self, found: &Marks, record: &Record<'_>, drops_errors: bool) -> Option<bool> {
        let is_true = self.truth.holds(&|condition| found.is_marked(condition));
        let is_certain =
            (drops_errors && !is_true) || self.facts.iter().all(|fact| fact.is_met(record));
        is_certain.then_some(is_true)
    }
}

/// A rule to look at when a condition is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) rule: u32,
    /// The mask of the shared subexpressions that it needs.
    pub(crate) need: u64,
    pub(crate) meaning: Meaning,
}

/// What it means for a rule that a condition is true and nothing it needs is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    MaybeTrue,
    True,
}

impl Meaning {
    /// The bits that say it above the number of a rule.
    const fn bits(self) -> u32 {
        match self {
            Self::MaybeTrue => 0,
            Self::True => TRUE,
        }
    }

    const fn of(bits: u32) -> Self {
        if bits & TRUE == 0 { Self::MaybeTrue } else { Self::True }
    }
}

/// The bit of a proven rule, above the number of any.
const TRUE: u32 = 1 << 30;
/// The bit of the last rule of a condition.
const LAST: u32 = 1 << 29;
const RULE: u32 = LAST - 1;
/// The bit of a rule that stands in place of where the postings of a condition begin.
const PROVES: u32 = 1 << 31;
/// Where the postings of a condition begin that has none.
const NOTHING: u32 = PROVES - 1;

#[derive(Debug, Default)]
pub(crate) struct Postings {
    /// By condition: where its postings begin, or the rule that it proves.
    leads: Box<[u32]>,
    rules: Box<[u32]>,
    /// Which of `needs` stands beside each rule.
    needed: Box<[u16]>,
    /// Each once, nothing first.
    needs: Box<[u64]>,
}

impl Postings {
    /// The postings of each condition; `led_to_otherwise` are rules that are candidates without.
    pub(crate) fn new(
        by_condition: &[Vec<Posting>],
        led_to_otherwise: impl Iterator<Item = u32>,
    ) -> Self {
        let mut ways: HashMap<u32, u32, RandomState> = HashMap::default();
        let led_to = by_condition.iter().flatten().map(|posting| posting.rule);
        for rule in led_to.chain(led_to_otherwise) {
            let count = ways.entry(rule).or_default();
            *count = count.saturating_add(1);
        }
        let mut numbers: HashMap<u64, u16, RandomState> = once((0, 0)).collect();
        let (mut rules, mut needed, mut needs) = (Vec::new(), Vec::new(), vec![0]);
        let leads = by_condition.iter().map(|postings| {
            if let [Posting { rule, need: 0, meaning: Meaning::True }] = postings.as_slice()
                && ways.get(rule) == Some(&1)
            {
                return PROVES | rule;
            }
            let start = u32::try_from(rules.len()).unwrap_or(NOTHING);
            for Posting { rule, need, meaning } in postings {
                let number = numbers.get(need).copied().or_else(|| {
                    let next = u16::try_from(needs.len()).ok()?;
                    needs.push(*need);
                    numbers.insert(*need, next);
                    Some(next)
                });
                // A mask past the last number is left out, and the rule then evaluated.
                let meaning = match (*meaning, number) {
                    (Meaning::True, None) => Meaning::MaybeTrue,
                    (meaning, _) => meaning,
                };
                rules.push(rule | meaning.bits());
                needed.push(number.unwrap_or_default());
            }
            match rules.last_mut() {
                Some(last) if !postings.is_empty() => *last |= LAST,
                _ => return NOTHING,
            }
            start
        });
        let leads = leads.collect();
        Self { leads, rules: rules.into(), needed: needed.into(), needs: needs.into() }
    }

    #[inline(always)]
    fn lead(&self, condition: u32) -> u32 {
        self.leads.get(condition as usize).copied().unwrap_or(NOTHING)
    }

    /// Calls `take` with the candidates of a true condition, and returns the rule it proves.
    #[inline(always)]
    pub(crate) fn each(&self, condition: u32, mut take: impl FnMut(Posting)) -> Option<u32> {
        let lead = self.lead(condition);
        if lead & PROVES != 0 {
            return Some(lead ^ PROVES);
        }
        let rules = self.rules.get(lead as usize..).unwrap_or_default();
        let needed = self.needed.get(lead as usize..).unwrap_or_default();
        for (rule, number) in rules.iter().zip(needed) {
            take(Posting {
                rule: rule & RULE,
                need: self.needs.get(usize::from(*number)).copied().unwrap_or_default(),
                meaning: Meaning::of(*rule),
            });
            if rule & LAST != 0 {
                break;
            }
        }
        None
    }
}

/// What is known of the shared subexpressions for one event; each is tested when first needed.
pub(crate) struct Needs<'a, 'e> {
    shared: &'a [Shared],
    programs: &'a [Program],
    record: &'e Record<'a>,
    lists: &'a Lists,
    /// What the search found; None where some of it may not be true.
    found: Option<&'e Marks>,
    meter: Meter,
    /// Whether one that is an error counts as not true.
    drops_errors: bool,
    known: u64,
    missing: u64,
    /// Whether some that are not missing are not known to be true either.
    is_open: bool,
}

impl<'a, 'e> Needs<'a, 'e> {
    /// At first only those that are `searched` are known: each is the condition of its own
    /// number.
    pub(crate) fn new(
        (shared, searched): (&'a [Shared], u64),
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

    /// The same after some work.
    pub(crate) fn after(mut self, work: Work) -> Self {
        self.meter.work = work;
        self
    }

    /// The work done up to now.
    pub(crate) const fn work(&self) -> Work {
        self.meter.work
    }

    /// Whether something that is needed is known not to be true.
    #[inline]
    pub(crate) const fn is_known_to_lack(&self, need: u64) -> bool {
        need & self.missing != 0
    }

    /// Whether something that is needed is not true.
    #[inline]
    pub(crate) fn lacks(&mut self, need: u64) -> bool {
        if self.is_known_to_lack(need) {
            return true;
        }
        let unknown = need & !self.known;
        unknown != 0 && self.are_missing(unknown)
    }

    /// Tests those that are unknown, until one is not true.
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

    /// Whether what is not missing is not all known to be true either.
    pub(crate) const fn are_open(&self) -> bool {
        self.is_open
    }

    fn is_missing(&mut self, number: usize) -> bool {
        let shared = self.shared.get(number);
        if let (Some(Shared { known: Some(known), .. }), Some(found)) = (shared, self.found)
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

    fn expression(&self, shared: &Shared) -> Option<&'a Expr> {
        at_path(&self.programs.get(shared.program as usize)?.root, &shared.path)
    }
}

#[cfg(test)]
mod tests {
    use std::iter::empty;

    use super::*;

    #[test]
    fn a_need_past_all_numbers_is_nothing_that_suffices() {
        let posting = |need: u32| Posting { rule: need, need: need.into(), meaning: Meaning::True };
        let postings =
            Postings::new(&[(0..70_000).map(posting).collect(), vec![], vec![posting(7)]], empty());
        let of = |condition| {
            let mut found = Vec::new();
            assert_eq!(postings.each(condition, |posting| found.push(posting)), None);
            found
        };
        let first = of(0);
        assert_eq!(first.len(), 70_000);
        for (rule, posting) in (0..).zip(&first) {
            let is_known = rule < 1 << 16;
            let need = if is_known { rule.into() } else { 0 };
            let found = (posting.rule, posting.need, posting.meaning == Meaning::True);
            assert_eq!(found, (rule, need, is_known));
        }
        assert!(of(1).is_empty());
        assert_eq!(of(2).iter().map(|posting| posting.need).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_rule_is_proven_where_nothing_else_leads_to_it() {
        let posting = |rule, meaning| Posting { rule, need: 0, meaning };
        let is_true = |rule| posting(rule, Meaning::True);
        let by_condition = [
            vec![is_true(0)],
            vec![is_true(1)],
            vec![is_true(1), is_true(2)],
            vec![is_true(3)],
            vec![posting(4, Meaning::MaybeTrue)],
            vec![],
        ];
        let postings = Postings::new(&by_condition, once(3));
        for (condition, by_condition) in (0..).zip(&by_condition) {
            let mut found = Vec::new();
            let proven = postings.each(condition, |posting| found.push(posting));
            if condition == 0 {
                assert_eq!((proven, found.len()), (Some(0), 0));
                continue;
            }
            let found = found.iter().map(|posting| (posting.rule, posting.meaning));
            let expected = by_condition.iter().map(|posting| (posting.rule, posting.meaning));
            assert_eq!(proven, None);
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
