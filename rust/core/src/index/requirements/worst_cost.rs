//! The worst cost of an expression, by the size of the event: below the limit it can't be a
//! `cost_exceeded` error.

use crate::event::field::Field;
use crate::event::layout::{Layout, Source};
use crate::event::record::Record;
use crate::event::variable::VariableType;
use crate::functions::Shape;
use crate::functions::operators::Operator;
use crate::index::requirements::error_free::entry_map;
use crate::predicate::{Kind, Predicate};
use crate::program::{Call, Comprehension, Expr, Node};
use crate::value::Value;
use crate::value::limits::Limits;
use crate::value::meter::units;

/// Units that an evaluation spends at most, by the size of the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cost {
    fixed: u64,
    /// Number of scans of all text of the event.
    scans: u64,
    /// Units for each entry of a map of the event.
    entries: u64,
}

/// The size of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Bytes of all texts.
    pub(crate) bytes: usize,
    /// Entries of the largest map.
    pub(crate) entries: usize,
}

impl Size {
    pub(crate) fn of(record: &Record<'_>) -> Self {
        let bytes = record.key_texts().flatten().map(str::len).sum();
        let mut size = Self { bytes, entries: 0 };
        for value in record.values() {
            match value {
                Value::String(text) => size.bytes = size.bytes.saturating_add(text.len()),
                Value::TotalMap(map) => {
                    size.entries = size.entries.max(map.len());
                    size.bytes = size.bytes.saturating_add(map.text_bytes());
                }
                _ => {}
            }
        }
        size
    }
}

impl Cost {
    /// Whether every event of this size is within a limit.
    pub(crate) fn is_within(self, limits: &Limits, size: Size) -> bool {
        let scans = self.scans.saturating_mul(units(size.bytes).saturating_add(1));
        let entries = self.entries.saturating_mul(size.entries as u64);
        let total = self.fixed.saturating_add(scans).saturating_add(entries);
        total <= limits.cost && size.bytes <= limits.string_bytes
    }

    /// The next of a few rounded costs, rounding up.
    pub(crate) fn rounded(self) -> Self {
        let round = |number: u64| {
            let step = number.checked_next_power_of_two().map_or(1, |power| (power / 8).max(1));
            number.checked_next_multiple_of(step).unwrap_or(u64::MAX)
        };
        Self {
            fixed: round(self.fixed),
            scans: if self.scans == 0 { 0 } else { round(self.scans) },
            entries: if self.entries == 0 { 0 } else { round(self.entries) },
        }
    }

    /// The greater of both in each part.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.max(other.fixed),
            scans: self.scans.max(other.scans),
            entries: self.entries.max(other.entries),
        }
    }

    fn units(fixed: u64) -> Self {
        Self { fixed, ..Self::default() }
    }

    fn and(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.saturating_add(other.fixed),
            scans: self.scans.saturating_add(other.scans),
            entries: self.entries.saturating_add(other.entries),
        }
    }
}

/// A bound on the cost of an expression; None if it is unbounded.
pub(crate) fn cost(expression: &Expr, layout: &Layout) -> Option<Cost> {
    let node = Cost::units(1);
    match &expression.node {
        Node::Literal(value) => Some(node.and(Cost::units(length_units(value)))),
        Node::HasField(_) | Node::Undeclared | Node::Local(_) => Some(node),
        Node::Index(index) => entry_map(index).map(|_| Cost::units(3)),
        Node::Comprehension(comprehension) => of_entries(comprehension, layout),
        Node::Field(slot) => is_scalar(layout.source(*slot)?).then_some(node),
        Node::SectionKey(section_key) => Some(Cost::units(section_key.entered.len() as u64)),
        Node::And(operands) | Node::Or(operands) => sum(node, operands, layout),
        Node::Conditional(conditional) => {
            let parts = [&conditional.condition, &conditional.then, &conditional.otherwise];
            parts.into_iter().try_fold(node, |sum, part| Some(sum.and(cost(part, layout)?)))
        }
        Node::Not(operand) => Some(node.and(cost(operand, layout)?)),
        Node::Operator(operation) => match operation.operator {
            Operator::Add => None,
            Operator::In if operation.members.is_none() => None,
            // The operands are texts of the event, constants or short.
            _ => sum(Cost { fixed: 2, scans: 1, entries: 0 }, &operation.arguments, layout),
        },
        Node::Call(call) => of_call(call, layout),
        Node::Predicate(predicate) => match &predicate.kind {
            Kind::AnyEntry(test) => {
                let each = test.units().saturating_add(test_units(predicate)).saturating_add(1);
                let scans = if test.is_lowered { 3 } else { 1 };
                Some(Cost { fixed: predicate.units, scans, entries: each })
            }
            Kind::FirstNetwork(test) => {
                let walk = u64::from(test.walks.last().copied().unwrap_or_default());
                let scans = test.walks.len() as u64;
                Some(Cost { fixed: predicate.units.saturating_add(walk), scans, entries: 0 })
            }
            Kind::HasKey { .. } => Some(Cost::units(predicate.units)),
            _ => cost(&predicate.nodes(expression.span.start), layout),
        },
        _ => None,
    }
}

