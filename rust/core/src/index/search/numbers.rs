//! Comparisons of numbers as conditions.

use crate::event::field::Field;
use crate::event::layout::Source;
use crate::event::variable::VariableType;
use crate::functions::Shape;
use crate::functions::operators::Operator;
use crate::index::requirements::condition::{Bound, Condition, NumberSource, TextSource, order_of};
use crate::index::requirements::conditions_of::{Case, Extractor, Subject};
use crate::program::{Expr, Node};
use crate::value::Value;

/// The kind of numbers that a source gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Double,
}

impl Extractor<'_> {
    /// A number compared with a constant, as needed for the comparison to have a given value.
    pub(in crate::index) fn comparison(
        &self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        value: bool,
    ) -> Option<(Condition, bool)> {
        let operator = if value { operator } else { opposite(operator)? };
        let (operator, (source, kind), constant) = match (self.constant(left), self.constant(right))
        {
            (None, Some(constant)) => (operator, self.number_source(left)?, constant),
            (Some(constant), None) => (mirrored(operator)?, self.number_source(right)?, constant),
            _ => return None,
        };
        let number = number(constant, kind)?;
        let bound = match operator {
            Operator::Greater => Bound::Above(number),
            Operator::GreaterOrEqual => Bound::Above(number.checked_sub(1)?),
            Operator::Less => Bound::Below(number),
            Operator::LessOrEqual => Bound::Below(number.checked_add(1)?),
            Operator::Equal => Bound::OneOf(vec![number]),
            _ => return None,
        };
        // A text that isn't a number compares as false, and the negation as true.
        let is_exact = kind == Kind::Int || value;
        Some((Condition::Number { source, bound }, is_exact))
    }

    /// A number in a constant list.
    pub(in crate::index) fn one_of(
        &self,
        element: &Expr,
        members: &[Value<'static>],
    ) -> Option<(Condition, bool)> {
        let (source, kind) = self.number_source(element)?;
        let numbers: Option<Vec<i64>> = members.iter().map(|member| number(member, kind)).collect();
        let mut numbers = numbers?;
        numbers.sort_unstable();
        numbers.dedup();
        Some((Condition::Number { source, bound: Bound::OneOf(numbers) }, true))
    }

    fn number_source(&self, expression: &Expr) -> Option<(NumberSource, Kind)> {
        match &expression.node {
            Node::Field(slot) => match self.source(*slot)? {
                Source::Field(Field::IpVersion | Field::Asn)
                | Source::Variable(VariableType::Int) => {
                    Some((NumberSource::Int(*slot), Kind::Int))
                }
                Source::Variable(VariableType::Double) => {
                    Some((NumberSource::Double(*slot), Kind::Double))
                }
                _ => None,
            },
            Node::Call(call) => {
                let [argument] = &*call.arguments else { return None };
                match call.function.shape {
                    Shape::Double => {
                        Some((NumberSource::DoubleOf(self.plain_text(argument)?), Kind::Double))
                    }
                    Shape::Int => {
                        Some((NumberSource::IntOf(self.plain_text(argument)?), Kind::Int))
                    }
                    Shape::Size => Some((self.size_source(argument)?, Kind::Int)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn size_source(&self, argument: &Expr) -> Option<NumberSource> {
        if let Node::Field(slot) = argument.node
            && let Source::Field(Field::Section(_) | Field::PathSegments) = self.source(slot)?
        {
            return Some(NumberSource::CountOf(slot));
        }
        // Folding ASCII letters changes no length.
        let source = self.subject(argument)?.source;
        self.is_text(source).then_some(NumberSource::LengthOf(source))
    }

    /// A text of the event that is as it is, and a text for sure.
    fn plain_text(&self, argument: &Expr) -> Option<TextSource> {
        match self.subject(argument)? {
            Subject { source, case: Case::AsIs } if self.is_text(source) => Some(source),
            _ => None,
        }
    }

    pub(in crate::index) fn is_text(&self, source: TextSource) -> bool {
        let TextSource::Field(slot) = source else { return true };
        match self.source(slot) {
            Some(Source::Field(field)) => field.type_text() == "string",
            Some(Source::Variable(variable)) => *variable == VariableType::String,
            _ => false,
        }
    }
}

fn number(constant: &Value<'_>, kind: Kind) -> Option<i64> {
    match (constant, kind) {
        (Value::Int(number), Kind::Int) => Some(*number),
        (Value::Double(number), Kind::Double) => order_of(*number),
        _ => None,
    }
}

const fn opposite(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Less => Operator::GreaterOrEqual,
        Operator::LessOrEqual => Operator::Greater,
        Operator::Greater => Operator::LessOrEqual,
        Operator::GreaterOrEqual => Operator::Less,
        Operator::Equal => Operator::NotEqual,
        Operator::NotEqual => Operator::Equal,
        _ => return None,
    })
}

/// The operator when the operands change places.
const fn mirrored(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        Operator::Equal | Operator::NotEqual => operator,
        _ => return None,
    })
}
