//! The JSON that a set is made of, each program left as it is written until its turn comes: the
//! trees of a large set would be many times its text, and out of every cache when they are compiled.

use bumpalo::Bump;
use serde::de::Deserialize;

use super::{Rule, read_tree, unread, utf8};
use crate::json;
use crate::json::tree::reader;
use crate::program::decode::{Compiler, object, refused, text};
use crate::value::error::ProgramError;

/// The members of a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle<'t> {
    programs: Option<Vec<&'t str>>,
    /// All others, in order.
    members: Vec<(&'t str, &'t str)>,
}

impl<'t> Bundle<'t> {
    /// Reads what is around the programs.
    ///
    /// # Errors
    /// The text is no JSON, or no object whose programs are an array.
    pub(super) fn read(text: &'t [u8], arena: &'t Bump) -> Result<Self, ProgramError> {
        Self::parts(utf8(text)?, arena).map_err(|fault| unread(&fault))
    }

    /// Programs are passed over: each is read when it is compiled.
    fn parts(text: &'t str, arena: &'t Bump) -> json::Result<Self> {
        let mut bundle = Self::default();
        let mut reader = reader(text, arena);
        reader.entries(|reader, name| {
            if name != "programs" {
                bundle.members.push((name, reader.checked()?));
                return Ok(());
            }
            let mut programs = Vec::new();
            reader.array(|reader, _| {
                programs.push(reader.raw()?);
                Ok(())
            })?;
            bundle.programs = Some(programs);
            Ok(())
        })?;
        reader.finish()?;
        Ok(bundle)
    }

    /// A member beside the programs by its type; its default when it is left out.
    ///
    /// # Errors
    /// The member is of another type.
    pub(super) fn part<T: Deserialize<'t> + Default>(&self, name: &str) -> Result<T, ProgramError> {
        match self.members.iter().rev().find(|(other, _)| *other == name) {
            Some((_, json)) => {
                serde_json::from_str(json).map_err(|error| refused(&error.to_string()).within(name))
            }
            None => Ok(T::default()),
        }
    }

    /// The programs with their ids.
    ///
    /// # Errors
    /// There are none, or one does not compile.
    pub(super) fn compile(&self, mut compiler: Compiler<'_>) -> Result<Box<[Rule]>, ProgramError> {
        let missing = || refused("the member is missing").within("programs");
        let mut arena = Bump::new();
        let compile = |json: &str| {
            arena.reset();
            let envelope = read_tree(json.as_bytes(), &arena)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::event::layout::Layout;
    use crate::functions::named_lists::Lists;

    type Fields = BTreeMap<String, String>;

    fn refusal(text: &str) -> (String, String) {
        let arena = Bump::new();
        let bundle = Bundle::read(text.as_bytes(), &arena).unwrap();
        let (mut layout, lists) = (Layout::default(), Lists::default());
        let error = bundle.compile(Compiler::new(&mut layout, &lists)).unwrap_err();
        (error.pointer, error.message)
    }

    #[test]
    fn members_come_in_any_order_and_the_last_of_a_name_counts() {
        let text = r#"{"programs": [{}], "fields": 1, "programs": [], "fields": {"y": "int"}}"#;
        let arena = Bump::new();
        let bundle = Bundle::read(text.as_bytes(), &arena).unwrap();
        let (mut layout, lists) = (Layout::default(), Lists::default());
        assert!(bundle.compile(Compiler::new(&mut layout, &lists)).unwrap().is_empty());
        let fields: Fields = bundle.part("fields").unwrap();
        assert_eq!(fields, [("y".to_owned(), "int".to_owned())].into());
    }

    #[test]
    fn a_refusal_points_to_the_program() {
        let good = r#"{"version": 1, "id": "a", "root": {"kind": "literal", "span": [0, 1],
            "value": {"type": "bool", "value": true}}}"#;
        for (second, pointer, message) in [
            ("1", "/programs/1", "an object is needed"),
            (&*good.replace("\"id\"", "\"no\""), "/programs/1/id", "the member is missing"),
        ] {
            let text = format!(r#"{{"programs": [{good}, {second}]}}"#);
            assert_eq!(refusal(&text), (pointer.to_owned(), message.to_owned()));
        }
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        for text in ["[]", "{", r#"{"programs": {}}"#, r#"{"programs": [}"#, "{} 1"] {
            let error = Bundle::read(text.as_bytes(), &Bump::new()).unwrap_err();
            assert!(error.message.starts_with("not JSON") && error.pointer.is_empty(), "{text}");
        }
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let deep = format!(r#"{{"programs": [{deep}]}}"#);
        let error = Bundle::read(deep.as_bytes(), &Bump::new()).unwrap_err();
        assert_eq!(error.message, "the JSON nests too deep");
        let arena = Bump::new();
        assert!(
            Bundle::read(br#"{"fields": 1}"#, &arena).unwrap().part::<Fields>("fields").is_err()
        );
    }
}
