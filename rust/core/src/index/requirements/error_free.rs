//! The facts under which an expression cannot be an error, except for cost limits
//! ([`crate::index::requirements::worst_cost`]).
//!
//! A decision reports errors, so it skips an expression only if that is certainly false. For most
//! expressions this depends on a few facts of the event: a field is present, a text is a number. If
//! nothing is known, the expression is evaluated.

use crate::event::layout::{KeySlot, Slot, TextSlot};
use crate::event::record::Record;
use crate::functions::conversions::{int_from_text, read_double};
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::functions::{Place, Shape};
use crate::predicate::{AddressField, Kind, Predicate};
use crate::program::{Call, Comprehension, Expr, Index, Macro, Node};
use crate::value::Value;
use crate::value::address::Address;

/// A fact of the event without which an expression may be an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Requirement {
    Text(Slot),
    Bool(Slot),
    Int(Slot),
    /// The field is one of the event's maps.
    Entries(Slot),
    /// The field has a size.
    Sized(Slot),
    /// The text is one of an address.
    Address {
        slot: Slot,
        is_client: bool,
    },
    /// `int(text)` has a value.
    IntText(KeySlot),
    /// `double(text)` has a value.
    DoubleText(KeySlot),
}

impl Requirement {
    pub(crate) fn is_met(self, record: &Record<'_>) -> bool {
        let text = |key| record.key(key).unwrap_or_default();
        match self {
            Self::Text(slot) => matches!(record.get(slot), Some(Value::String(_))),
            Self::Bool(slot) => matches!(record.get(slot), Some(Value::Bool(_))),
            Self::Int(slot) => matches!(record.get(slot), Some(Value::Int(_))),
            Self::Entries(slot) => matches!(record.get(slot), Some(Value::TotalMap(_))),
            Self::Sized(slot) => matches!(
                record.get(slot),
                Some(Value::String(_) | Value::List(_) | Value::Map(_) | Value::TotalMap(_))
            ),
            Self::Address { slot, is_client } => match record.get(slot) {
                Some(Value::String(text)) => {
                    (is_client && record.client_address().is_some())
                        || Address::parse(text).is_some()
                }
                _ => false,
            },
            Self::IntText(key) => int_from_text(text(key)).is_ok(),
            Self::DoubleText(key) => read_double(text(key)).is_ok(),
        }
    }
}

/// The facts under which an expression has a value; None if they are not known. Cost is not
/// considered.
pub(crate) fn requirements(expression: &Expr) -> Option<Vec<Requirement>> {
    match &expression.node {
        Node::Literal(_) | Node::HasField(_) => Some(Vec::new()),
        Node::Field(slot) => Some(vec![Requirement::Bool(*slot)]),
        Node::Predicate(predicate) => of_predicate(predicate),
        Node::And(operands) | Node::Or(operands) => all(operands, requirements),
        Node::Not(operand) => requirements(operand),
        Node::Operator(operation) => match operation.operator {
            Operator::Equal | Operator::NotEqual => all(&operation.arguments, of_text),
            Operator::In if operation.members.is_some() => {
                operation.arguments.first().and_then(of_text)
            }
            operator if operator.is_order() => of_order(&operation.arguments),
            _ => None,
        },
        Node::Call(call) => of_test(call),
        Node::Comprehension(comprehension) => of_loop(comprehension),
        _ => None,
    }
}

/// A loop over the entries of a map of the event.
fn of_loop(comprehension: &Comprehension) -> Option<Vec<Requirement>> {
    if !matches!(comprehension.operation, Macro::Exists | Macro::All) {
        return None;
    }
    let Node::Field(map) = comprehension.range.node else { return None };
    let mut body = requirements(&comprehension.body)?;
    body.push(Requirement::Entries(map));
    Some(body)
}

fn all(operands: &[Expr], each: fn(&Expr) -> Option<Vec<Requirement>>) -> Option<Vec<Requirement>> {
    let operands: Option<Vec<_>> = operands.iter().map(each).collect();
    operands.map(|operands| operands.concat())
}

