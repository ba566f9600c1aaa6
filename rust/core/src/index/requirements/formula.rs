//! Rules as combinations of conditions that can be searched for.
//!
//! A [`Formula`] is necessary: if a rule is true then its formula holds. Errors do not weaken
//! this, because an error makes nothing true. A [`Truth`] is exact as far as it goes: it says
//! of which parts the conditions alone decide, errors apart.

use crate::index::requirements::conditions_of::{Atom, Atoms, Local};
use crate::index::requirements::error_free::{Requirement, requirements};
use crate::predicate::Kind;
use crate::program::{Bind, Comprehension, Conditional, Expr, Macro, Node};
use crate::value::Value;

/// Longer constant lists are not taken element by element.
const MAX_ELEMENTS: usize = 64;

/// Why an expression has no condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// It says what must not be.
    Negation,
    /// It is a test that no search answers.
    Test,
    /// It loops in a way that no search follows.
    Loop,
    /// It reads what the decision sets after the search.
    Decision,
    /// It may be an error, which a decision must report.
    Error,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Negation => "only says what must not be",
            Self::Test => "no test in it can be searched for",
            Self::Loop => "loops in a way that no search follows",
            Self::Decision => "depends on what the decision finds out on its way",
            Self::Error => "may be an error, which a decision reports",
        }
    }
}

/// What is necessary for an expression to be true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Formula {
    /// Nothing is known to be necessary.
    Open(Reason),
    One(Watch),
    All(Vec<Self>),
    /// With no alternatives the expression is never true.
    Any(Vec<Self>),
}

/// A condition that is necessary for an expression to be true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watch {
    pub(crate) condition: u32,
    /// If all of these are met and the condition is false, then the expression is false and no
    /// error. None if that is not known, or nobody asks.
    pub(crate) certain: Option<Vec<Requirement>>,
}

/// An expression as a combination of conditions, as far as it is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Truth {
    /// It is something else as well.
    Open,
    /// True if and only if the condition is, or its opposite where not `is_positive`.
    One {
        condition: u32,
        is_positive: bool,
    },
    All(Box<[Self]>),
    Any(Box<[Self]>),
}

impl Truth {
    /// Whether the expression is true because some of its parts are known to be.
    pub(crate) fn follows(&self, is_known: &impl Fn(&Self) -> bool) -> bool {
        is_known(self)
            || match self {
                Self::Open | Self::One { .. } => false,
                Self::All(parts) => parts.iter().all(|part| part.follows(is_known)),
                Self::Any(parts) => parts.iter().any(|part| part.follows(is_known)),
            }
    }

    /// Whether conditions alone decide.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Open => false,
            Self::One { .. } => true,
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::is_closed),
        }
    }

    /// Whether one condition alone is sufficient, whichever it is.
    fn is_one_of(&self) -> bool {
        match self {
            Self::Open | Self::All(_) => false,
            Self::One { is_positive, .. } => *is_positive,
            Self::Any(parts) => parts.iter().all(Self::is_one_of),
        }
    }

    fn opposite(self) -> Self {
        let each = |parts: Box<[Self]>| parts.into_iter().map(Self::opposite).collect();
        match self {
            Self::Open => Self::Open,
            Self::One { condition, is_positive } => {
                Self::One { condition, is_positive: !is_positive }
            }
            Self::All(parts) => Self::Any(each(parts)),
            Self::Any(parts) => Self::All(each(parts)),
        }
    }

    /// Whether the expression is true, given which conditions are.
    pub(crate) fn holds(&self, is_true: &impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Open => false,
            Self::One { condition, is_positive } => is_true(*condition) == *is_positive,
            Self::All(parts) => parts.iter().all(|part| part.holds(is_true)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(is_true)),
        }
    }

    /// The same with other numbers for the conditions.
    pub(crate) fn renumbered(&self, number: &mut impl FnMut(u32) -> u32) -> Self {
        let each = |parts: &[Self], number: &mut _| {
            parts.iter().map(|part| part.renumbered(number)).collect()
        };
        match self {
            Self::Open => Self::Open,
            Self::One { condition, is_positive } => {
                Self::One { condition: number(*condition), is_positive: *is_positive }
            }
            Self::All(parts) => Self::All(each(parts, number)),
            Self::Any(parts) => Self::Any(each(parts, number)),
        }
    }

    /// About how often it is true, by the weights of the conditions.
    pub(crate) fn weight(&self, weights: &[f64]) -> f64 {
        match self {
            Self::Open => 1.0,
            Self::One { condition, is_positive } => {
                let weight = weights.get(*condition as usize).copied().unwrap_or(1.0).min(1.0);
                if *is_positive { weight } else { (1.0 - weight).max(0.0) }
            }
            Self::All(parts) => parts.iter().map(|part| part.weight(weights)).fold(1.0, f64::min),
            Self::Any(parts) => parts.iter().map(|part| part.weight(weights)).sum::<f64>().min(1.0),
        }
    }

    /// Whether it says of some condition that it must not be true.
    pub(crate) fn has_negative(&self) -> bool {
        match self {
            Self::Open => false,
            Self::One { is_positive, .. } => !is_positive,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_negative),
        }
    }

    /// Every condition in it.
    pub(crate) fn conditions(&self, take: &mut impl FnMut(u32)) {
        match self {
            Self::Open => {}
            Self::One { condition, .. } => take(*condition),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.conditions(take);
                }
            }
        }
    }
}

