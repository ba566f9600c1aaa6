//! The parts of the definitions that an event can make true, found by one search instead of a walk
//! through them all.
//!
//! Every action, match expression, scope and clause group is a rule of one [`Index`]. A clause group
//! is the conjunction of a scope, actions and a condition, so that the rarest of these leads
//! to it. Anything that the search skips is certainly false and
//! not an error, so visiting it would change and report nothing.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use smallvec::{SmallVec, smallvec};

use crate::definitions::clause_group::{ClauseGroup, ClauseGroups};
use crate::definitions::stop::{Stop, reserve};
use crate::definitions::{Action, EntityDefinition, ExpressionId, Expressions, Policy};
use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::functions::named_lists::Lists;
use crate::index::layered::{LayeredIndex, Segment};
use crate::index::requirements::error_free::{Requirement, requirements};
use crate::index::requirements::worst_cost::{Cost, cost};
use crate::index::{
    Analysed, Exact, Extractor, Index, IndexedRule, Necessary, Report, Rules, analyse,
};
use crate::value::limits::Limits;
use crate::value::work::Work;

/// The input of the index.
pub struct IndexSource<'d> {
    pub layout: &'d Layout,
    pub lists: &'d Lists,
    pub limits: &'d Limits,
    pub expressions: &'d Expressions,
    pub actions: &'d [Action],
    pub entities: &'d [EntityDefinition],
    pub policies: &'d [Policy],
    pub groups: &'d ClauseGroups,
}

/// The statement of an index rule, by its contents: positions change with the definitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Statement {
    /// By position: a change of actions or entities rebuilds the index.
    Action(u32, ExpressionId),
    Match(u32, ExpressionId),
    Scope(ExpressionId),
    /// The conditions of a clause group.
    ClauseGroup {
        scope: Option<ExpressionId>,
        condition: Option<ExpressionId>,
        actions: Box<[u32]>,
        entity: Option<u32>,
    },
}

impl Statement {
    fn of_group(group: &ClauseGroup) -> Self {
        let ClauseGroup { scope, condition, actions, entity, .. } = group;
        let (scope, condition, entity) = (*scope, *condition, *entity);
        Self::ClauseGroup { scope, condition, actions: actions.clone(), entity }
    }

    /// The expressions that are all true if the statement is.
    fn expressions(&self) -> SmallVec<[ExpressionId; 2]> {
        match self {
            Self::Action(_, expression) | Self::Match(_, expression) | Self::Scope(expression) => {
                smallvec![*expression]
            }
            Self::ClauseGroup { scope, condition, .. } => {
                scope.iter().chain(condition).copied().collect()
            }
        }
    }
}

/// The target of a rule, by position.
#[derive(Clone, Copy, Debug)]
enum Target {
    Action(u32),
    Match(u32),
    /// By position in [`DefinitionsIndex::scopes`].
    Scope(u32),
    ClauseGroup(u32),
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
    /// Its first place in the walk.
    pub(crate) fn first(&self) -> Stop {
        Stop::scope(self.policies.first().copied().unwrap_or_default())
    }
}

/// The candidates of one event, each in the order of the walk.
#[derive(Debug, Default)]
pub struct IndexCandidates {
    /// Actions that may match or be an error.
    pub actions: Vec<u32>,
    /// Entities whose match expression may be true or an error.
    pub matches: Vec<u32>,
    /// Scopes that may be errors.
    pub scopes: Vec<u32>,
    /// Triggers whose conditions may all hold.
    pub groups: Vec<u32>,
    /// Expressions that are true, and no error.
    pub proven: Vec<ExpressionId>,
    /// Units of work that the search took.
    pub searched: u64,
}

impl IndexCandidates {
    fn clear(&mut self) {
        for list in [&mut self.actions, &mut self.matches, &mut self.scopes, &mut self.groups] {
            list.clear();
        }
        self.proven.clear();
    }

    fn add(&mut self, target: Target) {
        match target {
            Target::Action(position) => self.actions.push(position),
            Target::Match(position) => self.matches.push(position),
            Target::Scope(position) => self.scopes.push(position),
            Target::ClauseGroup(position) => self.groups.push(position),
        }
    }

    fn sort(&mut self) {
        for list in [&mut self.actions, &mut self.matches, &mut self.scopes, &mut self.groups] {
            list.sort_unstable();
        }
    }
}

