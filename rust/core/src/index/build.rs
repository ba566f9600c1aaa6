//! How an index is made: conditions, their frequencies, the access of each rule.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::index::atom::Atoms;
use crate::index::certainty::Requirement;
use crate::index::condition::{Condition, TextSource};
use crate::index::formula::{Access, Analysed, Reason, Skipped, analyse};
use crate::index::guards::Guards;
use crate::index::postings::{Posting, Postings, Shared};
use crate::index::searches::{Samples, Searches, each_text};
use crate::index::substring::count_grams;
use crate::index::worst_cost::{Cost, Size, cost};
use crate::index::{Index, NUMBERS, Rules, Scratch};
use crate::limits::Limits;
use crate::record::{Layout, Record};

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
    pub bytes: usize,
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
        let frequencies = frequencies(&analysed, &atoms, rules, layout, samples);
        let weights = weights(&atoms.conditions, &frequencies, analysed.len(), samples.len());
        let access = |rule: &Analysed| rule.formula.access(&weights, Skipped::NotTrue);
        let accesses: Vec<Result<Access, Reason>> = analysed.iter().map(access).collect();
        let costs = rules.programs.iter().map(|program| {
            cost(&program.root, layout).filter(|cost| is_small(*cost, rules.limits))
        });
        let costs: Vec<Option<Cost>> = costs.collect();
        Self::build(&atoms, &analysed, &accesses, &costs, &frequencies, (&weights, samples))
    }

    /// An index that passes over a rule only when it is certainly false and no error.
    pub(crate) fn exact(atoms: &Atoms<'_>, rules: &[ExactRule], programs: Rules<'_>) -> Self {
        let analysed: Vec<&Analysed> = rules.iter().map(|rule| &rule.analysed).collect();
        let frequencies = frequencies(&analysed, atoms, programs, atoms.layout(), &[]);
        let weights = weights(&atoms.conditions, &frequencies, rules.len(), 0);
        let access = |rule: &&Analysed| rule.formula.access(&weights, Skipped::False);
        let accesses: Vec<Result<Access, Reason>> = analysed.iter().map(access).collect();
        let mut guards = Guards::default();
        for (number, (rule, access)) in (0_u32..).zip(rules.iter().zip(&accesses)) {
            guards.add(number, rule, access.as_ref().ok());
        }
        let index = Self::build(atoms, &analysed, &accesses, &[], &frequencies, (&weights, &[]));
        Self { guards: Some(guards), ..index }
    }

    fn build<A: Borrow<Analysed>>(
        atoms: &Atoms<'_>,
        analysed: &[A],
        accesses: &[Result<Access, Reason>],
        costs: &[Option<Cost>],
        frequencies: &[Frequency],
        (weights, samples): (&[f64], &[Record<'_>]),
    ) -> Self {
        let layout = atoms.layout();
        let shared = Chosen::new(analysed, accesses, weights);

        let mut numbers: HashMap<u32, u32, RandomState> = HashMap::default();
        let mut searched: Vec<&Condition> = Vec::new();
        let mut by_condition: Vec<Vec<Posting>> = Vec::new();
        let (mut always, mut unindexed) = (Vec::new(), Vec::new());
        let mut certain_cost = Cost::default();
        for (rule, (analysed, access)) in (0_u32..).zip(analysed.iter().zip(accesses)) {
            let need = shared.need(analysed.borrow());
            let cost = costs.get(rule as usize).copied().flatten();
            let mut posting = |condition: Option<u32>| {
                let is_known = |number, is_positive| {
                    let bit = shared.bits.get(&(number, is_positive));
                    bit.is_some_and(|bit| need & (1 << bit) != 0)
                        || is_positive && condition == Some(number)
                };
                let is_sufficient = analysed.borrow().truth.holds(&is_known) && cost.is_some();
                if let Some(cost) = cost.filter(|_| is_sufficient) {
                    certain_cost = certain_cost.max(cost);
                }
                Posting { rule, need, is_sufficient }
            };
            match access {
                Err(reason) => {
                    always.push(posting(None));
                    unindexed.push(Unindexed { rule, reason: *reason });
                }
                Ok(access) => {
                    for condition in &access.conditions {
                        let next = u32::try_from(by_condition.len()).unwrap_or(u32::MAX);
                        let number = *numbers.entry(*condition).or_insert(next);
                        if number == next {
                            by_condition.push(Vec::new());
                            searched.extend(atoms.conditions.get(*condition as usize));
                        }
                        if let Some(postings) = by_condition.get_mut(number as usize) {
                            postings.push(posting(Some(*condition)));
                        }
                    }
                }
            }
        }
        let conditions = searched.len();
        let grams = grams(&searched, samples);
        let searches = Searches::new(&searched, &atoms.patterns, layout, &grams);
        let postings = Postings::new(by_condition);
        let shared_conditions = frequencies.iter().filter(|frequency| frequency.rules > 1).count();
        let report = Report {
            rules: analysed.len(),
            conditions: atoms.conditions.len(),
            shared: shared_conditions,
            searched: conditions,
            unindexed,
            bytes: searches
                .memory_bytes()
                .saturating_add(postings.memory_bytes())
                .saturating_add(std::mem::size_of_val(&*always))
                .saturating_add(size_of::<Self>()),
        };
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            searches,
            postings,
            shared: shared.shared.into(),
            always: always.into(),
            conditions,
            rules: analysed.len(),
            guards: None,
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

fn frequencies<A: Borrow<Analysed>>(
    analysed: &[A],
    atoms: &Atoms<'_>,
    rules: Rules<'_>,
    layout: &Layout,
    samples: &[Record<'_>],
) -> Vec<Frequency> {
    let mut frequencies = vec![Frequency::default(); atoms.conditions.len()];
    for rule in analysed.iter().map(Borrow::borrow) {
        let mut stated = Vec::new();
        rule.formula.conditions(&mut |condition| stated.push(condition));
        stated.extend(rule.conjuncts.iter().map(|conjunct| conjunct.condition));
        stated.sort_unstable();
        stated.dedup();
        for condition in stated {
            if let Some(frequency) = frequencies.get_mut(condition as usize) {
                frequency.rules = frequency.rules.saturating_add(1);
            }
        }
    }
    if samples.is_empty() {
        return frequencies;
    }
    let all: Vec<&Condition> = atoms.conditions.iter().collect();
    let searches = Searches::new(&all, &atoms.patterns, layout, &grams(&all, samples));
    let mut scratch = Scratch::default();
    for record in samples {
        scratch.begin(&searches, all.len(), 0);
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

/// The grams of the samples, for each text that is searched for parts.
fn grams(conditions: &[&Condition], samples: &[Record<'_>]) -> Samples {
    let mut grams = Samples::default();
    let mut sources: Vec<TextSource> = Vec::new();
    for condition in conditions {
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

/// The conjuncts that postings have bits for.
struct Chosen {
    shared: Vec<Shared>,
    bits: HashMap<(u32, bool), u32, RandomState>,
}

impl Chosen {
    /// Chooses those that drop the most rules.
    fn new<A: Borrow<Analysed>>(
        analysed: &[A],
        accesses: &[Result<Access, Reason>],
        weights: &[f64],
    ) -> Self {
        let mut uses: HashMap<(u32, bool), (u32, Shared), RandomState> = HashMap::default();
        for (analysed, access) in analysed.iter().map(Borrow::borrow).zip(accesses) {
            for conjunct in &analysed.conjuncts {
                let is_access = conjunct.is_positive
                    && access
                        .as_ref()
                        .is_ok_and(|access| access.conditions == [conjunct.condition]);
                if is_access {
                    continue;
                }
                let place =
                    || (0, Shared { program: conjunct.program, path: conjunct.path.clone() });
                let (count, _) =
                    uses.entry((conjunct.condition, conjunct.is_positive)).or_insert_with(place);
                *count = count.saturating_add(1);
            }
        }
        let power = |(condition, is_positive): &(u32, bool), count: u32| {
            let weight = weights.get(*condition as usize).copied().unwrap_or(1.0).min(1.0);
            f64::from(count) * if *is_positive { 1.0 - weight } else { weight.max(0.1) }
        };
        let mut ranked: Vec<_> = uses
            .into_iter()
            .filter(|(_, (count, _))| *count > 1)
            .map(|(key, (count, shared))| (power(&key, count), key, shared))
            .collect();
        ranked.sort_by(|(power, key, _), (other, other_key, _)| {
            other.total_cmp(power).then(key.cmp(other_key))
        });
        ranked.truncate(SHARED);
        let bits = ranked.iter().map(|(_, key, _)| *key).zip(0..).collect();
        Self { shared: ranked.into_iter().map(|(_, _, shared)| shared).collect(), bits }
    }

    /// The bits of what a rule needs.
    fn need(&self, analysed: &Analysed) -> u64 {
        analysed.conjuncts.iter().fold(0, |need, conjunct| {
            let bit = self.bits.get(&(conjunct.condition, conjunct.is_positive));
            need | bit.map_or(0, |bit| 1 << bit)
        })
    }
}
