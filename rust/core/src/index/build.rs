//! The construction of an index: conditions, their frequencies, the access path of each rule.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::event::record::Record;
use crate::index::postings::preconditions::Preconditions;
use crate::index::postings::{CommonSubexpression, Known, Meaning, Posting, Postings};
use crate::index::requirements::access_path::{AccessPath, Odds, Skipped, Term};
use crate::index::requirements::condition::Condition;
use crate::index::requirements::conditions_of::Extractor;
use crate::index::requirements::error_free::{Requirement, requirements};
use crate::index::requirements::formula::{Analysed, Exact, Reason, analyse, at_path};
use crate::index::requirements::worst_cost::{Cost, Size, cost};
use crate::index::search::Searches;
use crate::index::{Index, NUMBERS, Rules, Scratch};
use crate::program::Program;
use crate::value::limits::Limits;

/// Shared conjuncts that a posting has bits for.
const SHARED: usize = 64;
/// Events up to this size are common.
const COMMON_SIZE: Size = Size { bytes: 4096, entries: 64 };
/// The weight of a prior belief about a condition, in sample events.
const BELIEF: f64 = 4.0;

/// Human-readable figures of an index.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub rules: usize,
    /// Distinct conditions that the rules have.
    pub conditions: usize,
    /// Conditions that more than one rule has.
    pub shared: usize,
    /// Conditions that are searched for.
    pub searched: usize,
    /// Rules without an access path.
    pub unindexed: Vec<Unindexed>,
}

/// A rule that is a candidate on every event.
#[derive(Clone, Copy, Debug)]
pub struct Unindexed {
    pub rule: u32,
    pub reason: Reason,
}

/// A rule, analysed.
#[derive(Debug)]
pub(crate) struct IndexedRule {
    pub(crate) analysed: Analysed,
    /// Its worst cost, if it need not be evaluated when the index proves it.
    pub(crate) cost: Option<Cost>,
    /// Requirements in addition to the conditions of the access path.
    pub(crate) requirements: Vec<Requirement>,
}

impl IndexedRule {
    /// A rule that is the program of a number.
    pub(crate) fn of_program(
        number: u32,
        program: &Program,
        limits: &Limits,
        extractor: &mut Extractor<'_>,
    ) -> Self {
        let analysed = analyse(number, &program.root, extractor);
        let cost = cost(&program.root, extractor.layout()).filter(|cost| is_small(*cost, limits));
        Self { analysed, cost, requirements: Vec::new() }
    }
}

/// The conditions that are searched for, by their place here, with their postings.
#[derive(Default)]
struct Searched {
    numbers: HashMap<u32, u32, RandomState>,
    conditions: Vec<u32>,
    postings: Vec<Vec<Posting>>,
}