/// The index of a definition set: a large shared base, and a layer of what changed since the base
/// was built.
#[derive(Debug)]
pub struct DefinitionsIndex {
    index: LayeredIndex<Statement, Target>,
    scopes: Vec<Scope>,
    read_actions: Vec<u32>,
}

impl DefinitionsIndex {
    /// An index without a layer; `samples` are records like those to come.
    pub fn new(source: &IndexSource<'_>, samples: &[Record<'_>]) -> Self {
        let scopes = scopes(source.policies);
        let stated = stated(source, &scopes);
        let index = LayeredIndex::new(stated, |statements| index(source, statements, samples));
        Self { index, scopes, read_actions: read_actions(source) }
    }

    /// An index over the base of another, whose expressions have the same numbers.
    pub(crate) fn over(base: Arc<Segment<Statement>>, source: &IndexSource<'_>) -> Self {
        let scopes = scopes(source.policies);
        let stated = stated(source, &scopes);
        let index = LayeredIndex::over(base, stated, |rest| index(source, rest, &[]));
        Self { index, scopes, read_actions: read_actions(source) }
    }

    /// The base for the index of changed definitions.
    pub(crate) fn base(&self) -> Arc<Segment<Statement>> {
        self.index.base()
    }

    /// The number of rules in the layer or removed from the base.
    pub fn layered(&self) -> usize {
        self.index.layered()
    }

    /// Finds the candidates of a record.
    pub fn search<'a>(
        &'a self,
        (expressions, lists, limits): (&'a Expressions, &'a Lists, &'a Limits),
        record: &Record<'a>,
        from_index: &mut IndexCandidates,
    ) {
        from_index.clear();
        let rules = Rules { programs: expressions.programs(), lists, limits };
        let mut work = Work::up_to(reserve(limits.decision_work));
        for part in self.index.parts() {
            let Segment { index, statements } = &*part.segment;
            work = index.each_candidate(rules, record, work, |rule, is_true| {
                let Some(target) = part.target(rule) else { return };
                from_index.add(target);
                if is_true && let Some(statement) = statements.get(rule as usize) {
                    from_index.proven.extend(statement.expressions());
                }
            });
        }
        from_index.searched = work.done();
        from_index.sort();
    }

    /// Actions that expressions read, in order.
    pub fn read_actions(&self) -> &[u32] {
        &self.read_actions
    }

    pub fn scope(&self, position: u32) -> Option<&Scope> {
        self.scopes.get(position as usize)
    }

    /// The report of the base.
    pub fn report(&self) -> &Report {
        self.index.report()
    }
}

/// An index of statements.
fn index(source: &IndexSource<'_>, statements: &[Statement], samples: &[Record<'_>]) -> Index {
    let mut builder = Builder::new(source);
    let rules: Vec<IndexedRule> =
        statements.iter().map(|statement| builder.rule(statement)).collect();
    let IndexSource { expressions, lists, limits, .. } = *source;
    let programs = Rules { programs: expressions.programs(), lists, limits };
    Index::new(&builder.extractor, &rules, programs, samples)
}

/// The distinct scopes, each with its policies in order.
fn scopes(policies: &[Policy]) -> Vec<Scope> {
    let mut numbers: HashMap<ExpressionId, usize, RandomState> = HashMap::default();
    let mut scopes: Vec<Scope> = Vec::new();
    for (position, policy) in (0..).zip(policies) {
        let Some(expression) = policy.scope else { continue };
        let number = *numbers.entry(expression).or_insert(scopes.len());
        match scopes.get_mut(number) {
            Some(scope) => scope.policies.push(position),
            None => scopes.push(Scope { expression, policies: vec![position] }),
        }
    }
    scopes
}

/// All statements of the definitions, with their targets.
fn stated(source: &IndexSource<'_>, scopes: &[Scope]) -> Vec<(Statement, Target)> {
    let mut stated = Vec::new();
    for (position, action) in (0..).zip(source.actions) {
        stated.push((Statement::Action(position, action.expression), Target::Action(position)));
    }
    for (position, entity) in (0..).zip(source.entities) {
        let matching = |expression| Statement::Match(position, expression);
        stated.extend(entity.match_expression.map(|id| (matching(id), Target::Match(position))));
    }
    for (position, scope) in (0..).zip(scopes) {
        stated.push((Statement::Scope(scope.expression), Target::Scope(position)));
    }
    for (position, group) in (0..).zip(source.groups.iter()) {
        stated.push((Statement::of_group(group), Target::ClauseGroup(position)));
    }
    stated
}

