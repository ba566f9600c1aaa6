//! The access path of a rule: the conditions that make it a candidate, and the other expressions
//! that each of them requires.
//!
//! A candidate is cheap if it lacks a shared subexpression, which is tested once for all rules, or
//! if it is proven without evaluation. So a frequent condition of rules that are then dropped is
//! better than a rare one after which they are evaluated.

use smallvec::SmallVec;

use crate::index::requirements::error_free::Requirement;
use crate::index::requirements::formula::{Exact, Necessary, Reason, Watch};

/// The cost of evaluating a rule, in units of the cost of a candidate.
const EVALUATION: f64 = 48.0;
/// The extra weight of a rule that is a candidate on every event.
const ALWAYS: f64 = 2.0;

/// The estimated frequencies of events.
#[derive(Clone, Copy)]
pub(crate) struct Odds<'o> {
    /// How often each condition is true.
    pub(crate) weights: &'o [f64],
    /// Whether an expression is evaluated once for all rules.
    pub(crate) is_shared: &'o dyn Fn(&Exact) -> bool,
}

impl Odds<'_> {
    /// The frequency of an expression that is evaluated once for all rules.
    fn of_shared(self, exact: &Exact) -> Option<f64> {
        (self.is_shared)(exact).then(|| exact.weight(self.weights))
    }
}

/// The cheapest set of conditions of which one must be true.
#[derive(Debug, PartialEq)]
pub(crate) struct AccessPath<'t> {
    /// Distinct terms, in ascending order of their conditions.
    pub(crate) terms: Vec<Term<'t>>,
    /// The requirements under which the rule is false if none of the terms is true.
    pub(crate) requirements: Vec<Requirement>,
    /// The reason why one term has no condition, if all others have one.
    pub(crate) reason: Option<Reason>,
}

/// A condition that makes a rule a candidate.
#[derive(Debug, PartialEq)]
pub(crate) struct Term<'t> {
    /// None if the rule is a candidate on every event.
    pub(crate) condition: Option<u32>,
    /// Its estimated frequency.
    pub(crate) weight: f64,
    /// Expressions that are true whenever the rule is true by this condition.
    pub(crate) required: Vec<&'t Exact>,
    /// Their estimated frequency, as far as they are evaluated once for all rules.
    chance: f64,
    /// Whether they are the whole rule, which is then proven.
    is_proven: bool,
}

/// The conclusion if no condition of an access path is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// The rule is not true.
    NotTrue,
    /// The rule is false, and no error.
    False,
}

impl<'t> AccessPath<'t> {
    fn by(term: Term<'t>) -> Self {
        Self { terms: vec![term], requirements: Vec::new(), reason: None }
    }

    /// Its estimated cost on an event.
    fn cost(&self) -> f64 {
        self.terms.iter().map(Term::cost).sum()
    }

    /// Adds the requirements of the other parts of a conjunction.
    fn add_required(&mut self, parts: &Parts<'t>, position: usize) {
        for term in &mut self.terms {
            let closed = parts.others(position).filter(|part| part.is_closed);
            term.required.extend(closed.map(|part| part.exact));
        }
    }

    /// Weighs the terms by the requirements of the other parts of a conjunction.
    fn weigh(&mut self, parts: &Parts<'t>, position: usize) {
        let chances = parts.others(position).filter_map(|part| part.chance);
        let chance = chances.product::<f64>();
        let are_shared =
            !parts.0.is_empty() && parts.others(position).all(|part| part.chance.is_some());
        for term in &mut self.terms {
            term.chance *= chance;
            term.is_proven &= are_shared;
        }
    }
}

impl Term<'_> {
    fn cost(&self) -> f64 {
        let evaluation = if self.is_proven { 0.0 } else { EVALUATION * self.chance };
        let each = self.weight * (1.0 + evaluation);
        if self.condition.is_none() { each * ALWAYS } else { each }
    }

    /// Whether the rule is evaluated on every event, regardless of its other terms.
    fn is_hopeless(&self) -> bool {
        self.condition.is_none() && self.required.is_empty() && !self.is_proven
    }
}

/// The parts of a conjunction.
struct Parts<'t>(SmallVec<[Part<'t>; 8]>);

struct Part<'t> {
    exact: &'t Exact,
    /// Its frequency, if it is evaluated once for all rules.
    chance: Option<f64>,
    is_closed: bool,
    /// Whether an earlier part is the same, so that this one makes nothing rarer.
    is_repeated: bool,
}

impl<'t> Parts<'t> {
    fn of(exacts: &'t [Exact], odds: Odds<'_>) -> Self {
        let mut parts = SmallVec::<[Part<'t>; 8]>::new();
        for exact in exacts {
            let is_closed = exact.is_closed();
            let is_repeated = is_closed && parts.iter().any(|part| part.exact == exact);
            parts.push(Part { exact, chance: odds.of_shared(exact), is_closed, is_repeated });
        }
        Self(parts)
    }

    /// All parts but one and its repetitions.
    fn others(&self, position: usize) -> impl Iterator<Item = &Part<'t>> {
        let own = self.0.get(position).map(|part| part.exact);
        self.0.iter().filter(move |part| !part.is_repeated && Some(part.exact) != own)
    }
}

