//! The values of the language.
//!
//! `'a` is the event and the program: text that either of them holds is
//! borrowed, text that an evaluation makes is shared. A clone therefore copies
//! a pointer or counts a reference, and never copies text.

pub mod address;
pub(crate) mod decimal;
pub mod error;
pub mod limits;
pub mod map;
pub(crate) mod meter;
pub mod time;
pub(crate) mod work;

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::value::address::{Address, Network};
use crate::value::map::Map;

/// Text that is borrowed from the event or program, or shared when built.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl<'a> Text<'a> {
    /// A text of its own.
    pub fn shared(text: &str) -> Self {
        Self::Shared(Arc::from(text))
    }

    /// The part of the text in a byte range; borrowed where the whole is.
    /// A range outside the text, or inside a character, is empty text.
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Borrowed(text) => Self::Borrowed(text.get(range).unwrap_or_default()),
            Self::Shared(text) => Self::Shared(Arc::from(text.get(range).unwrap_or_default())),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(Arc::from(text))
    }
}

#[derive(Clone, Debug)]
pub enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<[u8]>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Bytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(Arc::from(bytes))
    }
}

#[derive(Clone, Debug)]
pub enum List<'a> {
    Borrowed(&'a [Value<'a>]),
    Shared(Arc<[Value<'a>]>),
}

impl<'a> Deref for List<'a> {
    type Target = [Value<'a>];

    fn deref(&self) -> &[Value<'a>] {
        match self {
            Self::Borrowed(values) => values,
            Self::Shared(values) => values,
        }
    }
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(values: Vec<Value<'a>>) -> Self {
        Self::Shared(Arc::from(values))
    }
}

/// A map of strings to strings from the event: absent keys read as `""`.
#[derive(Clone, Debug)]
pub enum TotalMap<'a> {
    Borrowed(&'a [(&'a str, &'a str)]),
    Shared(Arc<[(Box<str>, Box<str>)]>),
}

impl<'a> TotalMap<'a> {
    /// The value of a key that is present.
    pub fn get(&self, key: &str) -> Option<Text<'a>> {
        match self {
            Self::Borrowed(entries) => entries
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| Text::Borrowed(value)),
            Self::Shared(entries) => entries
                .iter()
                .find(|(name, _)| &**name == key)
                .map(|(_, value)| Text::Shared(Arc::from(&**value))),
        }
    }

    /// The value of a key, as text of the map itself.
    #[inline]
    pub fn find(&self, key: &str) -> Option<&str> {
        match self {
            Self::Borrowed(entries) => {
                entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
            }
            Self::Shared(entries) => {
                entries.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
            }
        }
    }

    /// The entry at a position, in the order of the event.
    pub fn entry(&self, position: usize) -> Option<(Text<'a>, Text<'a>)> {
        match self {
            Self::Borrowed(entries) => entries
                .get(position)
                .map(|(key, value)| (Text::Borrowed(key), Text::Borrowed(value))),
            Self::Shared(entries) => entries.get(position).map(|(key, value)| {
                (Text::Shared(Arc::from(&**key)), Text::Shared(Arc::from(&**value)))
            }),
        }
    }

    /// The texts of the entry at a position.
    #[inline]
    pub fn pair(&self, position: usize) -> Option<(&str, &str)> {
        match self {
            Self::Borrowed(entries) => entries.get(position).copied(),
            Self::Shared(entries) => entries.get(position).map(|(key, value)| (&**key, &**value)),
        }
    }

    /// The number of keys that are present.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(entries) => entries.len(),
            Self::Shared(entries) => entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all values.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::Borrowed(entries) => entries.iter().map(|(_, text)| text.len()).sum(),
            Self::Shared(entries) => entries.iter().map(|(_, text)| text.len()).sum(),
        }
    }
}

impl<'a> From<&'a [(&'a str, &'a str)]> for TotalMap<'a> {
    fn from(entries: &'a [(&'a str, &'a str)]) -> Self {
        Self::Borrowed(entries)
    }
}

/// Nanoseconds from the Unix epoch; the language allows years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i128);

impl Timestamp {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self(-62_135_596_800_000_000_000);
    /// The last nanosecond of the year 9999.
    pub const MAX: Self = Self(253_402_300_799_999_999_999);

