//! Named lists of a tenant, and the members of a literal list.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde::Deserialize;

use crate::functions::phrases::Phrases;
use crate::functions::{Place, operators};
use crate::value::Value;
use crate::value::address::{Address, Network, NetworkSet};
use crate::value::error::ProgramError;
use crate::value::map::integral;

/// The content of a named list in a bundle.
#[derive(Clone, Debug, Deserialize)]
pub struct ListDefinition {
    pub kind: ListKind,
    pub entries: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    Ip,
    String,
}

/// The number of a named list in [`Lists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListIndex(usize);

/// The named lists of a tenant, outside the programs that ask them.
#[derive(Debug, Default)]
pub struct Lists {
    numbers: HashMap<String, ListIndex, RandomState>,
    lists: Vec<NamedList>,
}

#[derive(Debug)]
enum NamedList {
    Networks(NetworkSet),
    Strings(Texts),
}

/// The entries of a list of texts, which texts are compared with or searched for.
#[derive(Debug)]
struct Texts {
    entries: HashSet<Box<str>, RandomState>,
    /// Made for the first program that asks.
    phrases: Phrases,
}

impl Lists {
    /// Compiles lists by name.
    ///
    /// # Errors
    /// An entry of an address list isn't an address or network.
    pub fn new(
        definitions: impl IntoIterator<Item = (String, ListDefinition)>,
    ) -> Result<Self, ProgramError> {
        let mut lists = Self::default();
        for (name, definition) in definitions {
            let list = match definition.kind {
                ListKind::String => NamedList::Strings(Texts {
                    entries: definition.entries.into_iter().map(String::into_boxed_str).collect(),
                    phrases: Phrases::default(),
                }),
                ListKind::Ip => NamedList::Networks(read_networks(&name, &definition.entries)?),
            };
            lists.numbers.insert(name, ListIndex(lists.lists.len()));
            lists.lists.push(list);
        }
        Ok(lists)
    }

    /// The list of a name.
    pub fn find(&self, name: &str) -> Option<ListIndex> {
        self.numbers.get(name).copied()
    }

    /// Whether a list has a text; text that isn't an address is never in an address list.
    pub(crate) fn has_text(&self, list: ListIndex, text: &str) -> bool {
        match self.lists.get(list.0) {
            Some(NamedList::Strings(texts)) => texts.entries.contains(text),
            Some(NamedList::Networks(networks)) => {
                Address::parse(text).is_some_and(|address| networks.contains(address))
            }
            None => false,
        }
    }

    /// Whether a list has an address.
    pub(crate) fn has_address(&self, list: ListIndex, address: Address) -> bool {
        match self.lists.get(list.0) {
            Some(NamedList::Networks(networks)) => networks.contains(address),
            Some(NamedList::Strings(texts)) => texts.entries.contains(&*address.to_string()),
            None => false,
        }
    }

    /// Prepares a search for the phrases of a list; false for a list that isn't of texts.
    pub(crate) fn prepare(&self, list: ListIndex, place: Place) -> bool {
        let Some(NamedList::Strings(texts)) = self.lists.get(list.0) else { return false };
        texts.phrases.prepare(&texts.entries, place);
        true
    }

    /// Whether a text has a phrase of a list at a place; None for a list that isn't of texts.
    pub(crate) fn has_phrase(&self, list: ListIndex, place: Place, text: &str) -> Option<bool> {
        match self.lists.get(list.0) {
            Some(NamedList::Strings(texts)) => {
                Some(texts.phrases.are_in(&texts.entries, place, text))
            }
            _ => None,
        }
    }
}

fn read_networks(name: &str, entries: &[String]) -> Result<NetworkSet, ProgramError> {
    let read = |entry: &String| {
        Network::parse_entry(entry).ok_or_else(|| ProgramError {
            message: format!("`{entry}` is no address or network"),
            pointer: format!("/lists/{name}"),
        })
    };
    entries.iter().map(read).collect()
}

/// The members of a literal list, found without a walk. Numbers are one kind.
#[derive(Debug, Default)]
pub(crate) struct LiteralSet {
    strings: HashSet<Box<str>, RandomState>,
    /// Kept apart, since most sets have only strings.
    others: Option<Box<OtherLiterals>>,
}

/// Members that aren't strings.
#[derive(Debug, Default)]
struct OtherLiterals {
    integers: HashSet<i128, RandomState>,
    /// Doubles that aren't integers, by their bits; NaN equals nothing.
    fractions: HashSet<u64, RandomState>,
    values: Vec<Value<'static>>,
}

impl LiteralSet {
    pub(crate) fn new(values: &[Value<'static>]) -> Self {
        let mut others: Option<Box<OtherLiterals>> = None;
        for other in values.iter().filter(|value| value.as_str().is_none()) {
            others.get_or_insert_default().insert(other);
        }
        Self { strings: values.iter().filter_map(Value::as_str).map(Box::from).collect(), others }
    }

    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.strings.contains(text)
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) => self.has_text(text),
            other => self.others.as_ref().is_some_and(|others| others.contains(other)),
        }
    }
}

impl OtherLiterals {
    fn insert(&mut self, value: &Value<'static>) {
        match value {
            Value::Int(_) | Value::Uint(_) | Value::Double(_) => match number(value) {
                Number::Integer(integer) => {
                    self.integers.insert(integer);
                }
                Number::Fraction(bits) => {
                    self.fractions.insert(bits);
                }
                Number::Nothing => {}
            },
            other => self.values.push(other.clone()),
        }
    }

    fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Int(_) | Value::Uint(_) | Value::Double(_) => match number(value) {
                Number::Integer(integer) => self.integers.contains(&integer),
                Number::Fraction(bits) => self.fractions.contains(&bits),
                Number::Nothing => false,
            },
            other => self.values.iter().any(|member| operators::is_equal(member, other)),
        }
    }
}

enum Number {
    Integer(i128),
    Fraction(u64),
    Nothing,
}

fn number(value: &Value<'_>) -> Number {
    match value {
        Value::Int(value) => Number::Integer(i128::from(*value)),
        Value::Uint(value) => Number::Integer(i128::from(*value)),
        Value::Double(value) if !value.is_nan() => {
            integral(*value).map_or(Number::Fraction(value.to_bits()), Number::Integer)
        }
        _ => Number::Nothing,
    }
}

#[cfg(test)]
mod tests;
