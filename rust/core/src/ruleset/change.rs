//! Changing a few of many rules: what was changed has small indexes of its own beside the
//! large one, which is shared, until all are merged. A change makes only the smallest again.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

use foldhash::fast::RandomState;

use super::segment::{Sample, Segment};
use super::{RuleSet, read_programs, read_tree};
use crate::decode::{Compiler, object};
use crate::error::ProgramError;
use crate::program::Program;
use crate::record::Layout;

/// Changed rules that make a merge worth while, and the part of all rules.
const MERGED_AT: usize = 256;
const MERGED_PART: usize = 100;
/// Rules of the newest layer, and of the one before it, while changed ones are added to it.
const NEWEST: usize = 16;
const LAYER: usize = 128;
/// The place of a rule that the set has no longer, and the number of one that the
/// base has not.
const NONE: u32 = u32::MAX;

/// Why a set was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// There is no rule of this id to remove.
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

/// How a set differs from its base.
#[derive(Debug)]
pub(super) struct Changes {
    /// By place, the number of the rule: those of the base come first, then those of each layer.
    numbers: Box<[u32]>,
    /// The place of each rule by its number; [`NONE`] where another has taken it.
    places: Box<[u32]>,
    pub(super) layers: Vec<Layer>,
    /// The set as one, for its report.
    whole: OnceLock<Segment>,
}

/// Rules that were changed at about the same time, with an index of their own.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// The number of its first rule.
    pub(super) first: u32,
    pub(super) segment: Arc<Segment>,
}

impl Changes {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The place of a rule, if the set still has it.
    #[inline]
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        self.places.get(number as usize).copied().filter(|place| *place != NONE)
    }

    /// The set as one.
    pub(super) fn whole(&self, base: &Segment) -> &Segment {
        self.whole.get_or_init(|| combine(base, &self.layers, &self.numbers))
    }

    /// The rule at a place.
    pub(super) fn rule<'s>(
        &'s self,
        base: &'s Segment,
        place: usize,
    ) -> Option<(&'s str, &'s Program)> {
        rule(base, &self.layers, *self.numbers.get(place)?)
    }

    /// Whether a merge is worth while.
    fn are_many(&self, base: &Segment) -> bool {
        let changed = self.places.len().saturating_sub(base.len());
        let kept = self.places.iter().take(base.len()).filter(|place| **place != NONE).count();
        let gone = base.len().saturating_sub(kept);
        changed.max(gone) > MERGED_AT.max(base.len() / MERGED_PART)
    }
}

/// The rules of a set as one segment.
fn combine(base: &Segment, layers: &[Layer], numbers: &[u32]) -> Segment {
    let rules = numbers.iter().filter_map(|number| rule(base, layers, *number));
    Segment::new(rules.map(|(id, program)| (id, program.clone())))
}

fn rule<'s>(base: &'s Segment, layers: &'s [Layer], number: u32) -> Option<(&'s str, &'s Program)> {
    let of_layer = |layer: &'s Layer| layer.segment.rule(number.checked_sub(layer.first)? as usize);
    base.rule(number as usize).or_else(|| layers.iter().find_map(of_layer))
}

/// How many of the last layers are made one with new rules. The newest is made again with
/// each change until it is full, and what was full before until that is.
fn joined(layers: &[Layer], new: usize) -> usize {
    let len = |layer: &Layer| layer.segment.len();
    match layers {
        [.., newest] if len(newest).saturating_add(new) <= NEWEST => 1,
        [.., before, newest] if len(before).saturating_add(len(newest)) <= LAYER => 2,
        _ => 0,
    }
}

/// A set on its way from one state to another.
struct Draft {
    base: Arc<Segment>,
    layers: Vec<Layer>,
    /// By place, a number as in [`Changes`]; [`NONE`] where the rule is gone.
    numbers: Vec<u32>,
    /// Rules whose numbers come after those of the layers.
    new: Vec<(Box<str>, Program)>,
}

impl Draft {
    fn of(set: &RuleSet) -> Self {
        let base = Arc::clone(&set.base);
        let (numbers, layers) = match &set.changes {
            None => (numbers_from(0).take(base.len()).collect(), Vec::new()),
            Some(changes) => (changes.numbers.to_vec(), changes.layers.clone()),
        };
        Self { base, layers, numbers, new: Vec::new() }
    }

    /// The same over a new base.
    fn rebased(self, merged: Merged) -> Self {
        let mut new = Vec::new();
        let mut next = numbers_from(merged.base.len());
        let mut number = |(id, program): (&str, &Program)| {
            merged.numbers.get(&address(program)).copied().or_else(|| {
                new.push((id.into(), program.clone()));
                next.next()
            })
        };
        let rules = self.numbers.iter().filter_map(|number| self.rule(*number));
        let numbers = rules.filter_map(&mut number).collect();
        Self { base: merged.base, layers: Vec::new(), numbers, new }
    }