impl Searched {
    /// The number of a condition among those searched for.
    fn number(&mut self, condition: u32) -> u32 {
        let next = u32::try_from(self.conditions.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(condition).or_insert(next);
        if number == next {
            self.conditions.push(condition);
            self.postings.push(Vec::new());
        }
        number
    }

    fn lead(&mut self, condition: u32, posting: Posting) {
        let number = self.number(condition) as usize;
        self.postings.get_mut(number).into_iter().for_each(|postings| postings.push(posting));
    }
}

/// The postings of all rules, gathered rule by rule.
#[derive(Default)]
struct Gathered {
    searched: Searched,
    /// Postings of rules that are candidates on every event.
    always: Vec<Posting>,
    unindexed: Vec<Unindexed>,
    /// The worst cost of those rules that need not be evaluated.
    certain_cost: Cost,
}

impl Gathered {
    fn add(&mut self, condition: Option<u32>, (posting, cost): (Posting, Option<Cost>)) {
        self.certain_cost = cost.map_or(self.certain_cost, |cost| self.certain_cost.max(cost));
        match condition {
            Some(condition) => self.searched.lead(condition, posting),
            None => self.always.push(posting),
        }
    }
}

/// How often a condition is stated, and how often it is true in the samples.
#[derive(Clone, Copy, Debug, Default)]
struct Frequency {
    rules: u32,
    hits: u32,
}

impl Index {
    /// An index of rules; `samples` are records like those to come. If the extractor judges
    /// errors, the index skips a rule only if it is certainly false and not an error.
    pub(crate) fn new(
        extractor: &Extractor<'_>,
        rules: &[IndexedRule],
        programs: Rules<'_>,
        samples: &[Record<'_>],
    ) -> Self {
        let context = BuildContext::new(extractor, rules, programs, samples);
        let mut access_paths = context.access_paths(&|_| false);
        if context.skipped == Skipped::NotTrue {
            // The subexpressions worth sharing depend on the access paths, and the cheapest
            // access path on what they are. So the paths are chosen twice. A rule whose other
            // alternative may be an error is not dropped for what one requires.
            let common = Chosen::new(&context, &access_paths);
            access_paths = context.access_paths(&|exact| common.bit(exact).is_some());
        }
        context.index(&access_paths)
    }
}

/// Data on all rules of an index while it is built.
struct BuildContext<'b> {
    extractor: &'b Extractor<'b>,
    programs: &'b [Program],
    rules: &'b [IndexedRule],
    /// The frequency of each condition, by number like the weights.
    frequencies: Vec<Frequency>,
    weights: Vec<f64>,
    /// The conclusion if the index skips a rule.
    skipped: Skipped,
}

impl<'b> BuildContext<'b> {
    fn new(
        extractor: &'b Extractor<'b>,
        rules: &'b [IndexedRule],
        programs: Rules<'b>,
        samples: &[Record<'_>],
    ) -> Self {
        let frequencies = frequencies(rules, extractor, programs, samples);
        let weights = weights(&extractor.conditions, &frequencies, rules.len(), samples.len());
        let skipped = if extractor.judges_errors { Skipped::False } else { Skipped::NotTrue };
        Self { extractor, programs: programs.programs, rules, frequencies, weights, skipped }
    }

    /// The access path of each rule, where some expressions are tested once for all rules.
    fn access_paths(
        &self,
        is_shared: &dyn Fn(&Exact) -> bool,
    ) -> Vec<Result<AccessPath<'b>, Reason>> {
        let odds = Odds { weights: &self.weights, is_shared };
        let access_path = |IndexedRule { analysed, .. }: &'b IndexedRule| {
            // If skipping must be exact, requirements other than the condition don't count.
            let is_exact = self.skipped == Skipped::False;
            let exact = if is_exact { &Exact::Open } else { &analysed.exact };
            analysed.necessary.access_path(exact, odds, self.skipped)
        };
        self.rules.iter().map(access_path).collect()
    }

    /// The preconditions under which the search alone says whether a common subexpression is true.
    /// One that is not true may be an error, which only some indexes judge.
    fn preconditions(
        &self,
        exact: &Exact,
        CommonSubexpression { program, path, .. }: &CommonSubexpression,
    ) -> Option<Vec<Requirement>> {
        if self.skipped == Skipped::NotTrue && !exact.has_negative() {
            return Some(Vec::new());
        }
        let root = &self.programs.get(*program as usize)?.root;
        let mut preconditions = requirements(at_path(root, path)?)?;
        preconditions.sort_unstable();
        preconditions.dedup();
        Some(preconditions)
    }

