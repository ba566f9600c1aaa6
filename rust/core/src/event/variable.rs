//! Declared variables: their types, and their values in an event.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::json::pointer_step;
use crate::value::address::{Address, Network};
use crate::value::map::Map;
use crate::value::time::{parse_duration, parse_timestamp};
use crate::value::{Bytes, List, Text, Value};

/// The standard alphabet; padding may be left out, left-over bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The type of a variable that is declared in addition to the field model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableType {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    Ip,
    Cidr,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Optional(Box<Self>),
}

impl VariableType {
    /// Reads the text form of docs/canonical-tree.md.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let parsed = parse_type(&mut rest, 0)?;
        rest.is_empty().then_some(parsed)
    }

    /// Whether `null` is a value of the type; for other types it means absent.
    pub const fn has_null(&self) -> bool {
        matches!(self, Self::Dyn | Self::Null | Self::Optional(_))
    }

    /// The value in the type: text is parsed, numbers change their kind if nothing is lost. `None`
    /// if the value is not of the type.
    pub fn convert<'a>(&self, value: Value<'a>) -> Option<Value<'a>> {
        Some(match (self, value) {
            (Self::Dyn, value)
            | (Self::Null, value @ Value::Null)
            | (Self::Bool, value @ Value::Bool(_))
            | (Self::Int, value @ Value::Int(_))
            | (Self::Uint, value @ Value::Uint(_))
            | (Self::Double, value @ Value::Double(_))
            | (Self::String, value @ Value::String(_))
            | (Self::Bytes, value @ Value::Bytes(_))
            | (Self::Timestamp, value @ Value::Timestamp(_))
            | (Self::Duration, value @ Value::Duration(_))
            | (Self::Type, value @ Value::Type(_))
            | (Self::Ip, value @ Value::Ip(_))
            | (Self::Cidr, value @ Value::Cidr(_)) => value,
            (Self::Uint, Value::Int(number)) => Value::Uint(u64::try_from(number).ok()?),
            (Self::Double, Value::Int(number)) => Value::Double(double(number.to_string())?),
            (Self::Double, Value::Uint(number)) => Value::Double(double(number.to_string())?),
            (_, Value::String(text)) => self.read(&text)?,
            (Self::List(element), Value::List(values)) => {
                let values: Option<Vec<_>> =
                    values.iter().map(|value| element.convert(value.clone())).collect();
                Value::List(List::from(values?))
            }
            (Self::Map(key, value), Value::Map(map)) => convert_map(key, value, &map)?,
            (Self::Optional(_), value @ Value::Optional(None)) => value,
            (Self::Optional(inner), Value::Optional(Some(value))) => {
                Value::some(inner.convert(Value::clone(&value))?)
            }
            (Self::Optional(_), Value::Null) => Value::Optional(None),
            (Self::Optional(inner), value) => Value::some(inner.convert(value)?),
            _ => return None,
        })
    }

    /// The value of a text, for the types without a JSON form.
    fn read<'a>(&self, text: &Text<'a>) -> Option<Value<'a>> {
        Some(match self {
            Self::Bytes => Value::Bytes(Bytes::from(BASE64.decode(&**text).ok()?)),
            Self::Timestamp => Value::Timestamp(parse_timestamp(text).ok()?),
            Self::Duration => Value::Duration(parse_duration(text).ok()?),
            Self::Type => Value::Type(text.clone()),
            Self::Ip => Value::Ip(Address::parse_received(text)?),
            Self::Cidr => Value::Cidr(Network::parse_received(text)?),
            Self::Optional(inner) => Value::some(inner.convert(Value::String(text.clone()))?),
            _ => return None,
        })
    }
}