    /// The number of the first new rule.
    fn end(&self) -> usize {
        let layers = self.layers.iter().map(|layer| layer.segment.len());
        layers.fold(self.base.len(), usize::saturating_add)
    }

    fn rule(&self, number: u32) -> Option<(&str, &Program)> {
        let new = || self.new.get((number as usize).checked_sub(self.end())?);
        rule(&self.base, &self.layers, number).or_else(|| new().map(|(id, rule)| (&**id, rule)))
    }

    /// The place of a rule. One that is in several layers has that of the latest.
    fn find(&self, id: &str) -> Option<usize> {
        let place = |number: u32| self.numbers.iter().position(|each| *each == number);
        let position = self.new.iter().rposition(|(each, _)| **each == *id);
        let new = position.and_then(|position| self.end().checked_add(position));
        if let Some(place) = new.and_then(|number| place(u32::try_from(number).ok()?)) {
            return Some(place);
        }
        let in_layer = |layer: &Layer| place(layer.first.saturating_add(layer.segment.find(id)?));
        let in_layers = self.layers.iter().rev().find_map(in_layer);
        in_layers.or_else(|| place(self.base.find(id)?))
    }

    fn remove(&mut self, place: usize) {
        if let Some(number) = self.numbers.get_mut(place) {
            *number = NONE;
        }
    }

    /// Puts a rule in the place of that with its id, or last.
    fn put(&mut self, id: &str, program: &Program) {
        let next = self.end().saturating_add(self.new.len());
        let next = u32::try_from(next).unwrap_or(NONE);
        match self.find(id).and_then(|place| self.numbers.get_mut(place)) {
            Some(number) => *number = next,
            None => self.numbers.push(next),
        }
        self.new.push((id.into(), program.clone()));
    }

    /// What has changed from the base.
    fn changes(self) -> (Arc<Segment>, Changes) {
        let kept = self.layers.len().saturating_sub(joined(&self.layers, self.new.len()));
        let first = self.layers.get(kept).map_or_else(|| self.end(), |layer| layer.first as usize);
        let mut places = vec![NONE; first];
        let (mut numbers, mut top) =
            (Vec::with_capacity(self.numbers.len()), Vec::<(Box<str>, Program)>::new());
        let mut next = numbers_from(first);
        let numbered = self.numbers.iter().filter(|number| **number != NONE);
        for (place, number) in (0_u32..).zip(numbered) {
            if let Some(known) =
                places.get_mut(..first).and_then(|all| all.get_mut(*number as usize))
            {
                *known = place;
                numbers.push(*number);
                continue;
            }
            let rule = self.rule(*number).map(|(id, program)| (Box::from(id), program.clone()));
            top.extend(rule);
            places.push(place);
            numbers.extend(next.next());
        }
        let mut layers = self.layers;
        layers.truncate(kept);
        if !top.is_empty() {
            let first = u32::try_from(first).unwrap_or(NONE);
            layers.push(Layer { first, segment: Arc::new(Segment::new(top)) });
        }
        let changes = Changes {
            numbers: numbers.into(),
            places: places.into(),
            layers,
            whole: OnceLock::new(),
        };
        (self.base, changes)
    }
}

fn numbers_from(first: usize) -> impl Iterator<Item = u32> {
    u32::try_from(first).unwrap_or(NONE)..NONE
}

/// A new base on its way or ready, for all sets that come of one another.
#[derive(Debug, Default)]
pub(super) struct Merging(Mutex<Option<JoinHandle<Merged>>>);

/// A base, and the numbers of its rules by where their program lies.
#[derive(Debug)]
struct Merged {
    base: Arc<Segment>,
    numbers: HashMap<usize, u32, RandomState>,
}

impl Merging {
    /// The new base, once it is ready.
    fn take(&self) -> Option<Merged> {
        let mut merging = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ready = merging.as_ref().is_some_and(JoinHandle::is_finished);
        if is_ready { merging.take()?.join().ok() } else { None }
    }

    /// Begins to merge a set in a thread of its own, unless that is under way.
    fn begin(&self, set: &RuleSet, changes: &Changes) {
        let mut merging = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if merging.is_some() {
            return;
        }
        let (common, sample) = (Arc::clone(&set.common), Arc::clone(&set.sample));
        let (base, layers) = (Arc::clone(&set.base), changes.layers.clone());
        let (numbers, layout) = (changes.numbers.clone(), set.layout.clone());
        let merge = move || {
            let base = combine(&base, &layers, &numbers);
            base.index(&layout, &common, &sample);
            base.find("");
            let numbers = base.programs.iter().map(address).zip(0..).collect();
            Merged { base: Arc::new(base), numbers }
        };
        // Without a thread the set stays as it is, and the next change tries again.
        *merging = Builder::new().name("tidegate-merge".to_owned()).spawn(merge).ok();
    }
}