impl Necessary {
    /// The conditions to watch for, where the same expression is `exact` by its conditions.
    ///
    /// # Errors
    /// The reason for their absence; only if the rule must be false when skipped.
    pub(crate) fn access_path<'t>(
        &self,
        exact: &'t Exact,
        odds: Odds<'_>,
        skipped: Skipped,
    ) -> Result<AccessPath<'t>, Reason> {
        match self {
            Self::Open(reason) => open(*reason, exact, odds, skipped),
            Self::One(watch) => one(watch, exact, odds, skipped),
            Self::All(parts) => all(parts, exact, odds, skipped),
            Self::Any(parts) => any(parts, exact, odds, skipped),
        }
    }
}

fn open<'t>(
    reason: Reason,
    exact: &'t Exact,
    odds: Odds<'_>,
    skipped: Skipped,
) -> Result<AccessPath<'t>, Reason> {
    if skipped == Skipped::False {
        return Err(reason);
    }
    let chance = odds.of_shared(exact);
    let term = Term {
        condition: None,
        weight: 1.0,
        required: if exact.is_closed() { vec![exact] } else { Vec::new() },
        chance: chance.unwrap_or(1.0),
        is_proven: chance.is_some(),
    };
    Ok(AccessPath { reason: Some(reason), ..AccessPath::by(term) })
}

fn one<'t>(
    Watch { condition, error_free }: &Watch,
    exact: &'t Exact,
    odds: Odds<'_>,
    skipped: Skipped,
) -> Result<AccessPath<'t>, Reason> {
    let requirements = match (skipped, error_free) {
        (Skipped::NotTrue, _) => Vec::new(),
        (Skipped::False, Some(requirements)) => requirements.clone(),
        (Skipped::False, None) => return Err(Reason::Error),
    };
    let term = Term {
        condition: Some(*condition),
        weight: odds.weights.get(*condition as usize).copied().unwrap_or(1.0),
        required: Vec::new(),
        chance: 1.0,
        is_proven: *exact == Exact::One { condition: *condition, is_positive: true },
    };
    Ok(AccessPath { requirements, ..AccessPath::by(term) })
}

fn all<'t>(
    parts: &[Necessary],
    exact: &'t Exact,
    odds: Odds<'_>,
    skipped: Skipped,
) -> Result<AccessPath<'t>, Reason> {
    let exacts = match exact {
        Exact::All(exacts) if exacts.len() == parts.len() => &**exacts,
        _ => &[],
    };
    let subexpressions = Parts::of(exacts, odds);
    let mut best: Result<(AccessPath<'t>, usize, f64), Reason> = Err(Reason::Test);
    let mut is_indexed = false;
    for (position, part) in parts.iter().enumerate() {
        let part_exact = exacts.get(position).unwrap_or(&Exact::Open);
        let found = part.access_path(part_exact, odds, skipped).map(|mut access_path| {
            access_path.weigh(&subexpressions, position);
            is_indexed |= access_path.reason.is_none();
            let cost = access_path.cost();
            (access_path, position, cost)
        });
        best = match (best, found) {
            (Ok(best), Ok(found)) => Ok(if found.2 < best.2 { found } else { best }),
            (Ok(best), Err(_)) => Ok(best),
            (Err(_), found) => found,
        };
    }
    let (mut access_path, position, _) = best?;
    access_path.add_required(&subexpressions, position);
    if is_indexed {
        access_path.reason = None;
    }
    Ok(access_path)
}

fn any<'t>(
    parts: &[Necessary],
    exact: &'t Exact,
    odds: Odds<'_>,
    skipped: Skipped,
) -> Result<AccessPath<'t>, Reason> {
    let exacts = match exact {
        Exact::Any(exacts) if exacts.len() == parts.len() => &**exacts,
        _ => &[],
    };
    let mut all = AccessPath { terms: Vec::new(), requirements: Vec::new(), reason: None };
    for (position, part) in parts.iter().enumerate() {
        let exact = exacts.get(position).unwrap_or(&Exact::Open);
        let access_path = part.access_path(exact, odds, skipped)?;
        all.terms.extend(access_path.terms);
        all.requirements.extend(access_path.requirements);
        all.reason = all.reason.or(access_path.reason);
    }
    all.terms.sort_by_key(|term| term.condition);
    all.terms.dedup_by(|other, term| {
        let is_same = other.condition == term.condition;
        if is_same {
            if term.required != other.required {
                term.required.retain(|required| other.required.contains(required));
                term.chance = 1.0;
                term.is_proven = false;
            }
            term.is_proven &= other.is_proven;
        }
        is_same
    });
    if all.terms.first().is_some_and(Term::is_hopeless) {
        all.terms.truncate(1);
    }
    Ok(all)
}
