//! Nodes for the shapes that most rules are made of, at the cost of the nodes
//! they stand for.
//!
//! A predicate answers only when nothing unusual happens: the field is there
//! and of the kind, and the budget suffices. Otherwise the nodes it stands for
//! are run, so that errors, their places and their cost need no second telling.

use memchr::memmem::Finder;
use regex::Regex;

use crate::error::Failure;
use crate::evaluate::Evaluation;
use crate::functions::regex::clip;
use crate::lists::LiteralSet;
use crate::meter::units;
use crate::ops::Operator;
use crate::prepare::{Prepared, finder, literal};
use crate::program::{Call, Expr, Node, Operation};
use crate::record::{KeySlot, Slot};
use crate::value::Value;

#[derive(Debug)]
pub(crate) struct Predicate {
    kind: Kind,
    /// The cost of the nodes, and of scans whose length is known.
    units: u64,
    generic: Expr,
}

#[derive(Debug)]
enum Kind {
    Text { subject: Subject, test: TextTest },
    Integer { slot: Slot, operator: Operator, literal: i64 },
}

/// Where the text of a test comes from.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Field(Slot),
    Key(KeySlot),
}

impl Subject {
    fn of(expression: &Expr) -> Option<Self> {
        match &expression.node {
            Node::Field(slot) => Some(Self::Field(*slot)),
            Node::SectionKey(section_key) => Some(Self::Key(section_key.key)),
            _ => None,
        }
    }

    /// The nodes that are entered for it.
    fn units(expression: &Expr) -> u64 {
        match &expression.node {
            Node::SectionKey(section_key) => section_key.entered.len() as u64,
            _ => 1,
        }
    }
}

#[derive(Debug)]
enum TextTest {
    Equals { literal: Box<str>, is_negated: bool },
    Contains { finder: Box<Finder<'static>>, length: usize },
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    Matches { pattern: Regex, length: usize },
    In(LiteralSet),
}

impl TextTest {
    /// What the test charges for a text, beside its nodes.
    #[inline]
    fn units(&self, length: usize) -> u64 {
        match self {
            Self::Equals { literal, .. } => units(length.min(literal.len())),
            Self::Contains { length: other, .. } | Self::Matches { length: other, .. } => {
                units(length.saturating_add(*other))
            }
            Self::StartsWith(part) | Self::EndsWith(part) => {
                units(length.saturating_add(part.len()))
            }
            Self::In(_) => 1,
        }
    }

    #[inline]
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Equals { literal, is_negated } => (text == &**literal) != *is_negated,
            Self::Contains { finder, .. } => finder.find(text.as_bytes()).is_some(),
            Self::StartsWith(prefix) => text.starts_with(&**prefix),
            Self::EndsWith(suffix) => text.ends_with(&**suffix),
            Self::Matches { pattern, .. } => pattern.is_match(clip(text)),
            Self::In(members) => members.has_text(text),
        }
    }
}

impl Predicate {
    #[inline]
    pub(crate) fn test<'a>(&'a self, evaluation: &mut Evaluation<'a, '_>) -> Result<bool, Failure> {
        match self.answer(evaluation) {
            Some(answer) => Ok(answer),
            None => evaluation.test(&self.generic),
        }
    }

    #[inline]
    fn answer(&self, evaluation: &mut Evaluation<'_, '_>) -> Option<bool> {
        let record = evaluation.record;
        match &self.kind {
            Kind::Text { subject, test } => {
                let text = match subject {
                    Subject::Field(slot) => record.get(*slot)?.as_str()?,
                    Subject::Key(key) => record.key(*key).unwrap_or_default(),
                };
                let units = self.units.saturating_add(test.units(text.len()));
                evaluation.meter.try_charge(units).then(|| test.holds(text))
            }
            Kind::Integer { slot, operator, literal } => {
                let Value::Int(value) = record.get(*slot)? else { return None };
                let holds = match operator {
                    Operator::Equal => value == literal,
                    Operator::NotEqual => value != literal,
                    order => order.accepts(Some(value.cmp(literal))),
                };
                evaluation.meter.try_charge(self.units).then_some(holds)
            }
        }
    }
}

/// The node as a predicate, where it has the shape of one.
pub(crate) fn specialise(expression: Expr) -> Expr {
    let found = match &expression.node {
        Node::Operator(operation) => of_operation(operation),
        Node::Call(call) => of_call(call),
        _ => None,
    };
    match found {
        Some((kind, units)) => {
            let span = expression.span;
            let predicate = Predicate { kind, units, generic: expression };
            Expr { span, node: Node::Predicate(Box::new(predicate)) }
        }
        None => expression,
    }
}

fn of_operation(operation: &Operation) -> Option<(Kind, u64)> {
    let [left, right] = &*operation.arguments else { return None };
    let operator = operation.operator;
    let units = Subject::units(left).saturating_add(2);
    let subject = Subject::of(left)?;
    let test = match (operator, literal(right)?) {
        (Operator::Equal | Operator::NotEqual, Value::String(text)) => TextTest::Equals {
            literal: Box::from(&**text),
            is_negated: operator == Operator::NotEqual,
        },
        (Operator::In, Value::List(values)) => TextTest::In(LiteralSet::new(values)),
        (
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual,
            Value::Int(literal),
        ) => {
            let Subject::Field(slot) = subject else { return None };
            return Some((Kind::Integer { slot, operator, literal: *literal }, units));
        }
        _ => return None,
    };
    Some((Kind::Text { subject, test }, units))
}

fn of_call(call: &Call) -> Option<(Kind, u64)> {
    let [subject, argument] = &*call.arguments else { return None };
    let Value::String(part) = literal(argument)? else { return None };
    let test = match (call.function.name, &call.prepared) {
        ("contains", _) => TextTest::Contains { finder: finder(part), length: part.len() },
        ("startsWith", _) => TextTest::StartsWith(Box::from(&**part)),
        ("endsWith", _) => TextTest::EndsWith(Box::from(&**part)),
        ("matches", Prepared::Patterns(patterns)) => {
            TextTest::Matches { pattern: patterns.first()?.clone(), length: part.len() }
        }
        _ => return None,
    };
    let units = Subject::units(subject).saturating_add(2);
    Some((Kind::Text { subject: Subject::of(subject)?, test }, units))
}
