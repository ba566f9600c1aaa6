//! How an index is made: conditions, their frequencies, the access of each rule.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::index::access::{Access, Odds, Skipped, Term};
use crate::index::atom::Atoms;
use crate::index::certainty::{Requirement, requirements};
use crate::index::condition::Condition;
use crate::index::formula::{Analysed, Reason, Truth, analyse, at_path};
use crate::index::guards::Guards;
use crate::index::postings::{Known, Meaning, Posting, Postings, Shared};
use crate::index::searches::Searches;
use crate::index::worst_cost::{Cost, Size, cost};
use crate::index::{Index, NUMBERS, Rules, Scratch};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::program::{Expr, Program};
use crate::record::Record;

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
    /// Rules without access.
    pub unindexed: Vec<Unindexed>,
}

/// A rule that is looked at on every event.
#[derive(Clone, Copy, Debug)]
pub struct Unindexed {
    pub rule: u32,
    pub reason: Reason,
}

/// A rule whose errors are told.
#[derive(Debug)]
pub(crate) struct ExactRule {
    pub(crate) analysed: Analysed,
    /// What its parts cost at most, as far as they are in the formula.
    pub(crate) cost: Cost,
    /// What must be met beside what the access asks for.
    pub(crate) requirements: Vec<Requirement>,
}

/// The conditions that are searched for, by their place here, and what they lead to.
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