fn address(program: &Program) -> usize {
    triomphe::Arc::as_ptr(&program.root).addr()
}

impl RuleSet {
    /// The set with other rules: first some are removed, by their ids, then those of a
    /// bundle take the place of the rules with their ids, or are added at the end.
    ///
    /// `bundle` is one whose programs alone count; the fields, lists and limits stay
    /// those of the set. All that did not change is shared with this set, which stays
    /// as it is, so that threads that match it never wait. When much has changed,
    /// a thread in the background makes a new base that later changes build on.
    ///
    /// # Errors
    /// There is no rule of an id to remove, or a program does not compile.
    pub fn with_changes(&self, bundle: &[u8], removed: &[&str]) -> Result<Self, ChangeError> {
        let bundle = read_tree(bundle)?;
        let mut layout = self.layout.clone();
        let compiler = Compiler::new(&mut layout, &self.common.lists);
        let new = read_programs(object(&bundle)?, compiler)?;
        let mut draft = Draft::of(self);
        if let Some(merged) = self.merging.take() {
            draft = draft.rebased(merged);
        }
        for id in removed {
            let place = draft.find(id).ok_or_else(|| ChangeError::UnknownRule((*id).to_owned()))?;
            draft.remove(place);
        }
        for (id, program) in &new {
            draft.put(id, program);
        }
        let (base, changes) = draft.changes();
        let rules = (0..changes.len()).filter_map(|place| changes.rule(&base, place));
        keep_variables(&mut layout, rules.map(|(_, program)| program));
        let set = Self {
            layout,
            common: Arc::clone(&self.common),
            sample: Arc::clone(&self.sample),
            base,
            changes: Some(changes),
            merging: Arc::clone(&self.merging),
        };
        set.prepare();
        Ok(set)
    }

    /// Makes the indexes, so that no reader has to, and a new base where it pays.
    fn prepare(&self) {
        self.base.index(&self.layout, &self.common, &self.sample);
        let Some(changes) = &self.changes else { return };
        for layer in &changes.layers {
            layer.segment.index(&self.layout, &self.common, &Sample::default());
        }
        if changes.are_many(&self.base) {
            self.merging.begin(self, changes);
        }
    }
}

