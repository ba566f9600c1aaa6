//! Keys in their canonical text (docs/decision.md, "Keys").
//!
//! The text of an entity key is the number of its definition and the canonical
//! JSON array of its parts, `3["192.0.2.7",80]`: one string to hash and compare.

use crate::json::write::{push_int, write_string};

use crate::value::error::ErrorCode;
use crate::value::{Text, Value};

/// A part of a key, or a value to be counted.
#[derive(Clone, Debug)]
pub enum Part<'a> {
    Text(Text<'a>),
    /// An address or network: text that needs no escape.
    Plain(String),
    Int(i64),
    Uint(u64),
    Bool(bool),
}

impl<'a> Part<'a> {
    /// A value as a part.
    ///
    /// # Errors
    /// `no_such_overload` for a value of another kind.
    pub fn from_value(value: Value<'a>) -> Result<Self, ErrorCode> {
        Ok(match value {
            Value::String(text) => Self::Text(text),
            Value::Int(value) => Self::Int(value),
            Value::Uint(value) => i64::try_from(value).map_or(Self::Uint(value), Self::Int),
            Value::Bool(value) => Self::Bool(value),
            Value::Ip(address) => Self::Plain(address.to_string()),
            Value::Cidr(network) => Self::Plain(network.to_string()),
            _ => return Err(ErrorCode::NoSuchOverload),
        })
    }

    /// Whether the part is the empty string.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }

    /// Appends its canonical JSON.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => write_string(out, text),
            Self::Plain(text) => write_string(out, text),
            Self::Int(value) => push_int(out, *value),
            Self::Uint(value) => push_int(out, *value),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        }
    }

    /// The text by which a distinct window knows the value.
    pub fn into_text(self) -> Text<'a> {
        match self {
            Self::Text(text) => text,
            Self::Plain(text) => text.into(),
            other => {
                let mut text = String::new();
                other.write(&mut text);
                text.into()
            }
        }
    }
}

/// Writes the key of an entity part by part.
#[derive(Debug)]
pub struct KeyWriter(String);

impl KeyWriter {
    pub fn new(definition: u32) -> Self {
        let mut key = String::with_capacity(64);
        push_int(&mut key, definition);
        key.push('[');
        Self(key)
    }

    pub fn push(&mut self, part: &Part<'_>) {
        if !self.0.ends_with('[') {
            self.0.push(',');
        }
        part.write(&mut self.0);
    }

    pub fn finish(mut self) -> String {
        self.0.push(']');
        self.0
    }
}

/// The number of the definition and the JSON array of a key.
pub fn split(key: &str) -> (u32, &str) {
    let (number, parts) = key.find('[').map_or(("", key), |place| key.split_at(place));
    (number.parse().unwrap_or(u32::MAX), parts)
}

#[cfg(test)]
mod tests;