/// Where rules are looked at, gathered rule by rule.
#[derive(Default)]
struct Gathered {
    searched: Searched,
    /// On every event.
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
            cost(&program.root, &atoms.costs).filter(|cost| is_small(*cost, rules.limits))
        };
        let costs = rules.programs.iter().map(small_cost).collect();
        let analysed = analysed.iter().collect();
        let context = BuildContext::new(&atoms, analysed, costs, rules, samples);
        // What rules have in common depends on how they are reached, and the best way to reach
        // them on what is found out once for all of them: so the ways are chosen twice.
        let first = context.accesses(&|_| false, Skipped::NotTrue);
        let common = Chosen::new(&context, &first);
        let accesses = context.accesses(&|truth| common.bit(truth).is_some(), Skipped::NotTrue);
        let facts_of = |truth: &Truth, shared: &Shared| {
            if truth.has_negative() { context.facts(shared) } else { Some(Vec::new()) }
        };
        context.index(&accesses, None, facts_of)
    }

    /// An index that passes over a rule only when it is certainly false and no error.
    pub(crate) fn exact(
        atoms: &Atoms<'_>,
        rules: &[ExactRule],
        programs: Rules<'_>,
        samples: &[Record<'_>],
    ) -> Self {
        let analysed = rules.iter().map(|rule| &rule.analysed).collect();
        // Rules that may cost too much are seen by the guards.
        let costs = rules.iter().map(|rule| Some(rule.cost)).collect();
        let context = BuildContext::new(atoms, analysed, costs, programs, samples);
        // What one alternative needs drops no rule whose other alternative may be an error.
        let accesses = context.accesses(&|_| false, Skipped::False);
        let mut guards = Guards::default();
        for (number, (rule, access)) in (0_u32..).zip(rules.iter().zip(&accesses)) {
            guards.add(number, rule, access.as_ref().ok());
        }
        // What is not true may be an error.
        context.index(&accesses, Some(guards), |_, shared| context.facts(shared))
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

    /// How each rule is reached, where some parts of rules are found out once for all.
    fn accesses(
        &self,
        is_shared: &dyn Fn(&Truth) -> bool,
        skipped: Skipped,
    ) -> Vec<Result<Access<'b>, Reason>> {
        let odds = Odds { weights: &self.weights, is_shared };
        let access = |rule: &&'b Analysed| {
            // What the rule needs plays no part where it must be false when skipped.
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
        accesses: &[Result<Access<'_>, Reason>],
        guards: Option<Guards>,
        facts_of: impl Fn(&Truth, &Shared) -> Option<Vec<Requirement>>,
    ) -> Index {
        let mut gathered = Gathered::default();
        let mut shared = Chosen::new(self, accesses);
        shared.search(&mut gathered.searched, facts_of);
        for (rule, access) in (0_u32..).zip(accesses) {
            self.gather(rule, access, &shared, &mut gathered);
        }
        let Gathered { searched, always, unindexed, certain_cost } = gathered;
        let searches = self.searches(&searched);
        let rules = u32::try_from(self.analysed.len()).unwrap_or(u32::MAX);
        let guarded = 0..if guards.is_some() { rules } else { 0 };
        let otherwise = always.iter().map(|posting| posting.rule).chain(guarded);
        let postings = Postings::new(&searched.postings, otherwise);
        Index {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            searches,
            postings,
            searched: shared.searched(),
            shared: shared.shared.into(),
            always: always.into(),
            conditions: searched.conditions.len(),
            rules: self.analysed.len(),
            guards,
            certain_cost,
            report: self.report(&searched, unindexed),
        }
    }

    /// Adds where a rule is looked at.
    fn gather(
        &self,
        rule: u32,
        access: &Result<Access<'_>, Reason>,
        shared: &Chosen,
        gathered: &mut Gathered,
    ) {
        let access = match access {
            Ok(access) => access,
            Err(reason) => {
                gathered.unindexed.push(Unindexed { rule, reason: *reason });
                return gathered.add(None, self.posting(rule, Way::Always, shared));
            }
        };
        for term in &access.terms {
            gathered.add(term.condition, self.posting(rule, Way::By(term), shared));
        }
        gathered.unindexed.extend(access.reason.map(|reason| Unindexed { rule, reason }));
    }

    /// The posting of a rule that is reached in some way, and what the rule costs at most if
    /// that alone says that it is true.
    fn posting(&self, rule: u32, way: Way<'_>, shared: &Chosen) -> (Posting, Option<Cost>) {
        let cost = self.costs.get(rule as usize).copied().flatten();
        let (mut need, mut is_true) = (0, false);
        if let Some(analysed) = self.analysed.get(rule as usize) {
            need = shared.need(analysed, way);
            let is_known = |truth: &Truth| shared.is_in(truth, need) || way.settles(truth);
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
        scratch.begin(&searches, all.len(), 0, crate::work::Work::unlimited());
        searches.run(record, rules.lists, &mut scratch);
        scratch.order_found(|_| None);
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

/// How a rule is come to.
#[derive(Clone, Copy)]
enum Way<'t> {
    /// By one of the terms of its access.
    By(&'t Term<'t>),
    /// On every event.
    Always,
}

impl Way<'_> {
    /// Whether part of a rule that is come to in this way is true.
    fn settles(self, truth: &Truth) -> bool {
        match (self, truth) {
            (Self::By(term), Truth::One { condition, is_positive: true }) => {
                Some(*condition) == term.condition
            }
            _ => false,
        }
    }
}

/// The ways to a rule of some access.
fn ways<'t>(access: &'t Result<Access<'t>, Reason>) -> Vec<Way<'t>> {
    match access {
        Ok(access) => access.terms.iter().map(Way::By).collect(),
        Err(_) => vec![Way::Always],
    }
}

/// What a rule needs when it is come to in some way.
fn needs<'n>(analysed: &'n Analysed, way: Way<'n>) -> impl Iterator<Item = &'n Truth> {
    let of_term = match way {
        Way::By(term) => &*term.needs,
        Way::Always => &[],
    };
    let of_rule = analysed.conjuncts.iter().map(|conjunct| &conjunct.truth);
    of_term.iter().copied().chain(of_rule).filter(move |truth| !way.settles(truth))
}

/// The conjuncts that postings have bits for.
struct Chosen {
    shared: Vec<Shared>,
    bits: HashMap<Truth, u32, RandomState>,
}

/// How a conjunct is used.
struct Use {
    rules: u32,
    /// The rule that was counted last.
    last: u32,
    /// How many rules it drops from an event, about.
    power: f64,
    place: Shared,
}

impl Chosen {
    /// Chooses those that drop the most rules, which are reached as the accesses say.
    fn new(
        BuildContext { analysed, weights, .. }: &BuildContext<'_>,
        accesses: &[Result<Access<'_>, Reason>],
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
        for (rule, (analysed, access)) in (0_u32..).zip(analysed.iter().zip(accesses)) {
            for way in ways(access) {
                let weight = match way {
                    Way::By(term) => term.weight,
                    Way::Always => 1.0,
                };
                for truth in needs(analysed, way) {
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

    /// Has those searched for of which the search can say whether they are true; first of all,
    /// so that those which are a condition have its number for their bit.
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

    /// The bits of what a rule needs when it is come to in some way.
    fn need(&self, analysed: &Analysed, way: Way<'_>) -> u64 {
        needs(analysed, way).filter_map(|truth| self.bit(truth)).fold(0, |need, bit| need | bit)
    }
}
