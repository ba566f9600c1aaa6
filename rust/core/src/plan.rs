//! Which parts of the definitions an event can concern, found by one search in place of
//! a walk through them all.
//!
//! Every action, match expression, scope and trigger is a rule of one [`Index`]. A trigger
//! is the conjunction of a scope, actions and a condition, so that the rarest of these leads
//! to it. What the search leaves out is certainly false and no
//! error: going there would change nothing, nor be told.

use std::collections::BTreeMap;

use smallvec::{SmallVec, smallvec};

use crate::budget::{Stop, reserve};
use crate::definitions::{Action, EntityDefinition, ExpressionId, Expressions, Policy};
use crate::index::certainty::{Requirement, requirements};
use crate::index::worst_cost::{Cost, cost};
use crate::index::{Analysed, Atoms, ExactRule, Formula, Index, Report, Rules, Truth, analyse};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::lists::Lists;
use crate::record::Record;
use crate::trigger::{Trigger, Triggers};
use crate::work::Work;

/// What a plan is made of.
pub struct Planned<'d> {
    pub layout: &'d Layout,
    pub lists: &'d Lists,
    pub limits: &'d Limits,
    pub expressions: &'d Expressions,
    pub actions: &'d [Action],
    pub entities: &'d [EntityDefinition],
    pub policies: &'d [Policy],
    pub triggers: &'d Triggers,
}

/// What a rule of the index stands for.
#[derive(Debug)]
struct Stated {
    target: Target,
    /// All of them are true if the rule is.
    expressions: SmallVec<[ExpressionId; 2]>,
}

/// What it leads to, by position.
#[derive(Clone, Copy, Debug)]
enum Target {
    Action(u32),
    Match(u32),
    /// By position in [`Plan::scopes`].
    Scope(u32),
    Trigger(u32),
}

impl Stated {
    fn one(target: Target, expression: ExpressionId) -> Self {
        Self { target, expressions: smallvec![expression] }
    }
}

/// A stop of the walk through the policies: the scope of a policy, or one of its
/// clauses. In the order of the walk, and one number, because many are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(u64);

impl Step {
    /// The scope of the policy at a position.
    pub const fn scope(policy: u32) -> Self {
        Self((policy as u64) << 32)
    }

    /// A clause by its position in a policy.
    pub const fn clause(policy: u32, clause: u32) -> Self {
        Self(Self::scope(policy).0 | (clause as u64).saturating_add(1))
    }

    pub const fn policy(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The position of the clause; a scope has none.
    pub const fn clause_position(self) -> Option<u32> {
        (self.0 as u32).checked_sub(1)
    }
}

/// A scope and the policies that have it, in order.
#[derive(Debug)]
pub struct Scope {
    pub expression: ExpressionId,
    pub policies: Vec<u32>,
}

impl Scope {
    /// Where the walk comes to it first.
    pub(crate) fn first(&self) -> Stop {
        Stop::scope(self.policies.first().copied().unwrap_or_default())
    }
}

/// What one event can concern, each in the order of the walk.
#[derive(Debug, Default)]
pub struct Concerns {
    /// Actions that may match or be an error.
    pub actions: Vec<u32>,
    /// Entities whose match expression may be true or an error.
    pub matches: Vec<u32>,
    /// Scopes that may be errors.
    pub scopes: Vec<u32>,
    /// Triggers whose conditions may all hold.
    pub triggers: Vec<u32>,
    /// Expressions that are true, and no error.
    pub held: Vec<ExpressionId>,
}

/// The index of a definition set.
#[derive(Debug)]
pub struct Plan {
    index: Index,
    /// By number of the rule.
    stated: Vec<Stated>,
    scopes: Vec<Scope>,
    read_actions: Vec<u32>,
}

impl Plan {
    /// A plan; `samples` are records like those to come.
    pub fn new(planned: &Planned<'_>, samples: &[Record<'_>]) -> Self {
        let mut builder = Builder::new(planned);
        builder.actions();
        builder.matches();
        let scopes = builder.scopes();
        builder.triggers();
        let Builder { atoms, rules, stated, .. } = builder;
        let index = Index::exact(
            &atoms,
            &rules,
            Rules {
                programs: planned.expressions.programs(),
                lists: planned.lists,
                limits: planned.limits,
            },
            samples,
        );
        let read = |(position, action): (u32, &Action)| action.slot.map(|_| position);
        let read_actions = (0..).zip(planned.actions).filter_map(read).collect();
        Self { index, stated, scopes, read_actions }
    }

    /// Finds what a record can concern.
    pub fn search<'a>(
        &'a self,
        (expressions, lists, limits): (&'a Expressions, &'a Lists, &'a Limits),
        record: &Record<'a>,
        concerns: &mut Concerns,
    ) {
        let Concerns { actions, matches, scopes, triggers, held } = concerns;
        for list in [&mut *actions, matches, scopes, triggers] {
            list.clear();
        }
        held.clear();
        let rules = Rules { programs: expressions.programs(), lists, limits };
        let work = Work::up_to(reserve(limits.decision_work));
        self.index.each_candidate(rules, record, work, |rule, is_true| {
            let Some(Stated { target, expressions }) = self.stated.get(rule as usize) else {
                return;
            };
            match target {
                Target::Action(position) => actions.push(*position),
                Target::Match(position) => matches.push(*position),
                Target::Scope(position) => scopes.push(*position),
                Target::Trigger(position) => triggers.push(*position),
            }
            if is_true {
                held.extend_from_slice(expressions);
            }
        });
        for list in [actions, matches, scopes, triggers] {
            list.sort_unstable();
        }
    }

