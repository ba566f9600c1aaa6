//! How an index is made: conditions, their frequencies, the access path of each rule.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::index::postings::guards::Preconditions;
use crate::index::postings::{Known, Meaning, Posting, Postings, Shared};
use crate::index::requirements::access_path::{AccessPath, Odds, Skipped, Term};
use crate::index::requirements::condition::Condition;
use crate::index::requirements::conditions_of::Atoms;
use crate::index::requirements::error_free::{Requirement, requirements};
use crate::index::requirements::formula::{Analysed, Reason, Truth, analyse, at_path};
use crate::index::requirements::worst_cost::{Cost, Size, cost};
use crate::index::search::Searches;
use crate::index::{Index, NUMBERS, Rules, Scratch};
use crate::program::{Expr, Program};
use crate::value::limits::Limits;

/// Shared conjuncts that a posting has bits for.
const SHARED: usize = 64;
/// Events up to this size are common.
const COMMON_SIZE: Size = Size { bytes: 4096, entries: 64 };
/// How much what is believed of a condition counts, in sample events.
const BELIEF: f64 = 4.0;

/// What an index is made of, for people.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub rules: usize,
    /// Distinct conditions that the rules have.
    pub conditions: usize,
    /// Those of them that more than one rule has.
    pub shared: usize,
    /// Those that are searched for.
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

/// A rule whose errors are reported.
#[derive(Debug)]
pub(crate) struct ExactRule {
    pub(crate) analysed: Analysed,
    /// What its parts cost at most, as far as they are in the formula.
    pub(crate) cost: Cost,
    /// What must be met beside what the access path asks for.
    pub(crate) requirements: Vec<Requirement>,
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
    /// Of rules that are candidates on every event.
    always: Vec<Posting>,
    unindexed: Vec<Unindexed>,
    /// What those rules cost at most that need not be evaluated.
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

/// How often a condition is stated, and by the samples is true.
#[derive(Clone, Copy, Debug, Default)]
struct Frequency {
    rules: u32,
    hits: u32,
}

impl Index {
    /// An index of rules that are one program each; `samples` are records like those
    /// to come.
    pub(crate) fn new(rules: Rules<'_>, layout: &Layout, samples: &[Record<'_>]) -> Self {
        let mut atoms = Atoms::new(layout);
        let programs = (0_u32..).zip(rules.programs);
        let analysed: Vec<Analysed> =
            programs.map(|(number, program)| analyse(number, &program.root, &mut atoms)).collect();
        let small_cost = |program: &Program| {
            cost(&program.root, layout).filter(|cost| is_small(*cost, rules.limits))
        };
        let costs = rules.programs.iter().map(small_cost).collect();
        let analysed = analysed.iter().collect();
        let context = BuildContext::new(&atoms, analysed, costs, rules, samples);
        // Which subexpressions are worth sharing depends on the access paths, and the cheapest
        // access path on what is shared. So the paths are chosen twice.
        let first = context.access_paths(&|_| false, Skipped::NotTrue);
        let common = Chosen::new(&context, &first);
        let access_paths =
            context.access_paths(&|truth| common.bit(truth).is_some(), Skipped::NotTrue);
        let facts_of = |truth: &Truth, shared: &Shared| {
            if truth.has_negative() { context.facts(shared) } else { Some(Vec::new()) }
        };
        context.index(&access_paths, None, facts_of)
    }

    /// An index that passes over a rule only when it is certainly false and no error.
    pub(crate) fn exact(
        atoms: &Atoms<'_>,
        rules: &[ExactRule],
        programs: Rules<'_>,
        samples: &[Record<'_>],
    ) -> Self {
        let analysed = rules.iter().map(|rule| &rule.analysed).collect();
        // The preconditions make a candidate of a rule that may cost too much.
        let costs = rules.iter().map(|rule| Some(rule.cost)).collect();
        let context = BuildContext::new(atoms, analysed, costs, programs, samples);
        // A rule whose other alternative may be an error is not dropped for what one needs.
        let access_paths = context.access_paths(&|_| false, Skipped::False);
        let mut preconditions = Preconditions::default();
        for (number, (rule, access)) in (0_u32..).zip(rules.iter().zip(&access_paths)) {
            preconditions.add(number, rule, access.as_ref().ok());
        }
        // What is not true may be an error.
        context.index(&access_paths, Some(preconditions), |_, shared| context.facts(shared))
    }
}

/// What is known of the rules of an index before it is made.
struct BuildContext<'b> {
    atoms: &'b Atoms<'b>,
    programs: &'b [Program],
    /// By the number of the rule, as the costs.
    analysed: Vec<&'b Analysed>,
    /// What a rule costs at most, if it need not be evaluated where it is known to be true.
    costs: Vec<Option<Cost>>,
    /// By the number of the condition, as the weights.
    frequencies: Vec<Frequency>,
    weights: Vec<f64>,
}

