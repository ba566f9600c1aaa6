//! Clause groups: the common conditions of clauses, evaluated once for all of them.
//!
//! Clauses of one scope, entity, actions and condition hold on the same events. Those of their
//! windows that count the same are a family ([`crate::state::window::family`]). They differ only in
//! how much they hold, and only those that are reached are visited.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::definitions::candidates_index::Step;
use crate::definitions::stop::Stop;
use crate::definitions::window_rule::{Family, Rule};
use crate::definitions::{ClauseWindow, ExpressionId, Policy};

/// The common conditions of some clauses.
#[derive(Debug)]
pub struct ClauseGroup {
    pub scope: Option<ExpressionId>,
    pub condition: Option<ExpressionId>,
    pub actions: Box<[u32]>,
    pub entity: Option<u32>,
    /// Its clauses, in order.
    pub steps: Box<[Step]>,
    /// Its clauses without a window.
    pub plain: Box<[Step]>,
    families: Range<usize>,
}

impl ClauseGroup {
    /// Its first clause.
    pub(crate) fn first(&self) -> Step {
        self.steps.first().copied().unwrap_or_else(|| Step::scope(0))
    }
}

/// Clauses whose windows count the same, the widest first: by thresholds, the highest first, and
/// none of a longer duration than the first.
#[derive(Debug)]
pub struct WindowFamily {
    first: u32,
    rules: Box<[Rule]>,
    /// The values that distinct windows count.
    pub distinct: Option<ExpressionId>,
    /// The clause of each position.
    pub steps: Box<[Step]>,
}

impl WindowFamily {
    pub fn family(&self) -> Family<'_> {
        Family { first: self.first, rules: &self.rules }
    }

    /// The first place of the walk that needs what its windows count; a condition if they count
    /// events.
    pub(crate) fn first(&self) -> Stop {
        self.counts_at(self.steps.iter().min().copied().unwrap_or_else(|| Step::scope(0)))
    }

    /// The place at which the window of a clause is decided.
    pub(crate) fn counts_at(&self, step: Step) -> Stop {
        if self.distinct.is_some() { Stop::window_field(step) } else { Stop::expression(step) }
    }

    /// The number, rule and clause of each window, widest first.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = (u32, Rule, Step)> {
        let members = self.rules.iter().zip(&self.steps).enumerate();
        members.map(|(position, (rule, step))| {
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            (self.first.saturating_add(position), *rule, *step)
        })
    }
}

/// The clause groups of a definition set, and the families of their windows.
#[derive(Debug, Default)]
pub struct ClauseGroups {
    groups: Vec<ClauseGroup>,
    /// All families, in the order of their numbers.
    families: Vec<WindowFamily>,
    /// The family of each window, by its number.
    family_of: Vec<u32>,
}

impl ClauseGroups {
    /// Finds the clause groups and gives their windows their numbers.
    pub fn new(policies: &mut [Policy]) -> Self {
        let mut sorted: HashMap<_, Vec<Step>, RandomState> = HashMap::default();
        let mut order = Vec::new();
        let mut disabled = Vec::new();
        for (position, policy) in (0..).zip(&*policies) {
            for (place, clause) in (0..).zip(&policy.clauses) {
                let step = Step::clause(position, place);
                if !clause.is_enabled {
                    disabled.push(step);
                    continue;
                }
                let key = (policy.scope, clause.condition, clause.actions.clone(), clause.entity);
                let steps = sorted.entry(key.clone()).or_default();
                if steps.is_empty() {
                    order.push(key);
                }
                steps.push(step);
            }
        }
        let mut groups = Self::default();
        for key in order {
            let steps = sorted.remove(&key).unwrap_or_default();
            let (scope, condition, actions, entity) = key;
            let is_plain = |step: &Step| window(policies, *step).is_none();
            let plain = steps.iter().copied().filter(is_plain).collect();
            let families = groups.add_families(policies, &steps);
            let steps = steps.into();
            let group = ClauseGroup { scope, condition, actions, entity, steps, plain, families };
            groups.groups.push(group);
        }
        // Keep the counts of disabled clauses for when they are enabled again.
        for step in disabled {
            groups.add_families(policies, &[step]);
        }
        groups.number(policies);
        groups
    }

    pub fn iter(&self) -> impl Iterator<Item = &ClauseGroup> {
        self.groups.iter()
    }

    pub fn get(&self, position: u32) -> Option<&ClauseGroup> {
        self.groups.get(usize::try_from(position).ok()?)
    }

    /// The windows of a clause group's clauses.
    pub fn families_of(&self, group: &ClauseGroup) -> &[WindowFamily] {
        self.families.get(group.families.clone()).unwrap_or_default()
    }

    /// The family of a window.
    pub fn family_of(&self, number: u32) -> Option<&WindowFamily> {
        let family = *self.family_of.get(usize::try_from(number).ok()?)?;
        self.families.get(usize::try_from(family).ok()?)
    }

    /// The families with more than one window.
    pub fn shared(&self) -> impl Iterator<Item = Family<'_>> {
        self.families.iter().map(WindowFamily::family).filter(|family| family.rules.len() > 1)
    }

    fn add_families(&mut self, policies: &[Policy], steps: &[Step]) -> Range<usize> {
        let start = self.families.len();
        let with_window = |step: &Step| Some((*step, window(policies, *step)?));
        let mut members: Vec<(Step, &ClauseWindow)> =
            steps.iter().filter_map(with_window).collect();
        members.sort_by_key(|(_, window)| {
            let Rule { duration, threshold } = window.rule;
            std::cmp::Reverse((threshold, duration))
        });
        let mut families: Vec<Vec<(Step, &ClauseWindow)>> = Vec::new();
        for member in members {
            let is_of = |family: &&mut Vec<(Step, &ClauseWindow)>| {
                family.first().is_some_and(|(_, widest)| can_share(widest, member.1))
            };
            match families.iter_mut().find(is_of) {
                Some(family) => family.push(member),
                None => families.push(vec![member]),
            }
        }
        self.families.extend(families.into_iter().map(|members| WindowFamily {
            first: 0,
            rules: members.iter().map(|(_, window)| window.rule).collect(),
            distinct: members.first().and_then(|(_, window)| window.distinct),
            steps: members.iter().map(|(step, _)| *step).collect(),
        }));
        start..self.families.len()
    }

    fn number(&mut self, policies: &mut [Policy]) {
        let mut number = 0_u32;
        for (position, family) in (0..).zip(&mut self.families) {
            family.first = number;
            for step in &family.steps {
                if let Some(window) = window_mut(policies, *step) {
                    window.number = number;
                }
                self.family_of.push(position);
                number = number.saturating_add(1);
            }
        }
    }
}

/// Whether a window holds all that another would. A distinct one is searched from its oldest value,
/// so the other must see all of it.
fn can_share(widest: &ClauseWindow, other: &ClauseWindow) -> bool {
    widest.distinct == other.distinct
        && widest.rule.covers(other.rule)
        && (other.distinct.is_none() || widest.rule.duration == other.rule.duration)
}

fn window(policies: &[Policy], step: Step) -> Option<&ClauseWindow> {
    let policy = policies.get(usize::try_from(step.policy()).ok()?)?;
    policy.clauses.get(usize::try_from(step.clause_position()?).ok()?)?.window.as_ref()
}

fn window_mut(policies: &mut [Policy], step: Step) -> Option<&mut ClauseWindow> {
    let policy = policies.get_mut(usize::try_from(step.policy()).ok()?)?;
    policy.clauses.get_mut(usize::try_from(step.clause_position()?).ok()?)?.window.as_mut()
}