    /// The moment, if the language has it.
    pub fn checked(nanoseconds: i128) -> Option<Self> {
        let moment = Self(nanoseconds);
        (Self::MIN <= moment && moment <= Self::MAX).then_some(moment)
    }
}

/// Nanoseconds; the language allows what fits 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i128);

impl Duration {
    /// The length of time, if the language has it.
    pub fn checked(nanoseconds: i128) -> Option<Self> {
        i64::try_from(nanoseconds).is_ok().then_some(Self(nanoseconds))
    }
}

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Bytes<'a>),
    List(List<'a>),
    /// An ordinary map, in the order in which it was built.
    Map(Arc<Map<'a>>),
    TotalMap(TotalMap<'a>),
    Timestamp(Timestamp),
    Duration(Duration),
    Type(Text<'a>),
    Optional(Option<Arc<Value<'a>>>),
    Ip(Address),
    Cidr(Network),
}

impl<'a> Value<'a> {
    /// The same value, borrowing what this one owns: a literal is handed out
    /// this way so that threads do not contend for its reference count.
    #[inline]
    pub fn borrow(&'a self) -> Value<'a> {
        match self {
            Self::String(text) => Self::String(Text::Borrowed(text)),
            Self::Bytes(bytes) => Self::Bytes(Bytes::Borrowed(bytes)),
            Self::List(values) => Self::List(List::Borrowed(values)),
            Self::Type(name) => Self::Type(Text::Borrowed(name)),
            other => other.clone(),
        }
    }

    /// The same value, owning all its text.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Uint(value) => Value::Uint(value),
            Self::Double(value) => Value::Double(value),
            Self::String(text) => Value::String(owned_text(text)),
            Self::Bytes(bytes) => Value::Bytes(Bytes::Shared(match bytes {
                Bytes::Borrowed(bytes) => Arc::from(bytes),
                Bytes::Shared(bytes) => bytes,
            })),
            Self::List(values) => Value::List(
                values.iter().map(|value| value.clone().into_owned()).collect::<Vec<_>>().into(),
            ),
            Self::Map(map) => Value::Map(Arc::new(Map::from_unique(
                map.iter()
                    .map(|(key, value)| (key.clone().into_owned(), value.clone().into_owned()))
                    .collect(),
            ))),
            Self::TotalMap(map) => Value::TotalMap(TotalMap::Shared(match map {
                TotalMap::Borrowed(entries) => entries
                    .iter()
                    .map(|(key, value)| (Box::from(*key), Box::from(*value)))
                    .collect(),
                TotalMap::Shared(entries) => entries,
            })),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Duration(value) => Value::Duration(value),
            Self::Type(name) => Value::Type(owned_text(name)),
            Self::Optional(value) => {
                Value::Optional(value.map(|value| Arc::new(Value::clone(&value).into_owned())))
            }
            Self::Ip(address) => Value::Ip(address),
            Self::Cidr(network) => Value::Cidr(network),
        }
    }

    /// A string value from any text.
    pub fn text(text: impl Into<Text<'a>>) -> Self {
        Self::String(text.into())
    }

    /// The text of a string value.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// An optional that holds a value.
    pub fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The number of entries of a map, total or not.
    pub fn map_len(&self) -> Option<usize> {
        match self {
            Self::Map(map) => Some(map.len()),
            Self::TotalMap(map) => Some(map.len()),
            _ => None,
        }
    }

    /// The entry of a map, total or not, at a position.
    pub fn map_entry(&self, position: usize) -> Option<(Value<'a>, Value<'a>)> {
        match self {
            Self::Map(map) => map.entry(position).cloned(),
            Self::TotalMap(map) => {
                map.entry(position).map(|(key, value)| (Value::String(key), Value::String(value)))
            }
            _ => None,
        }
    }

    /// The name of the value's type, as `type(value)` gives it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) | Self::TotalMap(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
        }
    }
}

fn owned_text(text: Text<'_>) -> Text<'static> {
    Text::Shared(match text {
        Text::Borrowed(text) => Arc::from(text),
        Text::Shared(text) => text,
    })
}