/// A loop over entries whose body reads only its entry: all bodies together read at most all text.
fn of_entries(comprehension: &Comprehension, layout: &Layout) -> Option<Cost> {
    let Node::Field(_) = comprehension.range.node else { return None };
    let body = cost(&comprehension.body, layout)?;
    if comprehension.condition.is_some() || body.entries > 0 || reads_event(&comprehension.body) {
        return None;
    }
    let each = body.fixed.saturating_add(body.scans).saturating_add(1);
    Some(Cost { fixed: 2, scans: body.scans, entries: each })
}

/// Whether an expression reads a text that isn't an entry.
fn reads_event(expression: &Expr) -> bool {
    match &expression.node {
        Node::Literal(_) | Node::Local(_) | Node::Index(_) => false,
        Node::And(operands) | Node::Or(operands) => operands.iter().any(reads_event),
        Node::Not(operand) => reads_event(operand),
        Node::Operator(operation) => operation.arguments.iter().any(reads_event),
        Node::Call(call) => call.arguments.iter().any(reads_event),
        _ => true,
    }
}

fn sum(start: Cost, operands: &[Expr], layout: &Layout) -> Option<Cost> {
    operands.iter().try_fold(start, |sum, operand| Some(sum.and(cost(operand, layout)?)))
}

/// Functions that give a scalar or one of their texts in another case.
fn of_call(call: &Call, layout: &Layout) -> Option<Cost> {
    let shape = call.function.shape;
    if let (Shape::Size, [Expr { node: Node::Field(_), .. }]) = (shape, &*call.arguments) {
        return Some(Cost { fixed: 2, scans: 1, entries: 0 });
    }
    // Each text going in and the one coming out may be all that the event has.
    let arguments = (call.arguments.len() as u64).saturating_add(1);
    let constants = call.arguments.iter().map(constant_units).fold(0, u64::saturating_add);
    let start = Cost { fixed: constants.saturating_add(2), scans: arguments, entries: 0 };
    if shape.reads_its_texts_once() { sum(start, &call.arguments, layout) } else { None }
}

/// Units for the constants in an expression, each perhaps charged again.
fn constant_units(expression: &Expr) -> u64 {
    match &expression.node {
        Node::Literal(value) => length_units(value),
        Node::Call(call) => call.arguments.iter().map(constant_units).fold(0, u64::saturating_add),
        _ => 0,
    }
}

fn length_units(value: &Value<'_>) -> u64 {
    let bytes = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(elements) => {
            return elements.iter().map(length_units).fold(1, u64::saturating_add);
        }
        _ => 0,
    };
    units(bytes).saturating_add(1)
}

fn test_units(test: &Predicate) -> u64 {
    units(test.constant().len()).saturating_add(2)
}

/// Whether a value of the source is compared in one step or is a text.
fn is_scalar(source: &Source) -> bool {
    match source {
        Source::Field(field) => !matches!(
            field,
            Field::Section(_)
                | Field::Body
                | Field::Arguments
                | Field::PathSegments
                | Field::Repeated(_)
        ),
        Source::Variable(variable) => matches!(
            variable,
            VariableType::Bool
                | VariableType::Int
                | VariableType::Uint
                | VariableType::Double
                | VariableType::String
                | VariableType::Timestamp
                | VariableType::Duration
                | VariableType::Ip
                | VariableType::Cidr
        ),
        // `actions.NAME` and `entity.NAME`: bools, numbers and times.
        Source::Decision => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_within_a_limit_up_to_a_size() {
        let limits = Limits { cost: 100, string_bytes: 1_000, ..Limits::default() };
        let size = |bytes, entries| Size { bytes, entries };
        let cost = Cost { fixed: 20, scans: 2, entries: 5 };
        assert!(cost.is_within(&limits, size(160, 10)));
        assert!(!cost.is_within(&limits, size(320, 10)));
        assert!(!cost.is_within(&limits, size(160, 12)));
        assert!(!Cost::default().is_within(&limits, size(1_001, 0)));
        assert!(!Cost::units(u64::MAX).and(cost).is_within(&limits, size(0, 0)));
    }

    #[test]
    fn a_rounded_cost_is_no_less() {
        for number in [0, 1, 2, 3, 1_000, u64::MAX] {
            let cost = Cost { fixed: number, scans: number, entries: number };
            assert_eq!(cost.rounded().max(cost), cost.rounded());
        }
        assert_eq!(Cost::units(1_000).rounded(), Cost::units(1_024).rounded());
    }
}