fn of_predicate(predicate: &Predicate) -> Option<Vec<Requirement>> {
    let address =
        |field: AddressField| Requirement::Address { slot: field.slot, is_client: field.is_client };
    Some(match &predicate.kind {
        Kind::Text { subject, .. } => match subject.text {
            TextSlot::Field(slot) => vec![Requirement::Text(slot)],
            TextSlot::Key(_) => Vec::new(),
        },
        // The maps of an event are always there.
        Kind::AnyEntry(_) | Kind::HasKey { .. } => Vec::new(),
        Kind::Number { text, .. } => vec![Requirement::DoubleText(*text)],
        Kind::Integer { slot, .. } => vec![Requirement::Int(*slot)],
        Kind::Size { slot, .. } => vec![Requirement::Sized(*slot)],
        Kind::Address(test) if test.otherwise.is_some() => vec![Requirement::Text(test.field.slot)],
        Kind::Address(test) => vec![address(test.field)],
        Kind::FirstNetwork(test) => vec![address(test.field)],
    })
}

/// The facts under which an expression is a text.
fn of_text(expression: &Expr) -> Option<Vec<Requirement>> {
    match &expression.node {
        Node::Literal(value) => matches!(**value, Value::String(_)).then(Vec::new),
        Node::Field(slot) => Some(vec![Requirement::Text(*slot)]),
        // The loops that are followed are over maps of texts.
        Node::SectionKey(_) | Node::Local(_) => Some(Vec::new()),
        Node::Index(index) => Some(vec![Requirement::Entries(entry_map(index)?)]),
        Node::Call(call) => match (call.function.shape, &*call.arguments) {
            (Shape::Lower | Shape::Upper, [text]) => of_text(text),
            _ => None,
        },
        _ => None,
    }
}

/// The map of `map[key]` in a loop over its keys.
pub(in crate::index) fn entry_map(index: &Index) -> Option<Slot> {
    match (&index.operand.node, &index.index.node) {
        (Node::Field(map), Node::Local(_)) if !index.optional => Some(*map),
        _ => None,
    }
}

/// An order of two integers or of two doubles.
fn of_order(operands: &[Expr]) -> Option<Vec<Requirement>> {
    let integers = all(operands, |operand| match &operand.node {
        Node::Literal(value) => matches!(**value, Value::Int(_)).then(Vec::new),
        Node::Field(slot) => Some(vec![Requirement::Int(*slot)]),
        Node::Call(call) if call.function.shape == Shape::Size => match &*call.arguments {
            [Expr { node: Node::Field(slot), .. }] => Some(vec![Requirement::Sized(*slot)]),
            [text] => of_text(text),
            _ => None,
        },
        _ => of_number(operand, Shape::Int, Requirement::IntText),
    });
    integers.or_else(|| {
        all(operands, |operand| match &operand.node {
            Node::Literal(value) => matches!(**value, Value::Double(_)).then(Vec::new),
            _ => of_number(operand, Shape::Double, Requirement::DoubleText),
        })
    })
}

/// The conversion of a text under a literal key.
fn of_number(
    expression: &Expr,
    conversion: Shape,
    requirement: fn(KeySlot) -> Requirement,
) -> Option<Vec<Requirement>> {
    let Node::Call(call) = &expression.node else { return None };
    match (call.function.shape == conversion, &*call.arguments) {
        (true, [Expr { node: Node::SectionKey(section_key), .. }]) => {
            Some(vec![requirement(section_key.key)])
        }
        _ => None,
    }
}

/// A test of a text against constants.
fn of_test(call: &Call) -> Option<Vec<Requirement>> {
    let [on, argument] = &*call.arguments else { return None };
    let Node::Literal(constant) = &argument.node else { return None };
    let is_test = match (call.function.shape, &call.prepared, &**constant) {
        (Shape::Has(_), _, Value::String(_)) => true,
        (Shape::HasAny(Place::Anywhere), prepared, Value::List(_)) => {
            matches!(prepared, Prepared::Parts(_))
        }
        (Shape::HasAny(_), Prepared::List(_), _) => true,
        (Shape::HasAny(_), _, Value::List(texts)) => {
            texts.iter().all(|text| text.as_str().is_some())
        }
        (Shape::Like | Shape::LikeLower, prepared, _) => matches!(prepared, Prepared::Like(_)),
        (Shape::Matches, prepared, _) => matches!(prepared, Prepared::Patterns(_)),
        _ => false,
    };
    if is_test { of_text(on) } else { None }
}
