//! The JSON of a rule set. Each program stays text until it is compiled, since the trees of a large
//! set would be many times larger than its text and wouldn't fit into caches.

use std::collections::HashMap;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use serde::de::Deserialize;
use serde_json::value::RawValue;

use super::{Rule, read_json, read_tree};
use crate::program::decode::{Compiler, object, refused, text};
use crate::value::error::ProgramError;

/// The members of a bundle; of a repeated name, the last.
#[derive(Debug)]
pub(super) struct Bundle<'t>(HashMap<String, &'t RawValue, RandomState>);

impl<'t> Bundle<'t> {
    /// Reads the members as they are written.
    ///
    /// # Errors
    /// The text isn't a JSON object.
    pub(super) fn read(text: &'t [u8]) -> Result<Self, ProgramError> {
        read_json(text).map(Self)
    }

    /// A member by its type; its default when it is left out.
    ///
    /// # Errors
    /// The member is of another type.
    pub(super) fn part<T: Deserialize<'t> + Default>(&self, name: &str) -> Result<T, ProgramError> {
        let read = |json: &&'t RawValue| {
            serde_json::from_str(json.get())
                .map_err(|error| refused(&error.to_string()).within(name))
        };
        self.0.get(name).map_or_else(|| Ok(T::default()), read)
    }

    /// The programs with their ids.
    ///
    /// # Errors
    /// The programs are missing, or one doesn't compile.
    pub(super) fn compile(&self, mut compiler: Compiler<'_>) -> Result<Vec<Rule>, ProgramError> {
        let missing = || refused("the member is missing").within("programs");
        let programs: Option<Vec<&RawValue>> = self.part("programs")?;
        let mut arena = Bump::new();
        let compile = |json: &RawValue| {
            arena.reset();
            let envelope = read_tree(json.get().as_bytes(), &arena)?;
            let program = compiler.compile(&envelope)?;
            Ok((text(object(&envelope)?, "id")?.into(), program))
        };
        let compiled = programs.ok_or_else(missing)?.into_iter().map(compile);
        let placed = |(position, rule): (usize, Result<Rule, ProgramError>)| {
            rule.map_err(|error| error.within(position).within("programs"))
        };
        compiled.enumerate().map(placed).collect()
    }
}

#[cfg(test)]
mod tests;
