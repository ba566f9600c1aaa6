//! The operators: one function each.

use std::cmp::Ordering;

use crate::value::error::ErrorCode;
use crate::value::map::integral;
use crate::value::meter::{Meter, units};
use crate::value::{Duration, List, Timestamp, Value};

/// A value or an error code.
pub type Applied<'a> = Result<Value<'a>, ErrorCode>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Negate,
}

impl Operator {
    /// The operator of a sign with a number of operands.
    pub(crate) fn from_sign(sign: &str, operands: usize) -> Option<Self> {
        Some(match (sign, operands) {
            ("+", 2) => Self::Add,
            ("-", 2) => Self::Subtract,
            ("*", 2) => Self::Multiply,
            ("/", 2) => Self::Divide,
            ("%", 2) => Self::Remainder,
            ("==", 2) => Self::Equal,
            ("!=", 2) => Self::NotEqual,
            ("<", 2) => Self::Less,
            ("<=", 2) => Self::LessOrEqual,
            (">", 2) => Self::Greater,
            (">=", 2) => Self::GreaterOrEqual,
            ("in", 2) => Self::In,
            ("-", 1) => Self::Negate,
            _ => return None,
        })
    }

    pub(crate) const fn is_order(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }

    pub(crate) const fn is_comparison(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual) || self.is_order()
    }

    /// The result of a comparison with this order, for the four operators that compare.
    pub(crate) const fn accepts(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Less => matches!(order, Some(Ordering::Less)),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => matches!(order, Some(Ordering::Greater)),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            _ => false,
        }
    }
}

/// The operator of one operand.
pub(crate) fn negate<'a>(operand: &Value<'a>) -> Applied<'a> {
    match operand {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or(ErrorCode::Overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

/// Applies an operator of two operands; `in` of a literal list is elsewhere.
pub(crate) fn apply_binary<'a>(
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
    meter: &mut Meter,
) -> Applied<'a> {
    match operator {
        Operator::Equal => equal(left, right, meter).map(Value::Bool),
        Operator::NotEqual => equal(left, right, meter).map(|equal| Value::Bool(!equal)),
        Operator::In => contains(right, left, meter).map(Value::Bool),
        Operator::Add => add(left, right, meter),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => multiply(left, right),
        Operator::Divide => divide(left, right),
        Operator::Remainder => remainder(left, right),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            compare(left, right, meter).map(|order| Value::Bool(operator.accepts(order)))
        }
        Operator::Negate => Err(ErrorCode::NoSuchOverload),
    }
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>, meter: &mut Meter) -> Applied<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            charge_joined(a.len(), b.len(), meter)?;
            let mut joined = String::with_capacity(a.len().saturating_add(b.len()));
            joined.push_str(a);
            joined.push_str(b);
            Ok(Value::text(joined))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            charge_joined(a.len(), b.len(), meter)?;
            Ok(Value::Bytes([&**a, &**b].concat().into()))
        }
        (Value::List(a), Value::List(b)) => {
            meter.charge(a.len().saturating_add(b.len()) as u64)?;
            Ok(Value::List(List::from([&**a, &**b].concat())))
        }
        (Value::Timestamp(Timestamp(a)), Value::Duration(Duration(b)))
        | (Value::Duration(Duration(b)), Value::Timestamp(Timestamp(a))) => {
            timestamp(a.saturating_add(*b))
        }
        (Value::Duration(Duration(a)), Value::Duration(Duration(b))) => {
            duration(a.saturating_add(*b))
        }
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

fn charge_joined(left: usize, right: usize, meter: &mut Meter) -> Result<(), ErrorCode> {
    let length = left.saturating_add(right);
    meter.allow_bytes(length)?;
    meter.charge(units(length))
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Applied<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Timestamp(Timestamp(a)), Value::Timestamp(Timestamp(b)))
        | (Value::Duration(Duration(a)), Value::Duration(Duration(b))) => {
            duration(a.saturating_sub(*b))
        }
        (Value::Timestamp(Timestamp(a)), Value::Duration(Duration(b))) => {
            timestamp(a.saturating_sub(*b))
        }
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Applied<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Applied<'a> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(ErrorCode::DivideByZero)
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

fn remainder<'a>(left: &Value<'a>, right: &Value<'a>) -> Applied<'a> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(ErrorCode::DivideByZero)
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

fn int<'a>(result: Option<i64>) -> Applied<'a> {
    result.map(Value::Int).ok_or(ErrorCode::Overflow)
}

fn uint<'a>(result: Option<u64>) -> Applied<'a> {
    result.map(Value::Uint).ok_or(ErrorCode::Overflow)
}

fn timestamp<'a>(nanoseconds: i128) -> Applied<'a> {
    Timestamp::checked(nanoseconds).map(Value::Timestamp).ok_or(ErrorCode::Overflow)
}

