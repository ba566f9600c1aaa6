//! The places at which the budget of a decision may end.

use crate::definitions::candidates_index::Step;

/// The search of the index and the entities each have a budget of their own: the work of a decision
/// divided by this.
pub(crate) const RESERVE: u64 = 4;

/// The most units of the search of the index, and of the expressions of entities.
pub(crate) const fn reserve(decision_work: u64) -> u64 {
    decision_work / RESERVE
}

/// A place of the walk through actions and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    Action(u32),
    Step(Step, Part),
}

/// A place at a step of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Expression,
    WindowField,
}

impl Stop {
    pub(crate) const fn scope(policy: u32) -> Self {
        Self::Step(Step::scope(policy), Part::Expression)
    }

    pub(crate) const fn expression(step: Step) -> Self {
        Self::Step(step, Part::Expression)
    }

    pub(crate) const fn window_field(step: Step) -> Self {
        Self::Step(step, Part::WindowField)
    }
}
