//! Ordinary maps.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::value::Value;

/// Up to this many entries a walk beats a hash.
const WALKED_ENTRIES: usize = 8;

/// Entries in order; keys are bool, int, uint or string, each once.
#[derive(Clone, Debug, Default)]
pub struct Map<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    /// Positions in `entries` by the hash of their key; empty for a small map.
    positions: HashTable<usize>,
}

/// The identity of a key: integers of both types are one kind, and `true` is never `1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Token<'k> {
    Bool(bool),
    Number(i128),
    String(&'k str),
}

impl<'k> Token<'k> {
    /// The token of a value used as a key, or None for a value that cannot be one.
    fn of(key: &'k Value<'_>) -> Option<Self> {
        match key {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Number(i128::from(*value))),
            Value::Uint(value) => Some(Self::Number(i128::from(*value))),
            Value::String(text) => Some(Self::String(text)),
            _ => None,
        }
    }

    /// The token to look a value up by: a double with an integer value becomes that integer.
    fn to_find(key: &'k Value<'_>) -> Option<Self> {
        match key {
            Value::Double(value) => integral(*value).map(Self::Number),
            other => Self::of(other),
        }
    }

    /// A fixed seed will do: an event holds few members, a program is trusted
    /// to slow only itself, and an evaluation pays for each entry it builds.
    fn hash(self) -> u64 {
        FixedState::default().hash_one(self)
    }
}

/// The integer that a double is, when it is one that 128 bits hold.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn integral(value: f64) -> Option<i128> {
    (value.trunc() == value && value.abs() < 1e38).then_some(value as i128)
}

/// Why an entry cannot be added to a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The key isn't a bool, int, uint or string.
    Kind,
    /// The map has the key already.
    Repeated,
}

impl<'a> Map<'a> {
    /// A map of entries whose keys are known to be legal and to differ.
    pub fn from_unique(entries: Vec<(Value<'a>, Value<'a>)>) -> Self {
        let mut map = Self { entries, positions: HashTable::new() };
        if map.entries.len() > WALKED_ENTRIES {
            map.index();
        }
        map
    }

    /// Adds an entry at the end.
    ///
    /// # Errors
    /// The key is of a kind that can't be a key, or the map already has it.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> Result<(), KeyError> {
        let token = Token::of(&key).ok_or(KeyError::Kind)?;
        if self.position(token).is_some() {
            return Err(KeyError::Repeated);
        }
        let hash = token.hash();
        let position = self.entries.len();
        self.entries.push((key, value));
        if position == WALKED_ENTRIES {
            self.index();
        } else if position > WALKED_ENTRIES {
            self.add_position(hash, position);
        }
        Ok(())
    }

    /// The value of a key.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.find(Token::to_find(key)?)
    }

    /// The value of a string key.
    pub fn get_text(&self, key: &str) -> Option<&Value<'a>> {
        self.find(Token::String(key))
    }

    /// The entry at a position, in the order of the map.
    pub fn entry(&self, position: usize) -> Option<&(Value<'a>, Value<'a>)> {
        self.entries.get(position)
    }

    /// The entries in the order of the map.
    pub fn iter(&self) -> impl Iterator<Item = &(Value<'a>, Value<'a>)> {
        self.entries.iter()
    }

    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, token: Token<'_>) -> Option<&Value<'a>> {
        let (_, value) = self.entries.get(self.position(token)?)?;
        Some(value)
    }

    fn position(&self, token: Token<'_>) -> Option<usize> {
        if self.positions.is_empty() {
            return self.entries.iter().position(|(key, _)| Token::of(key) == Some(token));
        }
        let is_key = |&position: &usize| self.has_token_at(position, token);
        self.positions.find(token.hash(), is_key).copied()
    }

    fn has_token_at(&self, position: usize, token: Token<'_>) -> bool {
        self.entries.get(position).is_some_and(|(key, _)| Token::of(key) == Some(token))
    }

    fn index(&mut self) {
        self.positions.reserve(self.entries.len(), |_| 0);
        for position in 0..self.entries.len() {
            let hash = hash_at(&self.entries, position);
            self.add_position(hash, position);
        }
    }

    fn add_position(&mut self, hash: u64, position: usize) {
        let entries = &self.entries;
        self.positions.insert_unique(hash, position, |&position| hash_at(entries, position));
    }
}

fn hash_at(entries: &[(Value<'_>, Value<'_>)], position: usize) -> u64 {
    entries.get(position).and_then(|(key, _)| Token::of(key)).map_or(0, Token::hash)
}

#[cfg(test)]
mod tests;
