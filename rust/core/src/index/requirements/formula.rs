//! Rules as combinations of conditions that can be searched for.
//!
//! A [`Necessary`] formula holds whenever its rule is true. Errors don't weaken this, because an
//! error never makes a rule true. An [`Exact`] formula is as much of the rule as conditions can
//! express: it tells the parts that the conditions alone decide, except for errors.

use crate::index::requirements::conditions_of::{Extracted, Extractor, Local};
use crate::index::requirements::error_free::{Requirement, requirements};
use crate::predicate::Kind;
use crate::program::{Bind, Comprehension, Conditional, Expr, Macro, Node};
use crate::value::Value;

/// Longer constant lists are not split into their elements.
const MAX_ELEMENTS: usize = 64;

/// Why an expression has no condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// It negates.
    Negation,
    /// It is a test that no search answers.
    Test,
    /// It loops in a way that no search follows.
    Loop,
    /// It reads a value that the decision sets after the search.
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

/// The necessary condition of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Necessary {
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
    /// error. None if that is unknown or not needed.
    pub(crate) error_free: Option<Vec<Requirement>>,
}

/// An expression as a combination of conditions, as far as it is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Exact {
    /// It has other parts as well.
    Open,
    /// True if and only if the condition is, or its opposite where not `is_positive`.
    One {
        condition: u32,
        is_positive: bool,
    },
    All(Box<[Self]>),
    Any(Box<[Self]>),
}

impl Exact {
    /// Whether the expression is true because some of its parts are known to be true.
    pub(crate) fn follows(&self, is_known: &impl Fn(&Self) -> bool) -> bool {
        is_known(self)
            || match self {
                Self::Open | Self::One { .. } => false,
                Self::All(parts) => parts.iter().all(|part| part.follows(is_known)),
                Self::Any(parts) => parts.iter().any(|part| part.follows(is_known)),
            }
    }

    /// Whether the formula has only conditions.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Open => false,
            Self::One { .. } => true,
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::is_closed),
        }
    }

    /// Whether each condition alone is sufficient.
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

    /// Whether the expression is true, given the true conditions.
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

    /// Its estimated frequency, by the weights of the conditions.
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

    /// Whether the formula negates some condition.
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
    pub(crate) necessary: Necessary,
    pub(crate) exact: Exact,
    /// Conjuncts that are combinations of conditions and nothing else.
    pub(crate) subexpressions: Vec<Subexpression>,
}