/// Looks at no variable of an event that no program reads any more.
fn keep_variables<'p>(layout: &mut Layout, programs: impl Iterator<Item = &'p Program>) {
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
mod tests {
    use std::thread;

    use bumpalo::Bump;
    use serde_json::{Value as Json, json};

    use super::*;

    /// `request.path.contains(part)`
    fn rule(id: &str, part: &str) -> Json {
        let arguments = [
            json!({"kind": "field", "span": [0, 1], "name": "request.path"}),
            json!({"kind": "literal", "span": [0, 1], "value": {"type": "string", "value": part}}),
        ];
        program(
            id,
            json!({"kind": "call", "span": [0, 1], "function": "contains", "member": true, "args": arguments}),
        )
    }

    fn variable(id: &str) -> Json {
        program(id, json!({"kind": "field", "span": [0, 1], "name": "flag"}))
    }

    fn program(id: &str, root: Json) -> Json {
        json!({"id": id, "version": 1, "text": "", "type": "bool", "root": root})
    }

    fn bundle(programs: &[Json]) -> Vec<u8> {
        let fields = json!({"request.path": "string", "flag": "bool"});
        json!({"version": 1, "fields": fields, "programs": programs}).to_string().into_bytes()
    }

    fn set(programs: &[Json]) -> RuleSet {
        RuleSet::from_json(&bundle(programs)).unwrap()
    }

    /// The ids that match an event; None where the event is refused.
    fn matches(set: &RuleSet, event: &str) -> Option<Vec<String>> {
        let arena = Bump::new();
        let record = set.read(event.as_bytes(), None, &arena).ok()?;
        Some(
            set.matches(&record)
                .into_iter()
                .map(|at| set.id(at as usize).unwrap().to_owned())
                .collect(),
        )
    }

    fn path(path: &str) -> String {
        json!({"request": {"path": path}}).to_string()
    }

    #[test]
    fn a_changed_rule_keeps_its_place_and_a_new_one_comes_last() {
        let first = set(&[rule("a", "x"), rule("b", "y"), rule("c", "xy")]);
        let second =
            first.with_changes(&bundle(&[rule("d", "x"), rule("a", "xyz")]), &["b"]).unwrap();
        assert_eq!(matches(&second, &path("/xyz")).unwrap(), ["a", "c", "d"]);
        assert_eq!(matches(&second, &path("/xy")).unwrap(), ["c", "d"]);
        assert_eq!(matches(&first, &path("/xy")).unwrap(), ["a", "b", "c"]);
        let third = second.with_changes(&bundle(&[rule("c", "z")]), &["c", "d"]).unwrap();
        assert_eq!(matches(&third, &path("/xyz")).unwrap(), ["a", "c"]);
        assert_eq!(third.report().rules, 2);
    }

    #[test]
    fn the_last_of_the_sets_that_share_a_base_has_it() {
        let mut first = set(&[rule("a", "x")]);
        let mut second = first.with_changes(&bundle(&[rule("b", "y")]), &[]).unwrap();
        assert!(first.take_base().is_none());
        assert_eq!(matches(&first, &path("x")).unwrap(), ["a"]);
        drop(first);
        assert!(second.take_base().is_some());
    }

    #[test]
    fn what_cannot_be_changed_leaves_the_set_as_it_was() {
        let first = set(&[rule("a", "x")]);
        let unknown = first.with_changes(&bundle(&[]), &["b"]).unwrap_err();
        assert_eq!(unknown, ChangeError::UnknownRule("b".to_owned()));
        let wrong = program("c", json!({"kind": "nothing", "span": [0, 1]}));
        let error = first.with_changes(&bundle(&[wrong]), &["a"]).unwrap_err();
        assert!(matches!(error, ChangeError::Program(_)));
        assert_eq!(matches(&first, &path("x")).unwrap(), ["a"]);
    }

    #[test]
    fn a_variable_that_nothing_reads_any_more_refuses_no_event() {
        let first = set(&[rule("a", "x"), variable("b")]);
        let event = r#"{"flag": 7, "request": {"path": "x"}}"#;
        assert_eq!(matches(&first, event), None);
        let second = first.with_changes(&bundle(&[]), &["b"]).unwrap();
        assert_eq!(matches(&second, event).unwrap(), ["a"]);
        let third = second.with_changes(&bundle(&[variable("c")]), &[]).unwrap();
        assert_eq!(matches(&third, event), None);
        assert_eq!(matches(&third, r#"{"flag": true}"#).unwrap(), ["c"]);
    }

    #[test]
    fn a_change_makes_only_few_rules_again() {
        let mut rules: Vec<Json> =
            (0..40).map(|number| rule(&format!("r{number}"), &format!("<{number}>"))).collect();
        let mut changed = set(&rules);
        let mut made = 0;
        for change in 0..200 {
            let before = changed.changes.as_ref().map_or_else(Vec::new, |all| all.layers.clone());
            let id = format!("r{}", change * 7 % 50);
            let new = rule(&id, &format!("<{}>", change % 9));
            let place = rules.iter().position(|each| each["id"] == id.as_str());
            let (new, removed) = match place {
                Some(place) if change % 5 == 4 => {
                    rules.remove(place);
                    (vec![], vec![id.as_str()])
                }
                Some(place) => {
                    rules[place] = new.clone();
                    (vec![new], vec![])
                }
                None => {
                    rules.push(new.clone());
                    (vec![new], vec![])
                }
            };
            changed = changed.with_changes(&bundle(&new), &removed).unwrap();
            let is_new = |layer: &&Layer| {
                !before.iter().any(|other| Arc::ptr_eq(&other.segment, &layer.segment))
            };
            let layers = &changed.changes.as_ref().unwrap().layers;
            made += layers.iter().filter(is_new).map(|each| each.segment.len()).sum::<usize>();
            assert!(layers.len() < 4, "{} at {change}", layers.len());
            if change % 16 == 0 {
                let whole = set(&rules);
                for event in [path("<1> <39>"), path("<3><31>"), path("")] {
                    assert_eq!(matches(&changed, &event), matches(&whole, &event), "{change}");
                }
            }
        }
        assert!(made < 200 * NEWEST, "{made}");
    }

    #[test]
    fn many_changes_end_in_a_new_base_with_the_same_answers() {
        let mut rules: Vec<Json> =
            (0..300).map(|number| rule(&format!("r{number}"), &format!("<{number}>"))).collect();
        let mut changed = set(&rules);
        let base = Arc::clone(&changed.base);
        let mut changes = 0;
        while Arc::ptr_eq(&changed.base, &base) {
            let number = changes % 300;
            rules[number] = rule(&format!("r{number}"), &format!("<{}>", changes % 7));
            changed = changed.with_changes(&bundle(&rules[number..=number]), &[]).unwrap();
            changes += 1;
            if changes > MERGED_AT {
                thread::yield_now();
            }
        }
        assert!(changes > MERGED_AT);
        assert!(changed.changes.as_ref().unwrap().places.len() < 2 * rules.len());
        for event in [path("<1> <299>"), path("<3>"), path("")] {
            assert_eq!(matches(&changed, &event), matches(&set(&rules), &event));
        }
    }
}