    fn index(&self, access_paths: &[Result<AccessPath<'_>, Reason>]) -> Index {
        let mut gathered = Gathered::default();
        let mut shared = Chosen::new(self, access_paths);
        shared.search(&mut gathered.searched, self);
        for (rule, access_path) in (0_u32..).zip(access_paths) {
            self.gather(rule, access_path, &shared, &mut gathered);
        }
        let Gathered { searched, always, unindexed, certain_cost } = gathered;
        let searches = self.searches(&searched);
        let preconditions =
            (self.skipped == Skipped::False).then(|| Preconditions::new(self.rules, access_paths));
        let postings = Postings::new(&searched.postings);
        Index {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            searches,
            postings,
            searched: shared.searched(),
            shared: shared.shared.into(),
            always: always.into(),
            conditions: searched.conditions.len(),
            rules: self.rules.len(),
            preconditions,
            certain_cost,
            report: self.report(&searched, unindexed),
        }
    }

    /// Adds the postings of a rule.
    fn gather(
        &self,
        rule: u32,
        access_path: &Result<AccessPath<'_>, Reason>,
        shared: &Chosen,
        gathered: &mut Gathered,
    ) {
        let access_path = match access_path {
            Ok(access_path) => access_path,
            Err(reason) => {
                gathered.unindexed.push(Unindexed { rule, reason: *reason });
                return gathered.add(None, self.posting(rule, Reached::Always, shared));
            }
        };
        for term in &access_path.terms {
            gathered.add(term.condition, self.posting(rule, Reached::By(term), shared));
        }
        gathered.unindexed.extend(access_path.reason.map(|reason| Unindexed { rule, reason }));
    }

    /// The posting of a rule, and the rule's worst cost if the posting proves it.
    fn posting(&self, rule: u32, reached: Reached<'_>, shared: &Chosen) -> (Posting, Option<Cost>) {
        let (mut required, mut is_true, mut cost) = (0, false, None);
        if let Some(IndexedRule { analysed, cost: most, .. }) = self.rules.get(rule as usize) {
            cost = *most;
            required = shared.required(analysed, reached);
            let is_known = |exact: &Exact| shared.is_in(exact, required) || reached.proves(exact);
            is_true = cost.is_some() && analysed.exact.follows(&is_known);
        }
        let meaning = if is_true { Meaning::True } else { Meaning::MaybeTrue };
        (Posting { rule, required, meaning }, cost.filter(|_| is_true))
    }

    fn searches(&self, searched: &Searched) -> Searches {
        let conditions = searched.conditions.iter();
        let conditions: Vec<&Condition> = conditions
            .filter_map(|condition| self.extractor.conditions.get(*condition as usize))
            .collect();
        Searches::new(&conditions, &self.extractor.patterns, self.extractor.layout())
    }

    fn report(&self, searched: &Searched, unindexed: Vec<Unindexed>) -> Report {
        Report {
            rules: self.rules.len(),
            conditions: self.extractor.conditions.len(),
            shared: self.frequencies.iter().filter(|frequency| frequency.rules > 1).count(),
            searched: searched.conditions.len(),
            unindexed,
        }
    }
}

/// Whether a cost is well within the limit for an event of common size.
fn is_small(cost: Cost, limits: &Limits) -> bool {
    let limits = Limits { cost: limits.cost / 4, ..limits.clone() };
    cost.is_within(&limits, COMMON_SIZE)
}

fn frequencies(
    rules: &[IndexedRule],
    extractor: &Extractor<'_>,
    programs: Rules<'_>,
    samples: &[Record<'_>],
) -> Vec<Frequency> {
    let mut frequencies = vec![Frequency::default(); extractor.conditions.len()];
    let mut stated = Vec::new();
    for IndexedRule { analysed: rule, .. } in rules {
        rule.necessary.conditions(&mut |condition| stated.push(condition));
        for subexpression in &rule.subexpressions {
            subexpression.exact.conditions(&mut |condition| stated.push(condition));
        }
        stated.sort_unstable();
        stated.dedup();
        for condition in stated.drain(..) {
            if let Some(frequency) = frequencies.get_mut(condition as usize) {
                frequency.rules = frequency.rules.saturating_add(1);
            }
        }
    }
    if samples.is_empty() {
        return frequencies;
    }
    let all: Vec<&Condition> = extractor.conditions.iter().collect();
    let searches = Searches::new(&all, &extractor.patterns, extractor.layout());
    let mut scratch = Scratch::default();
    for record in samples {
        scratch.begin(&searches, all.len(), 0, crate::value::work::Work::unlimited());
        searches.run(record, programs.lists, &mut scratch);
        for condition in &scratch.found {
            if let Some(frequency) = frequencies.get_mut(*condition as usize) {
                frequency.hits = frequency.hits.saturating_add(1);
            }
        }
    }
    frequencies
}

/// The probability of each condition: from the samples, else from rules, since conditions of many
/// rules are likely common in events.
fn weights(
    conditions: &[Condition],
    frequencies: &[Frequency],
    rules: usize,
    samples: usize,
) -> Vec<f64> {
    let count = |number: usize| u32::try_from(number).map_or(f64::INFINITY, f64::from);
    let weight = |(condition, frequency): (&Condition, &Frequency)| {
        if samples > 0 {
            (f64::from(frequency.hits) + condition.prior() * BELIEF) / (count(samples) + BELIEF)
        } else {
            condition.prior() + f64::from(frequency.rules) / count(rules)
        }
    };
    conditions.iter().zip(frequencies).map(weight).collect()
}

/// The reason why a rule is a candidate.
#[derive(Clone, Copy)]
enum Reached<'t> {
    /// One of the terms of its access path.
    By(&'t Term<'t>),
    /// No term: it is a candidate on every event.
    Always,
}

impl Reached<'_> {
    /// Whether the term says that part of the rule is true.
    fn proves(self, exact: &Exact) -> bool {
        match (self, exact) {
            (Self::By(term), Exact::One { condition, is_positive: true }) => {
                Some(*condition) == term.condition
            }
            _ => false,
        }
    }
}

/// All terms by which a rule becomes a candidate.
fn reached_by<'t>(access_path: &'t Result<AccessPath<'t>, Reason>) -> Vec<Reached<'t>> {
    match access_path {
        Ok(access_path) => access_path.terms.iter().map(Reached::By).collect(),
        Err(_) => vec![Reached::Always],
    }
}

