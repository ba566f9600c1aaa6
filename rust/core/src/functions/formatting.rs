//! `format` of the strings extension.

use super::{Function, member, overload};
use crate::functions::operators::{Applied, nearest_double};
use crate::functions::time::{duration_text, timestamp_text};
use crate::functions::{Call, split_digits};
use crate::value::decimal::positional_text;
use crate::value::error::ErrorCode;
use crate::value::meter::Meter;
use crate::value::{List, Value};

const DEFAULT_PRECISION: usize = 6;
const MAX_PRECISION: usize = 1_000;

pub(super) const FUNCTIONS: &[Function] = &[member(
    "format",
    &[overload!(|call, template: &str, arguments: &List<'_>| format(call, template, arguments))],
)];

fn format<'a>(call: &mut Call<'a, '_>, template: &str, arguments: &[Value<'_>]) -> Applied<'a> {
    let mut writer = Writer { out: String::new(), meter: call.meter };
    let mut arguments = arguments.iter();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        writer.add(before)?;
        if let Some(after) = after.strip_prefix('%') {
            writer.add("%")?;
            rest = after;
            continue;
        }
        let (clause, after) = Clause::split(after)?;
        let argument = arguments.next().ok_or(ErrorCode::IndexOutOfRange)?;
        writer.clause(&clause, argument)?;
        rest = after;
    }
    writer.add(rest)?;
    Ok(Value::text(writer.out))
}

/// A precision and a letter, after a percent sign.
struct Clause {
    precision: usize,
    letter: char,
}

impl Clause {
    fn split(text: &str) -> Result<(Self, &str), ErrorCode> {
        let (digits, rest) = match text.strip_prefix('.') {
            None => (None, text),
            Some(rest) => {
                let (digits, rest) = split_digits(rest);
                (Some(digits), rest)
            }
        };
        let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
        let letter = letter.filter(|_| digits != Some("")).ok_or(ErrorCode::InvalidArgument)?;
        let precision = digits.map_or(Ok(DEFAULT_PRECISION), read_precision)?;
        if !"sdfebxXo".contains(letter) {
            return Err(ErrorCode::InvalidArgument);
        }
        Ok((Self { precision, letter }, rest.get(1..).unwrap_or_default()))
    }
}

fn read_precision(digits: &str) -> Result<usize, ErrorCode> {
    let precision = digits.parse().ok().filter(|precision| *precision <= MAX_PRECISION);
    precision.ok_or(ErrorCode::InvalidArgument)
}

/// Builds a text no longer than a value may be.
struct Writer<'m> {
    out: String,
    meter: &'m mut Meter,
}

impl Writer<'_> {
    fn add(&mut self, text: &str) -> Result<(), ErrorCode> {
        self.meter.allow_bytes(self.out.len().saturating_add(text.len()))?;
        self.out.push_str(text);
        Ok(())
    }

    fn clause(&mut self, clause: &Clause, value: &Value<'_>) -> Result<(), ErrorCode> {
        let text = match (clause.letter, value) {
            ('s', _) => return self.plain(value),
            ('d', _) => decimal(value),
            ('f' | 'e', _) => nearest_double(value).map(|value| floating(clause, value)),
            ('b', Value::Bool(value)) => Some(u8::from(*value).to_string()),
            ('b', _) => signed(value, |magnitude| format!("{magnitude:b}")),
            ('o', _) => signed(value, |magnitude| format!("{magnitude:o}")),
            ('x', Value::String(text)) => Some(hexadecimal(text.as_bytes())),
            ('x', Value::Bytes(bytes)) => Some(hexadecimal(bytes)),
            ('X', Value::String(text)) => Some(hexadecimal(text.as_bytes()).to_ascii_uppercase()),
            ('X', Value::Bytes(bytes)) => Some(hexadecimal(bytes).to_ascii_uppercase()),
            ('x', _) => signed(value, |magnitude| format!("{magnitude:x}")),
            ('X', _) => signed(value, |magnitude| format!("{magnitude:X}")),
            _ => None,
        };
        self.add(&text.ok_or(ErrorCode::InvalidArgument)?)
    }

    /// Writes a value for `%s`, its parts in the order in which they are read.
    fn plain(&mut self, value: &Value<'_>) -> Result<(), ErrorCode> {
        match value {
            Value::String(text) => self.add(text),
            Value::List(values) => {
                self.add("[")?;
                for (position, part) in values.iter().enumerate() {
                    self.add(if position > 0 { ", " } else { "" })?;
                    self.plain(part)?;
                }
                self.add("]")
            }
            Value::Map(_) | Value::TotalMap(_) => self.map(value),
            scalar => self.add(&scalar_text(scalar)?),
        }
    }

    /// Entries in the order of the texts of their keys.
    fn map(&mut self, map: &Value<'_>) -> Result<(), ErrorCode> {
        let mut entries = Vec::new();
        for position in 0..map.map_len().unwrap_or_default() {
            if let Some((key, value)) = map.map_entry(position) {
                entries.push((scalar_text(&key)?, value));
            }
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.add("{")?;
        for (position, (key, value)) in entries.iter().enumerate() {
            let separator = if position > 0 { ", " } else { "" };
            self.add(&format!("{separator}{key}: "))?;
            self.plain(value)?;
        }
        self.add("}")
    }
}

fn scalar_text(value: &Value<'_>) -> Result<String, ErrorCode> {
    Ok(match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => positional_text(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => {
            str::from_utf8(bytes).map_err(|_| ErrorCode::InvalidUtf8)?.to_owned()
        }
        Value::Timestamp(moment) => timestamp_text(*moment),
        Value::Duration(length) => duration_text(*length),
        Value::Type(name) => name.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(network) => network.to_string(),
        Value::Optional(_) | Value::List(_) | Value::Map(_) | Value::TotalMap(_) => {
            return Err(ErrorCode::InvalidArgument);
        }
    })
}

fn decimal(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::Uint(value) => Some(value.to_string()),
        Value::Double(value) => Some(positional_text(*value)),
        _ => None,
    }
}

fn floating(clause: &Clause, value: f64) -> String {
    if !value.is_finite() {
        return positional_text(value);
    }
    let precision = clause.precision;
    if clause.letter == 'f' {
        return format!("{value:.precision$}");
    }
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, magnitude) = match exponent.strip_prefix('-') {
        Some(magnitude) => ('-', magnitude),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{magnitude:0>2}")
}

/// A minus sign, if any, before the digits of the magnitude.
fn signed(value: &Value<'_>, digits: impl Fn(u64) -> String) -> Option<String> {
    match value {
        Value::Int(value) if *value < 0 => Some(format!("-{}", digits(value.unsigned_abs()))),
        Value::Int(value) => Some(digits(value.unsigned_abs())),
        Value::Uint(value) => Some(digits(*value)),
        _ => None,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
