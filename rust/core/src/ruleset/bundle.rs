//! The JSON that a set is made of, each program left as it is written until its turn comes: the
//! trees of a large set would be many times its text, and out of every cache when they are compiled.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Rule, not_json, read_tree, utf8};
use crate::decode::{Compiler, object, refused, text};
use crate::error::ProgramError;

/// The members of a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle<'t> {
    programs: Option<Vec<&'t RawValue>>,
    /// All others, in order.
    members: Vec<(Cow<'t, str>, &'t RawValue)>,
}

impl<'t> Bundle<'t> {
    /// Reads what is around the programs.
    ///
    /// # Errors
    /// The text is no JSON, or no object whose programs are an array.
    pub(super) fn read(text: &'t [u8]) -> Result<Self, ProgramError> {
        // What is not read yet is passed over, however deep it nests.
        serde_json::from_str(utf8(text)?).map_err(|error| not_json(&error))
    }

    /// A member beside the programs by its type; its default when it is left out.
    ///
    /// # Errors
    /// The member is of another type.
    pub(super) fn part<T: Deserialize<'t> + Default>(&self, name: &str) -> Result<T, ProgramError> {
        match self.members.iter().rev().find(|(other, _)| other == name) {
            Some((_, json)) => serde_json::from_str(json.get())
                .map_err(|error| refused(&error.to_string()).within(name)),
            None => Ok(T::default()),
        }
    }

    /// The programs with their ids.
    ///
    /// # Errors
    /// There are none, or one does not compile.
    pub(super) fn compile(&self, mut compiler: Compiler<'_>) -> Result<Box<[Rule]>, ProgramError> {
        let missing = || refused("the member is missing").within("programs");
        let compile = |json: &RawValue| {
            let envelope = read_tree(json.get().as_bytes())?;
            let program = compiler.compile(&envelope)?;
            Ok((text(object(&envelope)?, "id")?.into(), program))
        };
        let compiled = self.programs.as_ref().ok_or_else(missing)?.iter().copied().map(compile);
        let placed = |(position, rule): (usize, Result<Rule, ProgramError>)| {
            rule.map_err(|error| error.within(position).within("programs"))
        };
        compiled.enumerate().map(placed).collect()
    }
}

impl<'de> Deserialize<'de> for Bundle<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BundleVisitor)
    }
}

struct BundleVisitor;

impl<'de> Visitor<'de> for BundleVisitor {
    type Value = Bundle<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a bundle")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Bundle<'de>, A::Error> {
        let mut bundle = Bundle::default();
        while let Some(name) = entries.next_key::<Cow<'de, str>>()? {
            if name == "programs" {
                bundle.programs = Some(entries.next_value()?);
            } else {
                bundle.members.push((name, entries.next_value()?));
            }
        }
        Ok(bundle)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::layout::Layout;
    use crate::lists::Lists;

    type Fields = BTreeMap<String, String>;

    fn refusal(text: &str) -> (String, String) {
        let bundle = Bundle::read(text.as_bytes()).unwrap();
        let (mut layout, lists) = (Layout::default(), Lists::default());
        let error = bundle.compile(Compiler::new(&mut layout, &lists)).unwrap_err();
        (error.pointer, error.message)
    }

    #[test]
    fn members_come_in_any_order_and_the_last_of_a_name_counts() {
        let text = r#"{"programs": [{}], "fields": 1, "programs": [], "fields": {"y": "int"}}"#;
        let bundle = Bundle::read(text.as_bytes()).unwrap();
        let (mut layout, lists) = (Layout::default(), Lists::default());
        assert!(bundle.compile(Compiler::new(&mut layout, &lists)).unwrap().is_empty());
        let fields: Fields = bundle.part("fields").unwrap();
        assert_eq!(fields, [("y".to_owned(), "int".to_owned())].into());
    }

    #[test]
    fn a_refusal_points_to_the_program() {
        let good = r#"{"version": 1, "id": "a", "root": {"kind": "literal", "span": [0, 1],
            "value": {"type": "bool", "value": true}}}"#;
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        for (second, pointer, message) in [
            ("1", "/programs/1", "an object is needed"),
            (&*good.replace("\"id\"", "\"no\""), "/programs/1/id", "the member is missing"),
            (&*deep, "/programs/1", "the JSON nests too deep"),
        ] {
            let text = format!(r#"{{"programs": [{good}, {second}]}}"#);
            assert_eq!(refusal(&text), (pointer.to_owned(), message.to_owned()));
        }
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        for text in ["[]", "{", r#"{"programs": {}}"#, r#"{"programs": [}"#, "{} 1"] {
            let error = Bundle::read(text.as_bytes()).unwrap_err();
            assert!(error.message.starts_with("not JSON") && error.pointer.is_empty(), "{text}");
        }
        assert!(Bundle::read(br#"{"fields": 1}"#).unwrap().part::<Fields>("fields").is_err());
    }
}