/// Whether a member of the event is the variable, or the first part of its name.
pub fn may_begin(member: &str, name: &str) -> bool {
    name.strip_prefix(member).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Finds a variable by its full name, or else by its dotted parts as a path through
/// nested objects, and gives its value with the JSON pointer to it. `null` counts as
/// absent unless the type has it.
pub fn find<'a>(
    members: &[(&str, Value<'a>)],
    name: &str,
    variable: &VariableType,
) -> Option<(Value<'a>, String)> {
    let member = |name: &str| {
        members.iter().find(|(member, _)| *member == name).map(|(_, value)| value.clone())
    };
    let (value, pointer) = match member(name) {
        Some(value) => (value, pointer_step(name)),
        None => {
            let mut parts = name.split('.');
            let mut value = member(parts.next()?)?;
            for part in parts {
                value = match value {
                    Value::Map(map) => map.get_text(part)?.clone(),
                    _ => return None,
                };
            }
            (value, name.split('.').map(pointer_step).collect())
        }
    };
    (variable.has_null() || !matches!(value, Value::Null)).then_some((value, pointer))
}

/// The double nearest to an integer, given in decimal.
fn double(decimal: String) -> Option<f64> {
    decimal.parse().ok()
}

fn convert_map<'a>(key: &VariableType, value: &VariableType, map: &Map<'a>) -> Option<Value<'a>> {
    let mut converted = Map::default();
    for (each_key, each_value) in map.iter() {
        let each_key = convert_key(key, each_key)?;
        converted.insert(each_key, value.convert(each_value.clone())?).ok()?;
    }
    Some(Value::Map(Arc::new(converted)))
}

/// The key of a map: in JSON keys are strings, so that numbers and bools are text.
fn convert_key<'a>(wanted: &VariableType, key: &Value<'a>) -> Option<Value<'a>> {
    match (wanted, key) {
        (VariableType::Int, Value::String(text)) => text.parse().map(Value::Int).ok(),
        (VariableType::Uint, Value::String(text)) => text.parse().map(Value::Uint).ok(),
        (VariableType::Bool, Value::String(text)) => text.parse().map(Value::Bool).ok(),
        _ => wanted.convert(key.clone()),
    }
}

/// Maximum depth of a type: JSON isn't deeper, so deeper types are useless.
const MAX_DEPTH: u32 = 32;

fn parse_type(rest: &mut &str, depth: u32) -> Option<VariableType> {
    let depth = depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
    let end = rest.find(['(', ')', ',']).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(end)?;
    *rest = after;
    Some(match name.trim() {
        "dyn" => VariableType::Dyn,
        "null_type" => VariableType::Null,
        "bool" => VariableType::Bool,
        "int" => VariableType::Int,
        "uint" => VariableType::Uint,
        "double" => VariableType::Double,
        "string" => VariableType::String,
        "bytes" => VariableType::Bytes,
        "timestamp" => VariableType::Timestamp,
        "duration" => VariableType::Duration,
        "net.IP" => VariableType::Ip,
        "net.CIDR" => VariableType::Cidr,
        "list" => VariableType::List(parse_argument(rest, '(', depth)?.closed(rest)?),
        "optional_type" => VariableType::Optional(parse_argument(rest, '(', depth)?.closed(rest)?),
        "type" if !rest.starts_with('(') => VariableType::Type,
        "type" => {
            parse_argument(rest, '(', depth)?.closed(rest)?;
            VariableType::Type
        }
        "map" => {
            let key = parse_argument(rest, '(', depth)?;
            let value = parse_argument(rest, ',', depth)?;
            VariableType::Map(key, value.closed(rest)?)
        }
        _ => return None,
    })
}

fn parse_argument(rest: &mut &str, opener: char, depth: u32) -> Option<Box<VariableType>> {
    *rest = rest.strip_prefix(opener)?;
    parse_type(rest, depth).map(Box::new)
}

/// A last type argument, to be followed by the closing parenthesis.
trait Closed: Sized {
    fn closed(self, rest: &mut &str) -> Option<Self>;
}

impl Closed for Box<VariableType> {
    fn closed(self, rest: &mut &str) -> Option<Self> {
        *rest = rest.strip_prefix(')')?;
        Some(self)
    }
}

#[cfg(test)]
mod tests;