    /// Actions that expressions read, in order.
    pub fn read_actions(&self) -> &[u32] {
        &self.read_actions
    }

    pub fn scope(&self, position: u32) -> Option<&Scope> {
        self.scopes.get(position as usize)
    }

    /// What the index is made of.
    pub const fn report(&self) -> &Report {
        self.index.report()
    }
}

struct Builder<'d> {
    planned: &'d Planned<'d>,
    atoms: Atoms<'d>,
    rules: Vec<ExactRule>,
    stated: Vec<Stated>,
    /// By position: what an action needs to match.
    matching: Vec<Formula>,
}

impl<'d> Builder<'d> {
    fn new(planned: &'d Planned<'d>) -> Self {
        let mut atoms = Atoms::new(planned.layout);
        atoms.judges_errors = true;
        Self { planned, atoms, rules: Vec::new(), stated: Vec::new(), matching: Vec::new() }
    }

    fn actions(&mut self) {
        let planned = self.planned;
        for (position, action) in (0..).zip(planned.actions) {
            let (analysed, cost) = self.analyse(action.expression);
            // An action that does not match is no error to those who ask for it.
            self.matching.push(analysed.formula.clone().with(Some(Vec::new())));
            let stated = Stated::one(Target::Action(position), action.expression);
            self.add(stated, analysed, cost, Vec::new());
        }
        for (action, formula) in planned.actions.iter().zip(&self.matching) {
            if let Some(slot) = action.slot {
                self.atoms.actions.insert(slot, formula.clone());
            }
        }
    }

    fn matches(&mut self) {
        for (position, entity) in (0..).zip(self.planned.entities) {
            if let Some(expression) = entity.match_expression {
                let (analysed, cost) = self.analyse(expression);
                let stated = Stated::one(Target::Match(position), expression);
                self.add(stated, analysed, cost, Vec::new());
            }
        }
    }

    /// Scopes are looked for because of their errors alone: whether they are true is
    /// part of the triggers.
    fn scopes(&mut self) -> Vec<Scope> {
        let mut policies: BTreeMap<usize, Scope> = BTreeMap::new();
        for (position, policy) in (0..).zip(self.planned.policies) {
            if let Some(expression) = policy.scope {
                let new = || Scope { expression, policies: Vec::new() };
                let scope = policies.entry(expression.index()).or_insert_with(new);
                scope.policies.push(position);
            }
        }
        let mut scopes: Vec<Scope> = policies.into_values().collect();
        scopes.sort_by_key(|scope| scope.policies.first().copied());
        for (position, scope) in (0..).zip(&scopes) {
            let (analysed, cost) = self.analyse(scope.expression);
            let stated = Stated::one(Target::Scope(position), scope.expression);
            match self.requirements(scope.expression) {
                Some(requirements) if cost.is_some() => {
                    let never = Formula::Any(Vec::new());
                    let analysed =
                        Analysed { formula: never, truth: Truth::Open, conjuncts: Vec::new() };
                    self.add(stated, analysed, cost, requirements);
                }
                _ => self.add(stated, analysed, cost, Vec::new()),
            }
        }
        scopes
    }

    fn triggers(&mut self) {
        for (position, trigger) in (0..).zip(self.planned.triggers.iter()) {
            self.trigger(position, trigger);
        }
    }

    fn trigger(&mut self, position: u32, trigger: &Trigger) {
        let matching = |action: &u32| self.matching.get(*action as usize).cloned();
        let mut parts: Vec<Formula> = trigger.actions.iter().filter_map(matching).collect();
        let (mut truths, mut conjuncts) = (Vec::new(), Vec::new());
        let mut total = Cost::default();
        let expressions: SmallVec<[ExpressionId; 2]> =
            trigger.scope.into_iter().chain(trigger.condition).collect();
        for expression in &expressions {
            if let (analysed, Some(cost)) = self.analyse(*expression) {
                parts.push(analysed.formula);
                truths.push(analysed.truth);
                conjuncts.extend(analysed.conjuncts);
                total = total.max(cost);
            } else {
                truths.push(Truth::Open);
            }
        }
        let (formula, truth) = (Formula::All(parts), Truth::All(truths.into()));
        let stated = Stated { target: Target::Trigger(position), expressions };
        self.add(stated, Analysed { formula, truth, conjuncts }, Some(total), Vec::new());
    }

    fn add(
        &mut self,
        stated: Stated,
        analysed: Analysed,
        cost: Option<Cost>,
        requirements: Vec<Requirement>,
    ) {
        let rule = match cost {
            Some(cost) => ExactRule { analysed, cost, requirements },
            // Looked at on every event.
            None => {
                ExactRule { analysed: Analysed::of_nothing(), cost: Cost::default(), requirements }
            }
        };
        self.rules.push(rule);
        self.stated.push(stated);
    }

    /// What an expression needs to be true, and a bound on its cost.
    fn analyse(&mut self, id: ExpressionId) -> (Analysed, Option<Cost>) {
        let number = u32::try_from(id.index()).unwrap_or(u32::MAX);
        match self.planned.expressions.program(id) {
            Some(program) => {
                let analysed = analyse(number, &program.root, &mut self.atoms);
                (analysed, cost(&program.root, &self.atoms.costs))
            }
            None => (Analysed::of_nothing(), None),
        }
    }

    /// The facts under which an expression is no error, once the actions are known.
    fn requirements(&self, id: ExpressionId) -> Option<Vec<Requirement>> {
        let mut requirements = requirements(&self.planned.expressions.program(id)?.root)?;
        requirements.retain(|requirement| match requirement {
            Requirement::Bool(slot) => !self.atoms.actions.contains_key(slot),
            _ => true,
        });
        Some(requirements)
    }
}