/// Actions that expressions read, in order.
fn read_actions(source: &IndexSource<'_>) -> Vec<u32> {
    let read = |(position, action): (u32, &Action)| action.slot.map(|_| position);
    (0..).zip(source.actions).filter_map(read).collect()
}

/// Makes rules of statements.
struct Builder<'d> {
    source: &'d IndexSource<'d>,
    extractor: Extractor<'d>,
    /// The necessary condition of each action, by position.
    matching: Vec<Necessary>,
}

impl<'d> Builder<'d> {
    fn new(source: &'d IndexSource<'d>) -> Self {
        let mut extractor = Extractor::new(source.layout);
        extractor.judges_errors = true;
        let mut builder = Self { source, extractor, matching: Vec::new() };
        for action in source.actions {
            let (analysed, _) = builder.analyse(action.expression);
            // An action that doesn't match isn't an error for expressions that read it.
            builder.matching.push(analysed.necessary.with(Some(Vec::new())));
        }
        for (action, necessary) in source.actions.iter().zip(&builder.matching) {
            if let Some(slot) = action.slot {
                builder.extractor.actions.insert(slot, necessary.clone());
            }
        }
        builder
    }

    fn rule(&mut self, statement: &Statement) -> IndexedRule {
        match statement {
            Statement::Action(_, expression) | Statement::Match(_, expression) => {
                let (analysed, cost) = self.analyse(*expression);
                indexed(analysed, cost, Vec::new())
            }
            Statement::Scope(expression) => self.scope(*expression),
            Statement::ClauseGroup { actions, .. } => self.group(actions, &statement.expressions()),
        }
    }

    /// A scope is searched for its errors alone: whether it is true is part of the clause groups.
    fn scope(&mut self, expression: ExpressionId) -> IndexedRule {
        let (analysed, cost) = self.analyse(expression);
        match self.requirements(expression) {
            Some(requirements) if cost.is_some() => {
                let never = Necessary::Any(Vec::new());
                let analysed =
                    Analysed { necessary: never, exact: Exact::Open, subexpressions: Vec::new() };
                indexed(analysed, cost, requirements)
            }
            _ => indexed(analysed, cost, Vec::new()),
        }
    }

    fn group(&mut self, actions: &[u32], expressions: &[ExpressionId]) -> IndexedRule {
        let matching = |action: &u32| self.matching.get(*action as usize).cloned();
        let mut parts: Vec<Necessary> = actions.iter().filter_map(matching).collect();
        let (mut exacts, mut subexpressions) = (Vec::new(), Vec::new());
        let mut total = Cost::default();
        for expression in expressions {
            if let (analysed, Some(cost)) = self.analyse(*expression) {
                parts.push(analysed.necessary);
                exacts.push(analysed.exact);
                subexpressions.extend(analysed.subexpressions);
                total = total.max(cost);
            } else {
                exacts.push(Exact::Open);
            }
        }
        let (necessary, exact) = (Necessary::All(parts), Exact::All(exacts.into()));
        indexed(Analysed { necessary, exact, subexpressions }, Some(total), Vec::new())
    }

    /// The conditions of an expression, and a bound on its cost.
    fn analyse(&mut self, id: ExpressionId) -> (Analysed, Option<Cost>) {
        let number = u32::try_from(id.index()).unwrap_or(u32::MAX);
        match self.source.expressions.program(id) {
            Some(program) => {
                let analysed = analyse(number, &program.root, &mut self.extractor);
                (analysed, cost(&program.root, self.source.layout))
            }
            None => (Analysed::of_nothing(), None),
        }
    }

    /// The facts under which an expression isn't an error, once the actions are known.
    fn requirements(&self, id: ExpressionId) -> Option<Vec<Requirement>> {
        let mut requirements = requirements(&self.source.expressions.program(id)?.root)?;
        requirements.retain(|requirement| match requirement {
            Requirement::Bool(slot) => !self.extractor.actions.contains_key(slot),
            _ => true,
        });
        Some(requirements)
    }
}

/// A rule whose errors are reported; its preconditions make a candidate of it where it may cost too
/// much.
fn indexed(analysed: Analysed, cost: Option<Cost>, requirements: Vec<Requirement>) -> IndexedRule {
    // Without a bound on its cost it is a candidate on every event.
    let analysed = if cost.is_some() { analysed } else { Analysed::of_nothing() };
    IndexedRule { analysed, cost: Some(cost.unwrap_or_default()), requirements }
}
