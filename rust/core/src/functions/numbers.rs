//! The math extension.

use std::cmp::Ordering;

use super::{Function, function, overload};
use crate::functions::operators::{Applied, compare_numbers};
use crate::functions::{Call, Overload};
use crate::value::error::ErrorCode;
use crate::value::{List, Value};

/// Most arguments of a variadic function; a list takes more.
const MAX_ARGUMENTS: usize = 16;

pub(super) const FUNCTIONS: &[Function] = &[
    function("math.greatest", &[greatest as Overload]),
    function("math.least", &[least as Overload]),
    function("math.ceil", &[overload!(|_, value: f64| Ok(Value::Double(value.ceil())))]),
    function("math.floor", &[overload!(|_, value: f64| Ok(Value::Double(value.floor())))]),
    function("math.trunc", &[overload!(|_, value: f64| Ok(Value::Double(value.trunc())))]),
    function("math.round", &[overload!(|_, value: f64| Ok(Value::Double(value.round())))]),
    function(
        "math.abs",
        &[
            overload!(|_, value: i64| value
                .checked_abs()
                .map(Value::Int)
                .ok_or(ErrorCode::Overflow)),
            overload!(|_, value: u64| Ok(Value::Uint(value))),
            overload!(|_, value: f64| Ok(Value::Double(value.abs()))),
        ],
    ),
    function(
        "math.sign",
        &[
            overload!(|_, value: i64| Ok(Value::Int(value.signum()))),
            overload!(|_, value: u64| Ok(Value::Uint(value.min(1)))),
            overload!(|_, value: f64| Ok(Value::Double(sign(value)))),
        ],
    ),
    function("math.isNaN", &[overload!(|_, value: f64| Ok(Value::Bool(value.is_nan())))]),
    function("math.isInf", &[overload!(|_, value: f64| Ok(Value::Bool(value.is_infinite())))]),
    function("math.isFinite", &[overload!(|_, value: f64| Ok(Value::Bool(value.is_finite())))]),
    function(
        "math.sqrt",
        &[
            overload!(|_, value: f64| Ok(Value::Double(value.sqrt()))),
            overload!(|_, value: i64| Ok(Value::Double((value as f64).sqrt()))),
            overload!(|_, value: u64| Ok(Value::Double((value as f64).sqrt()))),
        ],
    ),
    function(
        "math.bitAnd",
        &[
            overload!(|_, left: i64, right: i64| Ok(Value::Int(left & right))),
            overload!(|_, left: u64, right: u64| Ok(Value::Uint(left & right))),
        ],
    ),
    function(
        "math.bitOr",
        &[
            overload!(|_, left: i64, right: i64| Ok(Value::Int(left | right))),
            overload!(|_, left: u64, right: u64| Ok(Value::Uint(left | right))),
        ],
    ),
    function(
        "math.bitXor",
        &[
            overload!(|_, left: i64, right: i64| Ok(Value::Int(left ^ right))),
            overload!(|_, left: u64, right: u64| Ok(Value::Uint(left ^ right))),
        ],
    ),
    function(
        "math.bitNot",
        &[
            overload!(|_, value: i64| Ok(Value::Int(!value))),
            overload!(|_, value: u64| Ok(Value::Uint(!value))),
        ],
    ),
    function(
        "math.bitShiftLeft",
        &[
            overload!(|_, value: i64, places: i64| {
                shift_left(value.cast_unsigned(), places).map(|bits| Value::Int(bits.cast_signed()))
            }),
            overload!(|_, value: u64, places: i64| shift_left(value, places).map(Value::Uint)),
        ],
    ),
    function(
        "math.bitShiftRight",
        &[
            overload!(|_, value: i64, places: i64| {
                shift_right(value.cast_unsigned(), places)
                    .map(|bits| Value::Int(bits.cast_signed()))
            }),
            overload!(|_, value: u64, places: i64| shift_right(value, places).map(Value::Uint)),
        ],
    ),
];

fn greatest<'a>(call: &mut Call<'a, '_>, arguments: &[Value<'a>]) -> Option<Applied<'a>> {
    extreme(call, arguments, Ordering::Greater)
}

fn least<'a>(call: &mut Call<'a, '_>, arguments: &[Value<'a>]) -> Option<Applied<'a>> {
    extreme(call, arguments, Ordering::Less)
}

/// The greatest or least of the arguments, or of one list. The overload takes any kinds and checks
/// them afterwards.
fn extreme<'a>(
    call: &mut Call<'a, '_>,
    arguments: &[Value<'a>],
    wanted: Ordering,
) -> Option<Applied<'a>> {
    if arguments.is_empty() || arguments.len() > MAX_ARGUMENTS {
        return None;
    }
    if let Err(code) = call.charge_arguments(arguments) {
        return Some(Err(code));
    }
    Some(match arguments {
        [Value::List(values)] => extreme_of_list(values, wanted),
        values => extreme_of(values, wanted),
    })
}

fn extreme_of_list<'a>(values: &List<'a>, wanted: Ordering) -> Applied<'a> {
    extreme_of(values, wanted)
}

fn extreme_of<'a>(values: &[Value<'a>], wanted: Ordering) -> Applied<'a> {
    let is_number =
        |value: &Value<'_>| matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    if !values.iter().all(is_number) {
        return Err(ErrorCode::NoSuchOverload);
    }
    let (first, rest) = values.split_first().ok_or(ErrorCode::InvalidArgument)?;
    let mut best = first;
    for value in rest {
        let order = compare_numbers(value, best).flatten().ok_or(ErrorCode::InvalidArgument)?;
        if order == wanted {
            best = value;
        }
    }
    Ok(best.clone())
}

/// -1, 0 or 1, without a negative zero; NaN stays.
fn sign(value: f64) -> f64 {
    if value == 0.0 || value.is_nan() { value + 0.0 } else { value.signum() }
}

/// Bits that leave are lost, without an error.
fn shift_left(bits: u64, places: i64) -> Result<u64, ErrorCode> {
    let places = u32::try_from(at_least_zero(places)?).unwrap_or(u32::MAX);
    Ok(bits.checked_shl(places).unwrap_or(0))
}

fn shift_right(bits: u64, places: i64) -> Result<u64, ErrorCode> {
    let places = u32::try_from(at_least_zero(places)?).unwrap_or(u32::MAX);
    Ok(bits.checked_shr(places).unwrap_or(0))
}

fn at_least_zero(places: i64) -> Result<i64, ErrorCode> {
    if places < 0 { Err(ErrorCode::InvalidArgument) } else { Ok(places) }
}

#[cfg(test)]
mod tests;