impl<'b> BuildContext<'b> {
    fn new(
        atoms: &'b Atoms<'b>,
        analysed: Vec<&'b Analysed>,
        costs: Vec<Option<Cost>>,
        rules: Rules<'b>,
        samples: &[Record<'_>],
    ) -> Self {
        let frequencies = frequencies(&analysed, atoms, rules, samples);
        let weights = weights(&atoms.conditions, &frequencies, analysed.len(), samples.len());
        Self { atoms, programs: rules.programs, analysed, costs, frequencies, weights }
    }

    /// The access path of each rule, where some expressions are tested once for all rules.
    fn access_paths(
        &self,
        is_shared: &dyn Fn(&Truth) -> bool,
        skipped: Skipped,
    ) -> Vec<Result<AccessPath<'b>, Reason>> {
        let odds = Odds { weights: &self.weights, is_shared };
        let access = |rule: &&'b Analysed| {
            // What a rule needs beside a condition plays no part where skipping must be exact.
            let truth = if skipped == Skipped::False { &Truth::Open } else { &rule.truth };
            rule.formula.access(truth, odds, skipped)
        };
        self.analysed.iter().map(access).collect()
    }

    /// The facts under which a shared conjunct is no error.
    fn facts(&self, Shared { program, path, .. }: &Shared) -> Option<Vec<Requirement>> {
        facts(at_path(&self.programs.get(*program as usize)?.root, path)?)
    }

    /// The index. `facts_of` gives those under which the search alone says whether a shared
    /// conjunct is true.
    fn index(
        &self,
        access_paths: &[Result<AccessPath<'_>, Reason>],
        preconditions: Option<Preconditions>,
        facts_of: impl Fn(&Truth, &Shared) -> Option<Vec<Requirement>>,
    ) -> Index {
        let mut gathered = Gathered::default();
        let mut shared = Chosen::new(self, access_paths);
        shared.search(&mut gathered.searched, facts_of);
        for (rule, access) in (0_u32..).zip(access_paths) {
            self.gather(rule, access, &shared, &mut gathered);
        }
        let Gathered { searched, always, unindexed, certain_cost } = gathered;
        let searches = self.searches(&searched);
        let postings = Postings::new(&searched.postings);
        Index {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            searches,
            postings,
            searched: shared.searched(),
            shared: shared.shared.into(),
            always: always.into(),
            conditions: searched.conditions.len(),
            rules: self.analysed.len(),
            preconditions,
            certain_cost,
            report: self.report(&searched, unindexed),
        }
    }

    /// Adds the postings of a rule.
    fn gather(
        &self,
        rule: u32,
        access: &Result<AccessPath<'_>, Reason>,
        shared: &Chosen,
        gathered: &mut Gathered,
    ) {
        let access = match access {
            Ok(access) => access,
            Err(reason) => {
                gathered.unindexed.push(Unindexed { rule, reason: *reason });
                return gathered.add(None, self.posting(rule, Reached::Always, shared));
            }
        };
        for term in &access.terms {
            gathered.add(term.condition, self.posting(rule, Reached::By(term), shared));
        }
        gathered.unindexed.extend(access.reason.map(|reason| Unindexed { rule, reason }));
    }

    /// The posting of a rule, and what the rule costs at most if the posting proves it.
    fn posting(&self, rule: u32, reached: Reached<'_>, shared: &Chosen) -> (Posting, Option<Cost>) {
        let cost = self.costs.get(rule as usize).copied().flatten();
        let (mut need, mut is_true) = (0, false);
        if let Some(analysed) = self.analysed.get(rule as usize) {
            need = shared.need(analysed, reached);
            let is_known = |truth: &Truth| shared.is_in(truth, need) || reached.proves(truth);
            is_true = cost.is_some() && analysed.truth.follows(&is_known);
        }
        let meaning = if is_true { Meaning::True } else { Meaning::MaybeTrue };
        (Posting { rule, need, meaning }, cost.filter(|_| is_true))
    }

    fn searches(&self, searched: &Searched) -> Searches {
        let conditions = searched.conditions.iter();
        let conditions: Vec<&Condition> = conditions
            .filter_map(|condition| self.atoms.conditions.get(*condition as usize))
            .collect();
        Searches::new(&conditions, &self.atoms.patterns, self.atoms.layout())
    }

    fn report(&self, searched: &Searched, unindexed: Vec<Unindexed>) -> Report {
        Report {
            rules: self.analysed.len(),
            conditions: self.atoms.conditions.len(),
            shared: self.frequencies.iter().filter(|frequency| frequency.rules > 1).count(),
            searched: searched.conditions.len(),
            unindexed,
        }
    }
}

