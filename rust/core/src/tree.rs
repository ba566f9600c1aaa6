//! JSON as it stands in a text: strings without escapes and names are the text's own.
//!
//! Members keep their order in a plain list. The objects of a checked tree have a
//! handful of members, which are found sooner by looking through them than by a hash.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value as Json};

/// A value of JSON that borrows from its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<'t> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'t, str>),
    Array(Vec<Tree<'t>>),
    Object(Members<'t>),
}

/// The members of an object, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members<'t>(Vec<(Cow<'t, str>, Tree<'t>)>);

impl<'t> Members<'t> {
    /// What the members are.
    pub fn values(&self) -> impl Iterator<Item = &Tree<'t>> {
        self.0.iter().map(|(_, value)| value)
    }

    /// A member by its name; the last where there are several.
    pub fn get(&self, name: &str) -> Option<&Tree<'t>> {
        self.0.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value)
    }
}

impl<'t> Tree<'t> {
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(parts) => Some(parts),
            _ => None,
        }
    }

    pub const fn as_object(&self) -> Option<&Members<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The same value for [`serde`].
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number) => Json::Number(number.clone()),
            Self::String(text) => Json::from(&**text),
            Self::Array(parts) => parts.iter().map(Self::to_json).collect(),
            Self::Object(Members(members)) => {
                members.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect()
            }
        }
    }
}

/// Deepest JSON that is read. A level of a checked tree is at most three of JSON.
pub const MAX_DEPTH: usize = 512;

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Levels(MAX_DEPTH).deserialize(deserializer)
    }
}

/// Reads a value in which so many levels of arrays and objects may be.
#[derive(Clone, Copy)]
struct Levels(usize);

impl Levels {
    fn inside<E: Error>(self) -> Result<Self, E> {
        let left = self.0.checked_sub(1);
        left.map(Self).ok_or_else(|| E::custom("the JSON nests too deep"))
    }
}

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Tree<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::String(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Tree<'de>, A::Error> {
        let inside = self.inside()?;
        let mut array = Vec::new();
        while let Some(part) = parts.next_element_seed(inside)? {
            array.push(part);
        }
        Ok(Tree::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree<'de>, A::Error> {
        let inside = self.inside()?;
        let mut members = Vec::with_capacity(MEMBERS);
        while let Some(Name(name)) = entries.next_key()? {
            members.push((name, entries.next_value_seed(inside)?));
        }
        Ok(Tree::Object(Members(members)))
    }
}

/// Most objects of a tree have no more members.
const MEMBERS: usize = 5;

/// The name of a member, which `Cow` alone would copy.
struct Name<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(Levels(0))? {
            Tree::String(name) => Ok(Self(name)),
            _ => Err(D::Error::custom("a name must be a string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_without_escapes_are_those_of_the_text() {
        let text = String::from(r#"{"a": "plain", "b": "\u00e9", "c": [1, -2, 0.5, null, true]}"#);
        let tree: Tree<'_> = serde_json::from_str(&text).unwrap();
        let members = tree.as_object().unwrap();
        assert!(matches!(members.get("a"), Some(Tree::String(Cow::Borrowed("plain")))));
        assert!(matches!(members.get("b"), Some(Tree::String(Cow::Owned(text))) if text == "é"));
        assert_eq!(members.get("c").and_then(Tree::as_array).map(<[_]>::len), Some(5));
        assert_eq!(tree.to_json(), serde_json::from_str::<Json>(&text).unwrap());
    }

    #[test]
    fn the_last_of_two_members_of_a_name_counts() {
        let tree: Tree<'_> = serde_json::from_str(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(tree.as_object().and_then(|object| object.get("a")?.as_u64()), Some(2));
    }

    #[test]
    fn a_tree_nests_so_deep_and_no_deeper() {
        for (levels, is_read) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false), (100_000, false)] {
            let text = "[".repeat(levels) + &"]".repeat(levels);
            let mut reader = serde_json::Deserializer::from_str(&text);
            reader.disable_recursion_limit();
            assert_eq!(Tree::deserialize(&mut reader).is_ok(), is_read, "{levels}");
        }
    }
}