fn duration<'a>(nanoseconds: i128) -> Applied<'a> {
    Duration::checked(nanoseconds).map(Value::Duration).ok_or(ErrorCode::Overflow)
}

/// Whether two values are equal; each comparison is charged before it is made.
pub(crate) fn equal(
    left: &Value<'_>,
    right: &Value<'_>,
    meter: &mut Meter,
) -> Result<bool, ErrorCode> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => {
            meter.charge(units(a.len().min(b.len())))?;
            Ok(**a == **b)
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            meter.charge(units(a.len().min(b.len())))?;
            Ok(**a == **b)
        }
        (Value::List(a), Value::List(b)) => equal_lists(a, b, meter),
        (Value::Map(_) | Value::TotalMap(_), Value::Map(_) | Value::TotalMap(_)) => {
            equal_maps(left, right, meter)
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => equal(a, b, meter),
        _ => Ok(equal_scalars(left, right)),
    }
}

fn equal_scalars(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => **a == **b,
        (Value::Ip(a), Value::Ip(b)) => a == b,
        (Value::Cidr(a), Value::Cidr(b)) => a == b,
        _ => equal_numbers(left, right),
    }
}

fn equal_lists(
    left: &[Value<'_>],
    right: &[Value<'_>],
    meter: &mut Meter,
) -> Result<bool, ErrorCode> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (one, other) in left.iter().zip(right) {
        meter.charge(1)?;
        if !equal(one, other, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(left: &Value<'_>, right: &Value<'_>, meter: &mut Meter) -> Result<bool, ErrorCode> {
    let length = left.map_len();
    if length != right.map_len() {
        return Ok(false);
    }
    for position in 0..length.unwrap_or_default() {
        meter.charge(1)?;
        let Some((key, value)) = left.map_entry(position) else { return Ok(false) };
        let Some(other) = find_key(right, &key) else { return Ok(false) };
        if !equal(&value, &other, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The value of a key that a map, total or not, has.
pub(crate) fn find_key<'a>(map: &Value<'a>, key: &Value<'_>) -> Option<Value<'a>> {
    match map {
        Value::Map(map) => map.get(key).cloned(),
        Value::TotalMap(map) => map.get(key.as_str()?).map(Value::String),
        _ => None,
    }
}

/// Equality outside an evaluation, where nothing is counted.
pub(crate) fn is_equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    let limits = crate::value::limits::Limits { cost: u64::MAX, ..Default::default() };
    equal(left, right, &mut Meter::new(&limits)).unwrap_or(false)
}

/// Whether a list or the keys of a map have a value.
fn contains(whole: &Value<'_>, value: &Value<'_>, meter: &mut Meter) -> Result<bool, ErrorCode> {
    match whole {
        Value::List(values) => {
            for element in values.iter() {
                meter.charge(1)?;
                if equal(element, value, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => {
            meter.charge(1)?;
            Ok(map.get(value).is_some())
        }
        Value::TotalMap(map) => {
            meter.charge(1)?;
            Ok(value.as_str().is_some_and(|key| map.find(key).is_some()))
        }
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

/// The order of two values, None when one is NaN.
fn compare(
    left: &Value<'_>,
    right: &Value<'_>,
    meter: &mut Meter,
) -> Result<Option<Ordering>, ErrorCode> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => {
            meter.charge(units(a.len().saturating_add(b.len())))?;
            Ok(Some((**a).cmp(&**b)))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            meter.charge(units(a.len().saturating_add(b.len())))?;
            Ok(Some((**a).cmp(&**b)))
        }
        (Value::Bool(a), Value::Bool(b)) => Ok(Some(a.cmp(b))),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(Some(a.cmp(b))),
        (Value::Duration(a), Value::Duration(b)) => Ok(Some(a.cmp(b))),
        _ => compare_numbers(left, right).ok_or(ErrorCode::NoSuchOverload),
    }
}

/// The order of two numbers: None if a value isn't a number, `Some(None)` if one is NaN. An integer
/// compared with a double counts as the nearest double, as in published engines; integers of both
/// kinds compare exactly.
pub(crate) fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            nearest_double(left)?.partial_cmp(&nearest_double(right)?)
        }
        _ => Some(integer(left)?.cmp(&integer(right)?)),
    })
}

/// The double nearest to a number, ties to even.
#[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
pub(crate) fn nearest_double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        Value::Double(value) => Some(*value),
        _ => None,
    }
}

/// Whether two numbers are the same real number, without rounding either.
fn equal_numbers(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Double(a), Value::Double(b)) => a == b,
        (Value::Double(double), other) | (other, Value::Double(double)) => {
            integer(other).is_some_and(|integer| integral(*double) == Some(integer))
        }
        _ => integer(left).is_some_and(|left| integer(right) == Some(left)),
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
