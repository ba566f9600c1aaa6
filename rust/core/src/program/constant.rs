//! Constants in trees and values in answers: VALUE of docs/canonical-tree.md.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::json::tree::{Members, Tree};
use crate::value::address::{Address, Network};
use crate::value::decimal::Decimal;
use crate::value::limits::MAX_VALUE_DEPTH;
use crate::value::map::{KeyError, Map};
use crate::value::{Duration, Text, Timestamp, Value};

const NANOSECONDS: i128 = 1_000_000_000;

/// Most parts of a value that is written. A value may hold the same list many times, so its text
/// can be far larger than its memory.
pub const MAX_PARTS: usize = 1_000_000;

/// Deepest value that is written.
const MAX_WRITTEN_DEPTH: usize = 200;

/// The reason why a VALUE was rejected, as text.
pub type Refusal = String;

/// Reads a VALUE.
///
/// # Errors
/// The JSON isn't a well-formed VALUE, or nests too deep.
pub fn read_value(json: &Tree<'_>) -> Result<Value<'static>, Refusal> {
    read(json, 0)
}

fn read(json: &Tree<'_>, depth: usize) -> Result<Value<'static>, Refusal> {
    if depth > MAX_VALUE_DEPTH {
        return Err("the value nests too deep".into());
    }
    let object = json.as_object().ok_or("a value must be an object")?;
    let kind = object.get("type").and_then(Tree::as_str).ok_or("a value must have a type")?;
    let content = object.get("value").unwrap_or(&Tree::Null);
    let inside = depth.saturating_add(1);
    match (kind, content) {
        ("null", Tree::Null) => Ok(Value::Null),
        ("optional", Tree::Null) => Ok(Value::Optional(None)),
        ("optional", inner) => Ok(Value::some(read(inner, inside)?)),
        ("bool", Tree::Bool(value)) => Ok(Value::Bool(*value)),
        ("list", Tree::Array(parts)) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| read(part, inside)).collect();
            Ok(Value::List(parts?.into()))
        }
        ("map", Tree::Array(entries)) => read_map(entries, inside),
        ("timestamp", Tree::Null) => read_nanoseconds(object)
            .and_then(Timestamp::checked)
            .map(Value::Timestamp)
            .ok_or_else(|| malformed(kind)),
        ("duration", Tree::Null) => read_nanoseconds(object)
            .and_then(Duration::checked)
            .map(Value::Duration)
            .ok_or_else(|| malformed(kind)),
        (_, Tree::String(text)) => read_scalar(kind, text).ok_or_else(|| malformed(kind)),
        _ => Err(malformed(kind)),
    }
}

fn read_map(entries: &[Tree<'_>], inside: usize) -> Result<Value<'static>, Refusal> {
    let mut map = Map::default();
    for entry in entries {
        let Some([key, value]) = entry.as_array() else {
            return Err("an entry of a map must be a pair".into());
        };
        map.insert(read(key, inside)?, read(value, inside)?).map_err(|error| match error {
            KeyError::Kind => "a key of a map must be a bool, int, uint or string",
            KeyError::Repeated => "the map has a repeated key",
        })?;
    }
    Ok(Value::Map(map.into()))
}

fn read_scalar(kind: &str, text: &str) -> Option<Value<'static>> {
    match kind {
        "string" => Some(Value::String(Text::shared(text))),
        "int" => text.parse().ok().map(Value::Int),
        "uint" => text.parse().ok().map(Value::Uint),
        "double" => read_double(text).map(Value::Double),
        "bytes" => STANDARD.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        "type" => Some(Value::Type(text.to_owned().into())),
        "ip" => Address::parse(text).map(Value::Ip),
        "cidr" => Network::parse(text).map(Value::Cidr),
        _ => None,
    }
}

fn read_double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        // Rust also reads `inf` and `nan` in any case; none of them has a digit.
        _ => text.bytes().any(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten(),
    }
}

fn read_nanoseconds(object: &Members<'_>) -> Option<i128> {
    let seconds: i64 = object.get("seconds")?.as_str()?.parse().ok()?;
    let nanos = i128::from(object.get("nanos")?.as_i64()?);
    if nanos.abs() >= NANOSECONDS {
        return None;
    }
    i128::from(seconds).checked_mul(NANOSECONDS)?.checked_add(nanos)
}

