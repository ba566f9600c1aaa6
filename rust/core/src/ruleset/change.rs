//! Changing a few of many rules. Unchanged programs are shared. Changed ones have an index of
//! their own, the layer, until a rebuild in the background makes one index of all.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::bundle::Bundle;
use super::{Context, LayeredIndex, RuleSet};
use crate::event::layout::Layout;
use crate::program::Program;
use crate::program::decode::Compiler;
use crate::value::error::ProgramError;

/// Rules in the layer or removed from the base that make a rebuild worthwhile, and the part of all
/// rules.
const REBUILT_AT: usize = 256;
const REBUILT_PART: usize = 100;

/// The reason why a set wasn't changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The rule to remove doesn't exist.
    UnknownRule(String),
    Program(ProgramError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule(id) => write!(formatter, "there is no rule `{id}`"),
            Self::Program(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ChangeError {}

impl From<ProgramError> for ChangeError {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

impl RuleSet {
    /// The set with other rules. First it removes rules by their ids. Then rules of a bundle
    /// replace those with the same ids, or are added at the end.
    ///
    /// Only the programs of `bundle` are used; fields, lists and limits stay those of the set.
    /// Unchanged parts are shared with this set, which isn't modified, so threads that match it
    /// never wait. After many changes a background thread makes a new base for later changes.
    ///
    /// # Errors
    /// A rule to remove doesn't exist, or a program doesn't compile.
    pub fn with_changes(&self, bundle: &[u8], removed: &[&str]) -> Result<Self, ChangeError> {
        let bundle = Bundle::read(bundle)?;
        let mut layout = Layout::clone(&self.context.layout);
        let new = bundle.compile(Compiler::new(&mut layout, &self.context.environment.lists))?;
        let new = new.iter().map(|(id, program)| (&**id, program));
        let (ids, programs) = self.changed(new, removed)?;
        keep_variables(&mut layout, programs.iter());
        let context = Context { layout: Arc::new(layout), ..self.context.clone() };
        let base = self.newest.get().unwrap_or_else(|| self.index().base());
        let stated = context.stated(&programs);
        let layer = |rest: &[Program]| context.index(rest, &Default::default());
        let index = LayeredIndex::over(base, stated, layer);
        let is_much = index.layered() > REBUILT_AT.max(programs.len() / REBUILT_PART);
        let changed = Self {
            context,
            ids: ids.into(),
            programs: programs.into(),
            index: Arc::new(index.into()),
            is_changed: true,
            newest: Arc::clone(&self.newest),
        };
        if is_much {
            changed.rebuild();
        }
        Ok(changed)
    }

    /// Ids and programs after a change.
    fn changed<'s>(
        &'s self,
        new: impl Iterator<Item = (&'s str, &'s Program)>,
        removed: &[&str],
    ) -> Result<(Vec<Box<str>>, Vec<Program>), ChangeError> {
        let mut rules: Vec<Option<(&str, &Program)>> = self.rules().map(Some).collect();
        let ids = self.rules().map(|(id, _)| id);
        let mut places: HashMap<&str, usize, RandomState> = ids.zip(0..).collect();
        for id in removed {
            let place = places.remove(id);
            let rule = place.and_then(|place| rules.get_mut(place));
            *rule.ok_or_else(|| ChangeError::UnknownRule((*id).to_owned()))? = None;
        }
        for (id, program) in new {
            let place = *places.entry(id).or_insert(rules.len());
            match rules.get_mut(place) {
                Some(rule) => *rule = Some((id, program)),
                None => rules.push(Some((id, program))),
            }
        }
        let rules = rules.into_iter().flatten();
        Ok(rules.map(|(id, program)| (Box::from(id), program.clone())).unzip())
    }

    /// Starts a thread that builds one index of all rules, for this set and later changes.
    fn rebuild(&self) {
        let (context, programs) = (self.context.clone(), Arc::clone(&self.programs));
        let index = Arc::clone(&self.index);
        self.newest.in_background(move || {
            let whole = || context.whole_index(&programs, &context.sample);
            index.whole(whole).base()
        });
    }
}

/// Stops reading event variables that no program reads.
pub(crate) fn keep_variables<'p>(layout: &mut Layout, programs: impl Iterator<Item = &'p Program>) {
    if !layout.has_variable_slots() {
        return;
    }
    let mut read = HashSet::new();
    for program in programs {
        program.fields(&mut |slot| {
            read.insert(slot);
        });
    }
    layout.keep_variables(|slot| read.contains(&slot));
}

#[cfg(test)]
mod tests;