/// The conditions of a rule.
#[derive(Debug)]
pub(crate) struct Analysed {
    pub(crate) formula: Formula,
    pub(crate) truth: Truth,
    /// Conjuncts that are combinations of conditions and nothing else.
    pub(crate) conjuncts: Vec<Conjunct>,
}

impl Analysed {
    /// The conditions of a rule that asks for nothing.
    pub(crate) const fn of_nothing() -> Self {
        Self { formula: Formula::All(Vec::new()), truth: Truth::Open, conjuncts: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conjunct {
    pub(crate) truth: Truth,
    /// The program that it stands in.
    pub(crate) program: u32,
    /// The way from the root of the program, through chains of `&&`.
    pub(crate) path: Box<[u16]>,
}

/// Analyses the program of a number, which is true or not as its root is.
pub(crate) fn analyse(program: u32, root: &Expr, atoms: &mut Atoms<'_>) -> Analysed {
    let formula = formula(root, true, atoms);
    let truth = truth(root, true, atoms);
    let mut conjuncts = Vec::new();
    collect_conjuncts(program, root, &truth, &mut Vec::new(), &mut conjuncts);
    Analysed { formula, truth, conjuncts }
}

/// An expression, or its opposite where not `positive`, by its conditions.
fn truth(expression: &Expr, positive: bool, atoms: &mut Atoms<'_>) -> Truth {
    match &expression.node {
        Node::And(operands) if positive => Truth::All(truths(operands, true, atoms)),
        Node::Or(operands) if !positive => Truth::All(truths(operands, false, atoms)),
        Node::And(operands) | Node::Or(operands) => Truth::Any(truths(operands, positive, atoms)),
        Node::Comprehension(comprehension) => truth_of_search(comprehension, positive, atoms),
        Node::Predicate(predicate) if matches!(predicate.kind, Kind::AnyEntry(_)) => {
            truth(&predicate.nodes(expression.span.start), positive, atoms)
        }
        Node::Not(operand) => truth(operand, !positive, atoms),
        _ => match literal(expression, atoms) {
            Some((condition, value)) => Truth::One { condition, is_positive: value == positive },
            None => Truth::Open,
        },
    }
}

fn truths(operands: &[Expr], positive: bool, atoms: &mut Atoms<'_>) -> Box<[Truth]> {
    operands.iter().map(|operand| truth(operand, positive, atoms)).collect()
}

/// `exists` over a field is true, and `all` false, if the body is for some element. Conditions
/// are about any element, so that two of them may be true of two elements.
fn truth_of_search(comprehension: &Comprehension, positive: bool, atoms: &mut Atoms<'_>) -> Truth {
    let sought = match comprehension.operation {
        Macro::Exists => true,
        Macro::All => false,
        _ => return Truth::Open,
    };
    let is_search = matches!(comprehension.range.node, Node::Field(_))
        && comprehension.depth == atoms.locals.len();
    if !is_search {
        return Truth::Open;
    }
    let locals = atoms.elements(&comprehension.range, comprehension.has_two_variables);
    let body = within(locals, atoms, |atoms| truth(&comprehension.body, sought, atoms));
    match body.is_one_of() {
        true if sought == positive => body,
        true => body.opposite(),
        false => Truth::Open,
    }
}

/// The condition that an expression is, or the opposite of.
fn literal(expression: &Expr, atoms: &mut Atoms<'_>) -> Option<(u32, bool)> {
    let atom =
        [true, false].into_iter().find_map(|value| Some((atoms.atom(expression, value)?, value)));
    match atom {
        Some((Atom { condition, is_exact: true }, value)) => Some((condition, value)),
        _ => None,
    }
}

/// The conjunct at the end of a path.
pub(crate) fn at_path<'e>(root: &'e Expr, path: &[u16]) -> Option<&'e Expr> {
    path.iter().try_fold(root, |expression, step| match &expression.node {
        Node::And(operands) => operands.get(usize::from(*step)),
        _ => None,
    })
}

fn collect_conjuncts(
    program: u32,
    expression: &Expr,
    truth: &Truth,
    path: &mut Vec<u16>,
    conjuncts: &mut Vec<Conjunct>,
) {
    if let (Node::And(operands), Truth::All(parts)) = (&expression.node, truth) {
        for (step, (operand, truth)) in (0..u16::MAX).zip(operands.iter().zip(parts)) {
            path.push(step);
            collect_conjuncts(program, operand, truth, path, conjuncts);
            path.pop();
        }
    } else if truth.is_closed() {
        let (truth, path) = (truth.clone(), path.as_slice().into());
        conjuncts.push(Conjunct { truth, program, path });
    }
}

/// What must hold for an expression to be true, or false where not `positive`.
pub(in crate::index) fn formula(
    expression: &Expr,
    positive: bool,
    atoms: &mut Atoms<'_>,
) -> Formula {
    match &expression.node {
        Node::Predicate(predicate)
            if matches!(predicate.kind, Kind::AnyEntry(_) | Kind::FirstNetwork(_)) =>
        {
            let nodes = predicate.nodes(expression.span.start);
            formula(&nodes, positive, atoms).with(certainty(expression, atoms))
        }
        Node::And(operands) => chain(operands, positive, positive, atoms),
        Node::Or(operands) => chain(operands, !positive, positive, atoms),
        Node::Literal(value) if is_bool(value, !positive) => Formula::Any(Vec::new()),
        // Parts of these may be errors that nothing passes over.
        Node::Conditional(conditional) => of_conditional(conditional, positive, atoms).with(None),
        Node::Bind(bind) => of_bind(bind, positive, atoms).with(None),
        Node::Comprehension(comprehension) => {
            of_comprehension(comprehension, positive, atoms).with(certainty(expression, atoms))
        }
        Node::Not(operand) => formula(operand, !positive, atoms),
        _ => of_test(expression, positive, atoms),
    }
}

fn is_bool(value: &Value<'_>, expected: bool) -> bool {
    matches!(value, Value::Bool(value) if *value == expected)
}

fn chain(operands: &[Expr], is_all: bool, positive: bool, atoms: &mut Atoms<'_>) -> Formula {
    let parts = operands.iter().map(|operand| formula(operand, positive, atoms)).collect();
    if is_all { Formula::All(parts) } else { Formula::Any(parts) }
}

fn of_test(expression: &Expr, positive: bool, atoms: &mut Atoms<'_>) -> Formula {
    if let Node::Field(slot) = &expression.node
        && let Some(formula) = atoms.actions.get(slot)
    {
        return if positive { formula.clone() } else { Formula::Open(Reason::Negation) };
    }
    match atoms.atom(expression, positive) {
        Some(Atom { condition, .. }) => {
            Formula::One(Watch { condition, certain: certainty(expression, atoms) })
        }
        None if atoms.atom(expression, !positive).is_some() => Formula::Open(Reason::Negation),
        None => Formula::Open(atoms.reason(expression)),
    }
}

/// The facts under which an expression is no error; None as well if nobody asks.
fn certainty(expression: &Expr, atoms: &Atoms<'_>) -> Option<Vec<Requirement>> {
    if atoms.judges_errors { requirements(expression) } else { None }
}

fn of_conditional(conditional: &Conditional, positive: bool, atoms: &mut Atoms<'_>) -> Formula {
    let then = formula(&conditional.then, positive, atoms);
    let otherwise = formula(&conditional.otherwise, positive, atoms);
    let holds = formula(&conditional.condition, true, atoms);
    let holds_not = formula(&conditional.condition, false, atoms);
    Formula::Any(vec![Formula::All(vec![holds, then]), Formula::All(vec![holds_not, otherwise])])
}

fn of_bind(bind: &Bind, positive: bool, atoms: &mut Atoms<'_>) -> Formula {
    let local = atoms.meaning(&bind.value);
    atoms.locals.push(local);
    let body = formula(&bind.body, positive, atoms);
    atoms.locals.pop();
    body
}

/// `exists` is true, and `all` false, only if the body is for some element.
fn of_comprehension(
    comprehension: &Comprehension,
    positive: bool,
    atoms: &mut Atoms<'_>,
) -> Formula {
    match (comprehension.operation, positive) {
        (Macro::Exists | Macro::ExistsOne, true) | (Macro::All, false) => {}
        (Macro::All, true) | (Macro::Exists | Macro::ExistsOne, false) => {
            return Formula::Open(Reason::Negation);
        }
        _ => return Formula::Open(Reason::Loop),
    }
    if comprehension.depth != atoms.locals.len() {
        return Formula::Open(Reason::Loop);
    }
    if let Some(condition) = atoms.network_search(comprehension) {
        return Formula::One(Watch { condition, certain: None });
    }
    let Node::Literal(range) = &comprehension.range.node else {
        let locals = atoms.elements(&comprehension.range, comprehension.has_two_variables);
        return body(comprehension, locals, positive, atoms);
    };
    match &**range {
        Value::List(elements)
            if elements.len() <= MAX_ELEMENTS && !comprehension.has_two_variables =>
        {
            let each = elements.iter().map(|element| {
                body(comprehension, vec![Local::Constant(element.clone())], positive, atoms)
            });
            Formula::Any(each.collect())
        }
        _ => Formula::Open(Reason::Loop),
    }
}

fn body(
    comprehension: &Comprehension,
    locals: Vec<Local>,
    positive: bool,
    atoms: &mut Atoms<'_>,
) -> Formula {
    within(locals, atoms, |atoms| formula(&comprehension.body, positive, atoms))
}

/// Calls `find` while some more variables are known.
fn within<T>(
    locals: Vec<Local>,
    atoms: &mut Atoms<'_>,
    find: impl FnOnce(&mut Atoms<'_>) -> T,
) -> T {
    let depth = atoms.locals.len();
    atoms.locals.extend(locals);
    let found = find(atoms);
    atoms.locals.truncate(depth);
    found
}

impl Formula {
    /// The same formula of an expression that is no error if these are met.
    #[must_use]
    pub(crate) fn with(self, certain: Option<Vec<Requirement>>) -> Self {
        let each =
            |parts: Vec<Self>| parts.into_iter().map(|part| part.with(certain.clone())).collect();
        match self {
            Self::Open(reason) => Self::Open(reason),
            Self::One(watch) => Self::One(Watch { certain, ..watch }),
            Self::All(parts) => Self::All(each(parts)),
            Self::Any(parts) => Self::Any(each(parts)),
        }
    }

    /// Every condition in it.
    pub(crate) fn conditions(&self, take: &mut impl FnMut(u32)) {
        match self {
            Self::Open(_) => {}
            Self::One(watch) => take(watch.condition),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.conditions(take);
                }
            }
        }
    }
}