fn malformed(kind: &str) -> Refusal {
    let shown: String = kind.chars().take(40).collect();
    format!("a value of type `{shown}` is malformed")
}

/// Writes a value as VALUE in JSON, or gives None when it has more parts than
/// [`MAX_PARTS`].
pub fn write_value(value: &Value<'_>) -> Option<String> {
    let mut writer = Writer { out: String::new(), left: MAX_PARTS };
    writer.write(value, 0)?;
    Some(writer.out)
}

struct Writer {
    out: String,
    left: usize,
}

impl Writer {
    fn write(&mut self, value: &Value<'_>, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let inside = depth.checked_add(1).filter(|depth| *depth <= MAX_WRITTEN_DEPTH)?;
        match value {
            Value::Null => self.raw(r#"{"type":"null"}"#),
            Value::Bool(value) => self.raw(&format!(r#"{{"type":"bool","value":{value}}}"#)),
            Value::Int(value) => self.text("int", &value.to_string()),
            Value::Uint(value) => self.text("uint", &value.to_string()),
            Value::Double(value) => self.text("double", &double_text(*value)),
            Value::String(text) => self.text("string", text),
            Value::Bytes(bytes) => self.text("bytes", &STANDARD.encode(&**bytes)),
            Value::Type(name) => self.text("type", name),
            Value::Ip(address) => self.text("ip", &address.to_string()),
            Value::Cidr(network) => self.text("cidr", &network.to_string()),
            Value::Timestamp(Timestamp(nanoseconds)) => {
                let seconds = nanoseconds.div_euclid(NANOSECONDS);
                self.nanoseconds("timestamp", seconds, nanoseconds.rem_euclid(NANOSECONDS));
            }
            Value::Duration(Duration(nanoseconds)) => {
                let seconds = nanoseconds.checked_div(NANOSECONDS).unwrap_or_default();
                let nanos = nanoseconds.checked_rem(NANOSECONDS).unwrap_or_default();
                self.nanoseconds("duration", seconds, nanos);
            }
            Value::Optional(None) => self.raw(r#"{"type":"optional","value":null}"#),
            Value::Optional(Some(value)) => {
                self.raw(r#"{"type":"optional","value":"#);
                self.write(value, inside)?;
                self.raw("}");
            }
            Value::List(values) => {
                self.raw(r#"{"type":"list","value":["#);
                for (position, value) in values.iter().enumerate() {
                    self.separate(position);
                    self.write(value, inside)?;
                }
                self.raw("]}");
            }
            Value::Map(_) | Value::TotalMap(_) => {
                self.raw(r#"{"type":"map","value":["#);
                for position in 0..value.map_len().unwrap_or_default() {
                    self.separate(position);
                    let (key, value) = value.map_entry(position)?;
                    self.raw("[");
                    self.write(&key, inside)?;
                    self.raw(",");
                    self.write(&value, inside)?;
                    self.raw("]");
                }
                self.raw("]}");
            }
        }
        Some(())
    }

    fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn separate(&mut self, position: usize) {
        if position > 0 {
            self.out.push(',');
        }
    }

    fn text(&mut self, kind: &str, text: &str) {
        let quoted = Json::from(text);
        // Writing to a string cannot fail.
        let _ = write!(self.out, r#"{{"type":"{kind}","value":{quoted}}}"#);
    }

    fn nanoseconds(&mut self, kind: &str, seconds: i128, nanos: i128) {
        let _ = write!(self.out, r#"{{"type":"{kind}","seconds":"{seconds}","nanos":{nanos}}}"#);
    }
}

/// The shortest text that reads back to the same double, in the form that
/// Python's `repr` gives it; not finite: `NaN`, `Infinity`, `-Infinity`.
pub fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let decimal = Decimal::of(value);
    match decimal.exponent() {
        -4..=15 => {
            let text = decimal.positional();
            if text.contains('.') { text } else { text + ".0" }
        }
        _ => decimal.scientific(2),
    }
}

#[cfg(test)]
mod tests;
