//! How an index is made: conditions, their frequencies, the access of each rule.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::index::access::{Access, Odds, Skipped, Term, cost_unless_found};
use crate::index::atom::Atoms;
use crate::index::certainty::{Requirement, requirements};
use crate::index::condition::{Condition, TextSource};
use crate::index::formula::{Analysed, Reason, Truth, analyse, at_path};
use crate::index::gram::count_grams;
use crate::index::guards::Guards;
use crate::index::postings::{Known, Meaning, Posting, Postings, Shared};
use crate::index::searches::{Samples, Searches, each_text};
use crate::index::unless::{Grounds, Unless};
use crate::index::worst_cost::{Cost, Size, cost};
use crate::index::{Index, NUMBERS, Rules, Scratch};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::program::Expr;
use crate::record::Record;

/// Shared conjuncts that a posting has bits for.
const SHARED: usize = 64;
/// Events up to this size are common.
const COMMON_SIZE: Size = Size { bytes: 4096, entries: 64 };
/// What leads to a rule on more events than this part is no help where the rule can be
/// settled otherwise.
const COMMON: f64 = 0.5;
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

/// What is known of a rule that costs little.
struct Cheap {
    cost: Cost,
    /// Those under which it is no error, where it is best settled by what is not found.
    facts: Option<Vec<Requirement>>,
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
        let grams = grams(&atoms, samples);
        let frequencies = frequencies(&analysed, &atoms, rules, samples, &grams);
        let weights = weights(&atoms.conditions, &frequencies, analysed.len(), samples.len());
        // What rules have in common depends on how they are come to, and that on what is
        // found out for all of them.
        let first = accesses(&analysed, Odds { weights: &weights, is_shared: &|_| false });
        let ways: Vec<_> = first.iter().map(ways).collect();
        let common = Chosen::new(&analysed, &ways, &weights);
        let is_shared = |truth: &Truth| common.bit(truth).is_some();
        let accesses = accesses(&analysed, Odds { weights: &weights, is_shared: &is_shared });
        let each = rules.programs.iter().zip(analysed.iter().zip(&accesses));
        let cheap = each.map(|(program, (analysed, access))| {
            let cost = cost(&program.root, &atoms.costs);
            let cost = cost.filter(|cost| is_small(*cost, rules.limits))?;
            let is_helped = access.as_ref().is_ok_and(|access| {
                access.weight() <= COMMON
                    || access.cost() < cost_unless_found(&analysed.truth, &weights)
            });
            let stands = !is_helped && analysed.stands_unless_found();
            Some(Cheap { cost, facts: if stands { facts(&program.root) } else { None } })
        });
        let cheap: Vec<Option<Cheap>> = cheap.collect();
        let facts_of = |truth: &Truth, Shared { program, path, .. }: &Shared| {
            if truth.has_negative() {
                facts(at_path(&rules.programs.get(*program as usize)?.root, path)?)
            } else {
                Some(Vec::new())
            }
        };
        let believed = (&*weights, &grams);
        Self::build(&atoms, &analysed, &accesses, (cheap, None), &frequencies, believed, facts_of)
    }

    /// An index that passes over a rule only when it is certainly false and no error.
    pub(crate) fn exact(
        atoms: &Atoms<'_>,
        rules: &[ExactRule],
        programs: Rules<'_>,
        samples: &[Record<'_>],
    ) -> Self {
        let analysed: Vec<&Analysed> = rules.iter().map(|rule| &rule.analysed).collect();
        let grams = grams(atoms, samples);
        let frequencies = frequencies(&analysed, atoms, programs, samples, &grams);
        let weights = weights(&atoms.conditions, &frequencies, rules.len(), samples.len());
        // What one alternative needs drops no rule whose other alternative may be an error.
        let odds = Odds { weights: &weights, is_shared: &|_| false };
        let accesses: Vec<Result<Access<'_>, Reason>> = analysed
            .iter()
            .map(|rule| rule.formula.access(&Truth::Open, odds, Skipped::False))
            .collect();
        let mut guards = Guards::default();
        for (number, (rule, access)) in (0_u32..).zip(rules.iter().zip(&accesses)) {
            guards.add(number, rule, access.as_ref().ok());
        }
        // Rules that may cost too much are seen by the guards.
        let cheap = rules.iter().map(|rule| Some(Cheap { cost: rule.cost, facts: None })).collect();
        // What is not true may be an error.
        let facts_of = |_: &Truth, Shared { program, path, .. }: &Shared| {
            facts(at_path(&programs.programs.get(*program as usize)?.root, path)?)
        };
        let believed = (&*weights, &grams);
        Self::build(
            atoms,
            &analysed,
            &accesses,
            (cheap, Some(guards)),
            &frequencies,
            believed,
            facts_of,
        )
    }

    fn build<A: Borrow<Analysed>>(
        atoms: &Atoms<'_>,
        analysed: &[A],
        accesses: &[Result<Access<'_>, Reason>],
        (cheap, guards): (Vec<Option<Cheap>>, Option<Guards>),
        frequencies: &[Frequency],
        (weights, grams): (&[f64], &Samples),
        facts_of: impl Fn(&Truth, &Shared) -> Option<Vec<Requirement>>,
    ) -> Self {
        let layout = atoms.layout();
        let stands =
            |rule: usize| matches!(cheap.get(rule), Some(Some(Cheap { facts: Some(_), .. })));
        let ways = accesses.iter().enumerate().map(|(rule, access)| match access {
            _ if stands(rule) => vec![Way::Unless],
            access => self::ways(access),
        });
        let mut searched = Searched::default();
        let mut shared = Chosen::new(analysed, &ways.collect::<Vec<_>>(), weights);
        shared.search(&mut searched, facts_of);

        let (mut always, mut unindexed) = (Vec::new(), Vec::new());
        let mut unless: BTreeMap<Grounds, Vec<u32>> = BTreeMap::new();
        let mut certain_cost = Cost::default();
        let mut cheap = cheap.into_iter();
        for (rule, (analysed, access)) in (0_u32..).zip(analysed.iter().zip(accesses)) {
            let (cost, facts) = match cheap.next().flatten() {
                Some(Cheap { cost, facts }) => (Some(cost), facts),
                None => (None, None),
            };
            let mut posting = |way: Way<'_>| {
                let need = shared.need(analysed.borrow(), way);
                let is_known = |truth: &Truth| shared.is_in(truth, need) || way.settles(truth);
                let is_sufficient = cost.is_some() && analysed.borrow().truth.follows(&is_known);
                if let Some(cost) = cost.filter(|_| is_sufficient) {
                    certain_cost = certain_cost.max(cost);
                }
                let meaning = if is_sufficient { Meaning::True } else { Meaning::MaybeTrue };
                Posting { rule, need, meaning }
            };
            let truth = &analysed.borrow().truth;
            let grounds = facts.and_then(|facts| {
                let need = shared.need(analysed.borrow(), Way::Unless);
                let is_known =
                    |truth: &Truth| shared.is_in(truth, need) || Way::Unless.settles(truth);
                truth.follows(&is_known).then_some((facts, need))
            });
            match (grounds, access) {
                (Some(grounds), _) => {
                    truth.each_negative(&mut |condition| {
                        let is_refuting = truth.is_refuted_by(condition);
                        let meaning =
                            if is_refuting { Meaning::NotTrue } else { Meaning::MaybeNotTrue };
                        searched.lead(condition, Posting { rule, need: grounds.1, meaning });
                    });
                    unless.entry(grounds).or_default().push(rule);
                    certain_cost = cost.map_or(certain_cost, |cost| certain_cost.max(cost));
                }
                (None, Ok(Access { terms, reason, .. })) => {
                    for term in terms {
                        let posting = posting(Way::By(term));
                        match term.condition {
                            Some(condition) => searched.lead(condition, posting),
                            None => always.push(posting),
                        }
                    }
                    unindexed.extend(reason.map(|reason| Unindexed { rule, reason }));
                }
                (None, Err(reason)) => {
                    always.push(posting(Way::Always));
                    unindexed.push(Unindexed { rule, reason: *reason });
                }
            }
        }
        let unless = Unless::new(unless);
        let searched_for = searched.conditions.iter();
        let searched_for: Vec<&Condition> = searched_for
            .filter_map(|condition| atoms.conditions.get(*condition as usize))
            .collect();
        let conditions = searched_for.len();
        let searches = Searches::new(&searched_for, &atoms.patterns, layout, grams);
        let guarded =
            0..guards.as_ref().map_or(0, |_| u32::try_from(analysed.len()).unwrap_or(u32::MAX));
        let otherwise = always.iter().map(|posting| posting.rule).chain(guarded);
        let postings = Postings::new(&searched.postings, otherwise);
        let shared_conditions = frequencies.iter().filter(|frequency| frequency.rules > 1).count();
        let report = Report {
            rules: analysed.len(),
            conditions: atoms.conditions.len(),
            shared: shared_conditions,
            searched: conditions,
            unindexed,
        };
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            searches,
            postings,
            searched: shared.searched(),
            shared: shared.shared.into(),
            always: always.into(),
            unless,
            conditions,
            rules: analysed.len(),
            guards,
            certain_cost,
            report,
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

fn frequencies<A: Borrow<Analysed>>(
    analysed: &[A],
    atoms: &Atoms<'_>,
    rules: Rules<'_>,
    samples: &[Record<'_>],
    grams: &Samples,
) -> Vec<Frequency> {
    let mut frequencies = vec![Frequency::default(); atoms.conditions.len()];
    let mut stated = Vec::new();
    for rule in analysed.iter().map(Borrow::borrow) {
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
    let searches = Searches::new(&all, &atoms.patterns, atoms.layout(), grams);
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

/// The grams of the samples, for each text that is searched for parts.
fn grams(atoms: &Atoms<'_>, samples: &[Record<'_>]) -> Samples {
    let mut grams = Samples::default();
    let mut sources: Vec<TextSource> = Vec::new();
    for condition in &atoms.conditions {
        if let Condition::Text { source, .. } = condition
            && !grams.contains_key(source)
        {
            grams.insert(*source, HashMap::default());
            sources.push(*source);
        }
    }
    for record in samples {
        for source in &sources {
            if let Some(counts) = grams.get_mut(source) {
                each_text(*source, record, |text| count_grams(&text.to_ascii_lowercase(), counts));
            }
        }
    }
    grams
}

/// How a rule is come to.
#[derive(Clone, Copy)]
enum Way<'t> {
    /// By one of the terms of its access.
    By(&'t Term<'t>),
    /// On every event.
    Always,
    /// Unless something is found that it excludes.
    Unless,
}

impl Way<'_> {
    /// Whether part of a rule that is come to in this way is true.
    fn settles(self, truth: &Truth) -> bool {
        match (self, truth) {
            (Self::By(term), Truth::One { condition, is_positive: true }) => {
                Some(*condition) == term.condition
            }
            (Self::Unless, truth) => truth.follows(&Truth::is_negative),
            _ => false,
        }
    }
}

/// How rules that are not true when skipped are come to.
fn accesses<'t>(analysed: &'t [Analysed], odds: Odds<'_>) -> Vec<Result<Access<'t>, Reason>> {
    let access = |rule: &'t Analysed| rule.formula.access(&rule.truth, odds, Skipped::NotTrue);
    analysed.iter().map(access).collect()
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
        Way::Always | Way::Unless => &[],
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
    /// Chooses those that drop the most rules, each of which is come to in some ways.
    fn new<A: Borrow<Analysed>>(analysed: &[A], ways: &[Vec<Way<'_>>], weights: &[f64]) -> Self {
        let mut uses: HashMap<&Truth, Use, RandomState> = HashMap::default();
        for conjunct in analysed.iter().flat_map(|analysed| &analysed.borrow().conjuncts) {
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
        for (rule, (analysed, ways)) in (0_u32..).zip(analysed.iter().zip(ways)) {
            for way in ways {
                let weight = match way {
                    Way::By(term) => term.weight,
                    Way::Always | Way::Unless => 1.0,
                };
                for truth in needs(analysed.borrow(), *way) {
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