impl Analysed {
    /// The conditions of a rule that asks for nothing.
    pub(crate) const fn of_nothing() -> Self {
        Self {
            necessary: Necessary::All(Vec::new()),
            exact: Exact::Open,
            subexpressions: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subexpression {
    pub(crate) exact: Exact,
    /// The program that contains it.
    pub(crate) program: u32,
    /// The way from the root of the program, through chains of `&&`.
    pub(crate) path: Box<[u16]>,
}

/// Analyses the program of a number, which is true or not as its root is.
pub(crate) fn analyse(program: u32, root: &Expr, extractor: &mut Extractor<'_>) -> Analysed {
    let necessary = necessary(root, true, extractor);
    let exact = exact(root, true, extractor);
    let mut subexpressions = Vec::new();
    collect_subexpressions(program, root, &exact, &mut Vec::new(), &mut subexpressions);
    Analysed { necessary, exact, subexpressions }
}

/// An expression, or its opposite where not `positive`, by its conditions.
fn exact(expression: &Expr, positive: bool, extractor: &mut Extractor<'_>) -> Exact {
    match &expression.node {
        Node::And(operands) if positive => Exact::All(exacts(operands, true, extractor)),
        Node::Or(operands) if !positive => Exact::All(exacts(operands, false, extractor)),
        Node::And(operands) | Node::Or(operands) => {
            Exact::Any(exacts(operands, positive, extractor))
        }
        Node::Comprehension(comprehension) => exact_search(comprehension, positive, extractor),
        Node::Predicate(predicate) if matches!(predicate.kind, Kind::AnyEntry(_)) => {
            exact(&predicate.nodes(expression.span.start), positive, extractor)
        }
        Node::Not(operand) => exact(operand, !positive, extractor),
        _ => match literal(expression, extractor) {
            Some((condition, value)) => Exact::One { condition, is_positive: value == positive },
            None => Exact::Open,
        },
    }
}

fn exacts(operands: &[Expr], positive: bool, extractor: &mut Extractor<'_>) -> Box<[Exact]> {
    operands.iter().map(|operand| exact(operand, positive, extractor)).collect()
}

/// `exists` over a field is true, and `all` false, if the body is for some element. Conditions
/// are about any element, so that two of them may be true of two elements.
fn exact_search(
    comprehension: &Comprehension,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Exact {
    let sought = match comprehension.operation {
        Macro::Exists => true,
        Macro::All => false,
        _ => return Exact::Open,
    };
    let is_search = matches!(comprehension.range.node, Node::Field(_))
        && comprehension.depth == extractor.locals.len();
    if !is_search {
        return Exact::Open;
    }
    let locals = extractor.elements(&comprehension.range, comprehension.has_two_variables);
    let body = within(locals, extractor, |extractor| exact(&comprehension.body, sought, extractor));
    match body.is_one_of() {
        true if sought == positive => body,
        true => body.opposite(),
        false => Exact::Open,
    }
}

/// The condition that an expression is, or the opposite of.
fn literal(expression: &Expr, extractor: &mut Extractor<'_>) -> Option<(u32, bool)> {
    let extract = [true, false]
        .into_iter()
        .find_map(|value| Some((extractor.extract(expression, value)?, value)));
    match extract {
        Some((Extracted { condition, is_exact: true }, value)) => Some((condition, value)),
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

fn collect_subexpressions(
    program: u32,
    expression: &Expr,
    exact: &Exact,
    path: &mut Vec<u16>,
    subexpressions: &mut Vec<Subexpression>,
) {
    if let (Node::And(operands), Exact::All(parts)) = (&expression.node, exact) {
        for (step, (operand, exact)) in (0..u16::MAX).zip(operands.iter().zip(parts)) {
            path.push(step);
            collect_subexpressions(program, operand, exact, path, subexpressions);
            path.pop();
        }
    } else if exact.is_closed() {
        let (exact, path) = (exact.clone(), path.as_slice().into());
        subexpressions.push(Subexpression { exact, program, path });
    }
}

/// The necessary condition of an expression, or of its opposite if not `positive`.
pub(in crate::index) fn necessary(
    expression: &Expr,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Necessary {
    match &expression.node {
        Node::Predicate(predicate)
            if matches!(predicate.kind, Kind::AnyEntry(_) | Kind::FirstNetwork(_)) =>
        {
            let nodes = predicate.nodes(expression.span.start);
            necessary(&nodes, positive, extractor).with(error_free_if(expression, extractor))
        }
        Node::And(operands) => chain(operands, positive, positive, extractor),
        Node::Or(operands) => chain(operands, !positive, positive, extractor),
        Node::Literal(value) if is_bool(value, !positive) => Necessary::Any(Vec::new()),
        // Parts of these may be errors that nothing passes over.
        Node::Conditional(conditional) => {
            of_conditional(conditional, positive, extractor).with(None)
        }
        Node::Bind(bind) | Node::Slot(bind) => of_bind(bind, positive, extractor).with(None),
        Node::Comprehension(comprehension) => of_comprehension(comprehension, positive, extractor)
            .with(error_free_if(expression, extractor)),
        Node::Not(operand) => necessary(operand, !positive, extractor),
        _ => of_test(expression, positive, extractor),
    }
}

fn is_bool(value: &Value<'_>, expected: bool) -> bool {
    matches!(value, Value::Bool(value) if *value == expected)
}

fn chain(
    operands: &[Expr],
    is_all: bool,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Necessary {
    let parts = operands.iter().map(|operand| necessary(operand, positive, extractor)).collect();
    if is_all { Necessary::All(parts) } else { Necessary::Any(parts) }
}

fn of_test(expression: &Expr, positive: bool, extractor: &mut Extractor<'_>) -> Necessary {
    if let Node::Field(slot) = &expression.node
        && let Some(necessary) = extractor.actions.get(slot)
    {
        return if positive { necessary.clone() } else { Necessary::Open(Reason::Negation) };
    }
    match extractor.extract(expression, positive) {
        Some(Extracted { condition, .. }) => {
            Necessary::One(Watch { condition, error_free: error_free_if(expression, extractor) })
        }
        None if extractor.extract(expression, !positive).is_some() => {
            Necessary::Open(Reason::Negation)
        }
        None => Necessary::Open(extractor.reason(expression)),
    }
}

/// The facts under which an expression isn't an error; None also if they aren't needed.
fn error_free_if(expression: &Expr, extractor: &Extractor<'_>) -> Option<Vec<Requirement>> {
    if extractor.judges_errors { requirements(expression) } else { None }
}

fn of_conditional(
    conditional: &Conditional,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Necessary {
    let then = necessary(&conditional.then, positive, extractor);
    let otherwise = necessary(&conditional.otherwise, positive, extractor);
    let holds = necessary(&conditional.condition, true, extractor);
    let holds_not = necessary(&conditional.condition, false, extractor);
    Necessary::Any(vec![
        Necessary::All(vec![holds, then]),
        Necessary::All(vec![holds_not, otherwise]),
    ])
}

fn of_bind(bind: &Bind, positive: bool, extractor: &mut Extractor<'_>) -> Necessary {
    let local = extractor.meaning(&bind.value);
    extractor.locals.push(local);
    let body = necessary(&bind.body, positive, extractor);
    extractor.locals.pop();
    body
}

/// `exists` is true, and `all` false, only if the body is for some element.
fn of_comprehension(
    comprehension: &Comprehension,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Necessary {
    match (comprehension.operation, positive) {
        (Macro::Exists | Macro::ExistsOne, true) | (Macro::All, false) => {}
        (Macro::All, true) | (Macro::Exists | Macro::ExistsOne, false) => {
            return Necessary::Open(Reason::Negation);
        }
        _ => return Necessary::Open(Reason::Loop),
    }
    if comprehension.depth != extractor.locals.len() {
        return Necessary::Open(Reason::Loop);
    }
    if let Some(condition) = extractor.network_search(comprehension) {
        return Necessary::One(Watch { condition, error_free: None });
    }
    let Node::Literal(range) = &comprehension.range.node else {
        let locals = extractor.elements(&comprehension.range, comprehension.has_two_variables);
        return body(comprehension, locals, positive, extractor);
    };
    match &**range {
        Value::List(elements)
            if elements.len() <= MAX_ELEMENTS && !comprehension.has_two_variables =>
        {
            let each = elements.iter().map(|element| {
                body(comprehension, vec![Local::Constant(element.clone())], positive, extractor)
            });
            Necessary::Any(each.collect())
        }
        _ => Necessary::Open(Reason::Loop),
    }
}

fn body(
    comprehension: &Comprehension,
    locals: Vec<Local>,
    positive: bool,
    extractor: &mut Extractor<'_>,
) -> Necessary {
    within(locals, extractor, |extractor| necessary(&comprehension.body, positive, extractor))
}

/// Calls `find` while some more variables are known.
fn within<T>(
    locals: Vec<Local>,
    extractor: &mut Extractor<'_>,
    find: impl FnOnce(&mut Extractor<'_>) -> T,
) -> T {
    let depth = extractor.locals.len();
    extractor.locals.extend(locals);
    let found = find(extractor);
    extractor.locals.truncate(depth);
    found
}

impl Necessary {
    /// The same formula, for an expression that isn't an error if these are met.
    #[must_use]
    pub(crate) fn with(self, error_free: Option<Vec<Requirement>>) -> Self {
        let each = |parts: Vec<Self>| {
            parts.into_iter().map(|part| part.with(error_free.clone())).collect()
        };
        match self {
            Self::Open(reason) => Self::Open(reason),
            Self::One(watch) => Self::One(Watch { error_free, ..watch }),
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
