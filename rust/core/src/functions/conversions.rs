//! Conversions between kinds, and the texts of numbers.

use super::{Function, Pricing, Shape, function, overload, priced, shaped};
use crate::functions::operators::Applied;
use crate::functions::time::{
    duration_text, floor_seconds, read_duration, read_timestamp, timestamp_text,
};
use crate::value::address::{Address, Network};
use crate::value::decimal::double_text;
use crate::value::error::ErrorCode;
use crate::value::{Bytes, Duration, Text, Timestamp, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    priced(Pricing::Free, function("dyn", &[overload!(|_, value: &Value<'_>| Ok(value.clone()))])),
    priced(
        Pricing::Free,
        function(
            "type",
            &[overload!(|_, value: &Value<'_>| Ok(Value::Type(Text::Borrowed(value.type_name()))))],
        ),
    ),
    function(
        "bool",
        &[
            overload!(|_, value: bool| Ok(Value::Bool(value))),
            overload!(|_, text: &str| match text {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
                _ => Err(ErrorCode::InvalidArgument),
            }),
        ],
    ),
    shaped(
        Shape::Int,
        function(
            "int",
            &[
                overload!(|_, value: i64| Ok(Value::Int(value))),
                overload!(|_, value: u64| {
                    i64::try_from(value).map(Value::Int).map_err(|_| ErrorCode::Overflow)
                }),
                overload!(|_, value: f64| int_from_double(value)),
                overload!(|_, text: &str| int_from_text(text)),
                overload!(|_, moment: Timestamp| Ok(Value::Int(floor_seconds(moment)))),
            ],
        ),
    ),
    function(
        "uint",
        &[
            overload!(|_, value: u64| Ok(Value::Uint(value))),
            overload!(|_, value: i64| {
                u64::try_from(value).map(Value::Uint).map_err(|_| ErrorCode::Overflow)
            }),
            overload!(|_, value: f64| uint_from_double(value)),
            overload!(|_, text: &str| uint_from_text(text)),
        ],
    ),
    shaped(
        Shape::Double,
        function(
            "double",
            &[
                overload!(|_, value: f64| Ok(Value::Double(value))),
                overload!(|_, value: i64| Ok(Value::Double(value as f64))),
                overload!(|_, value: u64| Ok(Value::Double(value as f64))),
                overload!(|_, text: &str| read_double(text).map(Value::Double)),
            ],
        ),
    ),
    function(
        "string",
        &[
            overload!(|_, text: &Text<'_>| Ok(Value::String(text.clone()))),
            overload!(|_, value: bool| Ok(Value::text(if value { "true" } else { "false" }))),
            overload!(|_, value: i64| Ok(Value::text(value.to_string()))),
            overload!(|_, value: u64| Ok(Value::text(value.to_string()))),
            overload!(|_, value: f64| Ok(Value::text(double_text(value)))),
            overload!(|_, bytes: &Bytes<'_>| text_from_bytes(bytes)),
            overload!(|_, moment: Timestamp| Ok(Value::text(timestamp_text(moment)))),
            overload!(|_, length: Duration| Ok(Value::text(duration_text(length)))),
            overload!(|_, address: Address| Ok(Value::text(address.to_string()))),
            overload!(|_, network: Network| Ok(Value::text(network.to_string()))),
        ],
    ),
    function(
        "bytes",
        &[
            overload!(|_, bytes: &Bytes<'_>| Ok(Value::Bytes(bytes.clone()))),
            overload!(|_, text: &Text<'_>| Ok(Value::Bytes(bytes_of(text)))),
        ],
    ),
    function(
        "timestamp",
        &[
            overload!(|_, moment: Timestamp| Ok(Value::Timestamp(moment))),
            overload!(|_, text: &str| read_timestamp(text).map(Value::Timestamp)),
            overload!(|_, seconds: i64| {
                Timestamp::checked(i128::from(seconds).saturating_mul(1_000_000_000))
                    .map(Value::Timestamp)
                    .ok_or(ErrorCode::Overflow)
            }),
        ],
    ),
    function(
        "duration",
        &[
            overload!(|_, length: Duration| Ok(Value::Duration(length))),
            overload!(|_, text: &str| read_duration(text).map(Value::Duration)),
        ],
    ),
];

/// -2^63 and 2^63 as doubles. The bounds themselves are rejected, since such a double may be a
/// rounded number beyond them.
const INT_BOUND: f64 = 9_223_372_036_854_775_808.0;
const UINT_BOUND: f64 = 18_446_744_073_709_551_616.0;

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn int_from_double<'a>(value: f64) -> Applied<'a> {
    if value > -INT_BOUND && value < INT_BOUND {
        Ok(Value::Int(value as i64))
    } else {
        Err(ErrorCode::Overflow)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn uint_from_double<'a>(value: f64) -> Applied<'a> {
    if (0.0..UINT_BOUND).contains(&value) {
        Ok(Value::Uint(value as u64))
    } else {
        Err(ErrorCode::Overflow)
    }
}

pub(crate) fn int_from_text<'a>(text: &str) -> Applied<'a> {
    if !is_digits(text.strip_prefix(['+', '-']).unwrap_or(text)) {
        return Err(ErrorCode::InvalidArgument);
    }
    text.parse().map(Value::Int).map_err(|_| ErrorCode::Overflow)
}

fn uint_from_text<'a>(text: &str) -> Applied<'a> {
    if !is_digits(text) {
        return Err(ErrorCode::InvalidArgument);
    }
    text.parse().map(Value::Uint).map_err(|_| ErrorCode::Overflow)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The double that a text writes.
pub(crate) fn read_double(text: &str) -> Result<f64, ErrorCode> {
    let value: f64 = text.parse().map_err(|_| ErrorCode::InvalidArgument)?;
    if value.is_nan() && text.starts_with(['+', '-']) {
        return Err(ErrorCode::InvalidArgument);
    }
    // The name of an infinity ends with a letter, a number that is too large with a digit or a dot.
    if value.is_infinite() && !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return Err(ErrorCode::Overflow);
    }
    Ok(value)
}

fn text_from_bytes<'a>(bytes: &Bytes<'a>) -> Applied<'a> {
    let text = match bytes {
        Bytes::Borrowed(bytes) => str::from_utf8(bytes).map(Text::Borrowed),
        Bytes::Shared(bytes) => str::from_utf8(bytes).map(|text| text.to_owned().into()),
    };
    text.map(Value::String).map_err(|_| ErrorCode::InvalidUtf8)
}

fn bytes_of<'a>(text: &Text<'a>) -> Bytes<'a> {
    match text {
        Text::Borrowed(text) => Bytes::Borrowed(text.as_bytes()),
        Text::Shared(text) => Bytes::from(text.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests;