/// Whether the largest of many such costs is still within the limit for an event of
/// common size.
fn is_small(cost: Cost, limits: &Limits) -> bool {
    let limits = Limits { cost: limits.cost / 4, ..limits.clone() };
    cost.is_within(&limits, COMMON_SIZE)
}

/// The facts under which an expression is no error, each once.
fn facts(expression: &Expr) -> Option<Vec<Requirement>> {
    let mut facts = requirements(expression)?;
    facts.sort_unstable();
    facts.dedup();
    Some(facts)
}

fn frequencies(
    analysed: &[&Analysed],
    atoms: &Atoms<'_>,
    rules: Rules<'_>,
    samples: &[Record<'_>],
) -> Vec<Frequency> {
    let mut frequencies = vec![Frequency::default(); atoms.conditions.len()];
    let mut stated = Vec::new();
    for rule in analysed {
        rule.formula.conditions(&mut |condition| stated.push(condition));
        for conjunct in &rule.conjuncts {
            conjunct.truth.conditions(&mut |condition| stated.push(condition));
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
    let all: Vec<&Condition> = atoms.conditions.iter().collect();
    let searches = Searches::new(&all, &atoms.patterns, atoms.layout());
    let mut scratch = Scratch::default();
    for record in samples {
        scratch.begin(&searches, all.len(), 0, crate::value::work::Work::unlimited());
        searches.run(record, rules.lists, &mut scratch);
        for condition in &scratch.found {
            if let Some(frequency) = frequencies.get_mut(*condition as usize) {
                frequency.hits = frequency.hits.saturating_add(1);
            }
        }
    }
    frequencies
}

/// How likely each condition is to be true: as in the samples, else what many
/// rules have in common is likely common in events.
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

/// What made a rule a candidate.
#[derive(Clone, Copy)]
enum Reached<'t> {
    /// One of the terms of its access path.
    By(&'t Term<'t>),
    /// Nothing: it is one on every event.
    Always,
}

impl Reached<'_> {
    /// Whether it says that part of the rule is true.
    fn proves(self, truth: &Truth) -> bool {
        match (self, truth) {
            (Self::By(term), Truth::One { condition, is_positive: true }) => {
                Some(*condition) == term.condition
            }
            _ => false,
        }
    }
}

/// All that may make a rule a candidate.
fn reached_by<'t>(access: &'t Result<AccessPath<'t>, Reason>) -> Vec<Reached<'t>> {
    match access {
        Ok(access) => access.terms.iter().map(Reached::By).collect(),
        Err(_) => vec![Reached::Always],
    }
}

/// What a candidate needs to be true.
fn needs<'n>(analysed: &'n Analysed, reached: Reached<'n>) -> impl Iterator<Item = &'n Truth> {
    let of_term = match reached {
        Reached::By(term) => &*term.needs,
        Reached::Always => &[],
    };
    let of_rule = analysed.conjuncts.iter().map(|conjunct| &conjunct.truth);
    of_term.iter().copied().chain(of_rule).filter(move |truth| !reached.proves(truth))
}

/// The shared subexpressions that postings have bits for.
struct Chosen {
    shared: Vec<Shared>,
    bits: HashMap<Truth, u32, RandomState>,
}

/// How a conjunct is used.
struct Use {
    rules: u32,
    /// The rule that was counted last.
    last: u32,
    /// How many candidates of an event it drops, about.
    power: f64,
    place: Shared,
}

impl Chosen {
    /// Chooses those that drop the most candidates of these access paths.
    fn new(
        BuildContext { analysed, weights, .. }: &BuildContext<'_>,
        access_paths: &[Result<AccessPath<'_>, Reason>],
    ) -> Self {
        let mut uses: HashMap<&Truth, Use, RandomState> = HashMap::default();
        for conjunct in analysed.iter().flat_map(|analysed| &analysed.conjuncts) {
            uses.entry(&conjunct.truth).or_insert_with(|| Use {
                rules: 0,
                last: u32::MAX,
                power: 0.0,
                place: Shared {
                    program: conjunct.program,
                    path: conjunct.path.clone(),
                    known: None,
                },
            });
        }
        for (rule, (analysed, access)) in (0_u32..).zip(analysed.iter().zip(access_paths)) {
            for reached in reached_by(access) {
                let weight = match reached {
                    Reached::By(term) => term.weight,
                    Reached::Always => 1.0,
                };
                for truth in needs(analysed, reached) {
                    let Some(used) = uses.get_mut(truth) else { continue };
                    if used.last != rule {
                        used.rules = used.rules.saturating_add(1);
                        used.last = rule;
                    }
                    used.power += weight * (1.0 - truth.weight(weights)).max(0.1);
                }
            }
        }
        let mut ranked: Vec<(&Truth, Use)> =
            uses.into_iter().filter(|(_, used)| used.rules > 1).collect();
        ranked.sort_by(|(truth, used), (other_truth, other)| {
            other.power.total_cmp(&used.power).then(truth.cmp(other_truth))
        });
        ranked.truncate(SHARED);
        ranked.sort_by_key(|(truth, _)| !matches!(truth, Truth::One { is_positive: true, .. }));
        let bits = ranked.iter().map(|(truth, _)| Truth::clone(truth)).zip(0..).collect();
        Self { shared: ranked.into_iter().map(|(_, used)| used.place).collect(), bits }
    }

    /// Adds the conditions by which the search says whether one is true. They come first, so
    /// that one which is a condition has its number for its bit.
    fn search(
        &mut self,
        searched: &mut Searched,
        facts_of: impl Fn(&Truth, &Shared) -> Option<Vec<Requirement>>,
    ) {
        let mut bits: Vec<(&Truth, &u32)> = self.bits.iter().collect();
        bits.sort_unstable_by_key(|(_, bit)| **bit);
        for ((truth, _), shared) in bits.into_iter().zip(&mut self.shared) {
            let Some(facts) = facts_of(truth, shared) else { continue };
            let truth = truth.renumbered(&mut |condition| searched.number(condition));
            shared.known = Some(Known { truth, facts: facts.into() });
        }
    }

    /// The bits of those that are the condition of their own number.
    fn searched(&self) -> u64 {
        let bits = (0_u32..).zip(&self.shared).filter_map(|(number, shared)| {
            let is_searched = shared.known.as_ref().is_some_and(|known| known.is_condition(number));
            is_searched.then_some(1 << number)
        });
        bits.fold(0, |bits, bit: u64| bits | bit)
    }

    fn bit(&self, truth: &Truth) -> Option<u64> {
        self.bits.get(truth).map(|bit| 1 << bit)
    }

    /// Whether it is among those whose bits are in a need.
    fn is_in(&self, truth: &Truth, need: u64) -> bool {
        self.bit(truth).is_some_and(|bit| need & bit != 0)
    }

    /// The bits of what a candidate needs.
    fn need(&self, analysed: &Analysed, reached: Reached<'_>) -> u64 {
        needs(analysed, reached).filter_map(|truth| self.bit(truth)).fold(0, |need, bit| need | bit)
    }
}