/// The expressions that must be true of a candidate.
fn required_beside<'n>(
    analysed: &'n Analysed,
    reached: Reached<'n>,
) -> impl Iterator<Item = &'n Exact> {
    let of_term = match reached {
        Reached::By(term) => &*term.required,
        Reached::Always => &[],
    };
    let of_rule = analysed.subexpressions.iter().map(|subexpression| &subexpression.exact);
    of_term.iter().copied().chain(of_rule).filter(move |exact| !reached.proves(exact))
}

/// The shared subexpressions that postings have bits for.
struct Chosen {
    shared: Vec<CommonSubexpression>,
    bits: HashMap<Exact, u32, RandomState>,
}

/// The use of a common subexpression.
struct Use {
    rules: u32,
    /// The rule that was counted last.
    last: u32,
    /// The number of candidates of an event that it drops, estimated.
    power: f64,
    place: CommonSubexpression,
}

impl Chosen {
    /// Chooses the subexpressions that drop the most candidates of these access paths.
    fn new(
        BuildContext { rules, weights, .. }: &BuildContext<'_>,
        access_paths: &[Result<AccessPath<'_>, Reason>],
    ) -> Self {
        let mut uses: HashMap<&Exact, Use, RandomState> = HashMap::default();
        for subexpression in rules.iter().flat_map(|rule| &rule.analysed.subexpressions) {
            uses.entry(&subexpression.exact).or_insert_with(|| Use {
                rules: 0,
                last: u32::MAX,
                power: 0.0,
                place: CommonSubexpression {
                    program: subexpression.program,
                    path: subexpression.path.clone(),
                    known: None,
                },
            });
        }
        for (rule, (indexed, access_path)) in (0_u32..).zip(rules.iter().zip(access_paths)) {
            for reached in reached_by(access_path) {
                let weight = match reached {
                    Reached::By(term) => term.weight,
                    Reached::Always => 1.0,
                };
                for exact in required_beside(&indexed.analysed, reached) {
                    let Some(used) = uses.get_mut(exact) else { continue };
                    if used.last != rule {
                        used.rules = used.rules.saturating_add(1);
                        used.last = rule;
                    }
                    used.power += weight * (1.0 - exact.weight(weights)).max(0.1);
                }
            }
        }
        let mut ranked: Vec<(&Exact, Use)> =
            uses.into_iter().filter(|(_, used)| used.rules > 1).collect();
        ranked.sort_by(|(exact, used), (other_exact, other)| {
            other.power.total_cmp(&used.power).then(exact.cmp(other_exact))
        });
        ranked.truncate(SHARED);
        ranked.sort_by_key(|(exact, _)| !matches!(exact, Exact::One { is_positive: true, .. }));
        let bits = ranked.iter().map(|(exact, _)| Exact::clone(exact)).zip(0..).collect();
        Self { shared: ranked.into_iter().map(|(_, used)| used.place).collect(), bits }
    }

    /// Adds the conditions by which the search says whether a subexpression is true. These come
    /// first, so that a subexpression that is a condition has its bit as its number.
    fn search(&mut self, searched: &mut Searched, context: &BuildContext<'_>) {
        let mut bits: Vec<(&Exact, &u32)> = self.bits.iter().collect();
        bits.sort_unstable_by_key(|(_, bit)| **bit);
        for ((exact, _), shared) in bits.into_iter().zip(&mut self.shared) {
            let Some(preconditions) = context.preconditions(exact, shared) else { continue };
            let exact = exact.renumbered(&mut |condition| searched.number(condition));
            shared.known = Some(Known { exact, preconditions: preconditions.into() });
        }
    }

    /// The bits of subexpressions that are the condition of their own number.
    fn searched(&self) -> u64 {
        let bits = (0_u32..).zip(&self.shared).filter_map(|(number, shared)| {
            let is_searched = shared.known.as_ref().is_some_and(|known| known.is_condition(number));
            is_searched.then_some(1 << number)
        });
        bits.fold(0, |bits, bit: u64| bits | bit)
    }

    fn bit(&self, exact: &Exact) -> Option<u64> {
        self.bits.get(exact).map(|bit| 1 << bit)
    }

    /// Whether a subexpression is among those of a mask.
    fn is_in(&self, exact: &Exact, required: u64) -> bool {
        self.bit(exact).is_some_and(|bit| required & bit != 0)
    }

    /// The mask of a candidate.
    fn required(&self, analysed: &Analysed, reached: Reached<'_>) -> u64 {
        required_beside(analysed, reached)
            .filter_map(|exact| self.bit(exact))
            .fold(0, |required, bit| required | bit)
    }
}
