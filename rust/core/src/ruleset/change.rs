//! Changing a few of many rules: what was changed lies in layers beside the large base, which
//! is shared, until all are merged. The newest layer is so small that it needs no index; the
//! others are made one in the background, and so is a new base of all where much has changed.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use bumpalo::Bump;
use foldhash::fast::RandomState;

use super::bundle::Bundle;
use super::layer::{Beside, FEW, Layer, NONE};
use super::merge::{Merge, Merged, Setting};
use super::places::Places;
use super::segment::Segment;
use super::{Rule, RuleSet};
use crate::decode::Compiler;
use crate::error::ProgramError;
use crate::index::Index;
use crate::layout::Layout;
use crate::program::Program;

/// Changed rules that make a new base worth while, and the part of all rules.
const MERGED_AT: usize = if cfg!(test) { 48 } else { 256 };
const MERGED_PART: usize = 100;
/// So many layers without an index may wait for the background; more become one with an
/// index at once.
const WAITING: usize = 4;

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

/// How a set differs from its base. The rules of the base have their numbers for keys.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) places: Places,
    /// A bit for each rule of the base that the set has no longer, or has in a layer.
    gone: Box<[u64]>,
    pub(super) layers: Vec<Layer>,
    /// The set as one, for its report.
    whole: OnceLock<Segment>,
    /// What is made of this set, or of one that it comes of: a new base of all, and one layer
    /// of all but the newest.
    new_base: OnceLock<Option<Arc<Merge<Merged>>>>,
    new_layer: OnceLock<Option<Arc<Merge<Layer>>>>,
}

impl Changes {
    fn none(base: &Segment) -> Self {
        Self {
            places: Places::new(base.len()),
            gone: vec![0; base.len().div_ceil(64)].into(),
            layers: Vec::new(),
            whole: OnceLock::new(),
            new_base: OnceLock::new(),
            new_layer: OnceLock::new(),
        }
    }

    /// The same with nothing on its way.
    fn copied(&self) -> Self {
        Self {
            places: self.places.clone(),
            gone: self.gone.clone(),
            layers: self.layers.clone(),
            whole: OnceLock::new(),
            new_base: OnceLock::new(),
            new_layer: OnceLock::new(),
        }
    }

    /// Whether a rule of the base is one of the set no longer.
    #[inline]
    pub(super) fn is_gone(&self, number: u32) -> bool {
        self.gone.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// The rule of the base with a key, if the set has it still.
    fn in_base<'s>(&self, base: &'s Segment, key: u32) -> Option<(&'s str, &'s Program)> {
        if self.is_gone(key) { None } else { base.rule(key as usize) }
    }

    /// The set as one.
    pub(super) fn whole(&self, base: &Segment) -> &Segment {
        let rules = || self.rules(base).into_iter().map(|(_, rule)| rule);
        self.whole.get_or_init(|| Segment::new(rules()))
    }

    /// The rule at a place.
    pub(super) fn rule<'s>(
        &'s self,
        base: &'s Segment,
        place: usize,
    ) -> Option<(&'s str, &'s Program)> {
        self.at(base, self.places.key(place)?)
    }

    /// The rule with a key.
    fn at<'s>(&'s self, base: &'s Segment, key: u32) -> Option<(&'s str, &'s Program)> {
        self.in_base(base, key).or_else(|| self.layers.iter().find_map(|layer| layer.at(key)))
    }

    /// All rules with their keys, in order.
    fn rules(&self, base: &Segment) -> Vec<(u32, Rule)> {
        let rules = self.places.keys().filter_map(|key| Some((key, self.at(base, key)?)));
        rules.map(|(key, (id, program))| (key, (id.into(), program.clone()))).collect()
    }

    /// The rules of the layers but the newest, with their keys.
    fn older_rules(&self) -> Vec<(u32, Beside)> {
        let older = self.layers.split_last().map_or(&[][..], |(_, older)| older);
        older.iter().flat_map(Layer::rules).collect()
    }

    /// All programs, in no order.
    fn programs<'s>(&'s self, base: &'s Segment) -> impl Iterator<Item = &'s Program> {
        let of_base = (0_u32..).zip(&base.programs).filter(|(number, _)| !self.is_gone(*number));
        let of_layer = |layer: &'s Layer| {
            layer.numbers().filter_map(|(_, number)| layer.segment.programs.get(number))
        };
        of_base.map(|(_, program)| program).chain(self.layers.iter().flat_map(of_layer))
    }

    /// The key of the rule with an id.
    fn find(&self, base: &Segment, id: &str) -> Option<u32> {
        let in_base = || base.find(id).filter(|number| !self.is_gone(*number));
        self.layers.iter().find_map(|layer| layer.find(id)).or_else(in_base)
    }

    /// Takes a rule out; its place is there to be filled.
    fn take_out(&mut self, key: u32) {
        set_bit(&mut self.gone, key);
        self.layers.iter_mut().for_each(|layer| layer.remove(key));
    }

    /// Puts rules in the places of those with their ids, or last.
    fn put(&mut self, base: &Segment, index: &Index, layout: &Layout, new: Box<[Rule]>) {
        let mut top: Vec<(u32, Rule)> = Vec::with_capacity(new.len());
        let mut positions: HashMap<Box<str>, usize, RandomState> = HashMap::default();
        for (id, program) in new {
            if let Some((_, (_, earlier))) = positions.get(&id).and_then(|at| top.get_mut(*at)) {
                *earlier = program;
                continue;
            }
            let key = self.find(base, &id).inspect(|key| self.take_out(*key));
            positions.insert(id.clone(), top.len());
            top.push((key.unwrap_or_else(|| self.places.push()), (id, program)));
        }
        let mut layers = std::mem::take(&mut self.layers);
        layers.retain(|layer| layer.numbers().next().is_some());
        if !top.is_empty() {
            let beside = |(key, rule)| (key, Beside::new(rule, index, layout));
            let mut top: Vec<(u32, Beside)> = top.into_iter().map(beside).collect();
            let kept = layers.len().saturating_sub(joined(&layers, top.len()));
            for layer in layers.drain(kept..) {
                top.extend(layer.rules());
            }
            layers.push(Layer::of(top));
        }
        self.layers = layers;
    }

    /// The set over a new base.
    fn over(&self, base: &Segment, merged: &Merged, end: u32, setting: &Setting) -> Self {
        let count = merged.keys.len();
        let of_base = |key: u32| u32::try_from(merged.keys.binary_search(&key).ok()?).ok();
        // What came later comes after the rules of the new base.
        let later =
            |key: u32| u32::try_from((key.checked_sub(end)? as usize).saturating_add(count)).ok();
        let renewed = |key: u32| if key < end { of_base(key) } else { later(key) };
        let mut over = Self::none(&merged.segment);
        let mut layers = self.layers.clone();
        for (number, key) in (0_u32..).zip(&merged.keys) {
            if !is_same(self.at(base, *key), merged.segment.rule(number as usize)) {
                set_bit(&mut over.gone, number);
            } else if self.in_base(base, *key).is_none() {
                layers.iter_mut().for_each(|layer| layer.remove(*key));
            }
        }
        over.places = self.places.renewed(renewed(self.places.end()).unwrap_or(NONE), renewed);
        let index = merged.segment.index(&setting.layout, &setting.common, &setting.sample);
        let beside = |(key, Beside { rule, .. })| {
            Some((renewed(key)?, Beside::new(rule, index, &setting.layout)))
        };
        let rest: Vec<_> = layers.iter().flat_map(Layer::rules).filter_map(beside).collect();
        if !rest.is_empty() {
            over.layers.push(Layer::of(rest));
        }
        over
    }

    /// Puts one layer in the place of those it was made of.
    fn join(&mut self, merged: &Layer) {
        let mut layers = std::mem::take(&mut self.layers);
        let moved = |(number, key): (usize, &u32)| {
            let is_it = |layer: &&mut Layer| is_same(layer.at(*key), merged.segment.rule(number));
            layers.iter_mut().find(is_it).map_or(NONE, |layer| {
                layer.remove(*key);
                *key
            })
        };
        let joined = merged.renewed(moved);
        layers.insert(0, joined);
        self.layers = layers;
    }

    /// Whether a new base is worth while.
    fn are_many(&self, base: &Segment) -> bool {
        let changed: usize = self.layers.iter().map(Layer::len).sum();
        let gone: u32 = self.gone.iter().map(|word| word.count_ones()).sum();
        changed.max(gone as usize) > MERGED_AT.max(base.len() / MERGED_PART)
    }

    /// Whether the layers but the newest are worth being one.
    fn are_split(&self) -> bool {
        match self.layers.split_last() {
            Some((_, [one])) => one.is_plain(),
            Some((_, older)) => !older.is_empty(),
            None => false,
        }
    }
}

fn set_bit(bits: &mut [u64], number: u32) {
    if let Some(word) = bits.get_mut(number as usize / 64) {
        *word |= 1 << (number % 64);
    }
}

fn is_same(one: Option<(&str, &Program)>, other: Option<(&str, &Program)>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if triomphe::Arc::ptr_eq(&one.1.root, &other.1.root))
}

/// How many of the last layers are made one with new rules: the newest until it is full, and
/// all those without an index when too many of them wait.
fn joined(layers: &[Layer], new: usize) -> usize {
    let small = layers.iter().rev().take_while(|layer| layer.is_plain()).count();
    match layers.last() {
        Some(newest) if newest.numbers().count().saturating_add(new) <= FEW => 1,
        _ if small >= WAITING => small,
        _ => 0,
    }
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
        let arena = Bump::new();
        let bundle = Bundle::read(bundle, &arena)?;
        let mut layout = Layout::clone(&self.layout);
        let compiler = Compiler::new(&mut layout, &self.common.lists);
        let new = bundle.compile(compiler)?;
        let (base, mut changes) = self.continued();
        for id in removed {
            let key = changes.find(&base, id);
            let key = key.ok_or_else(|| ChangeError::UnknownRule((*id).to_owned()))?;
            changes.take_out(key);
            changes.places.remove(key);
        }
        let index = base.index(&self.layout, &self.common, &self.sample);
        changes.put(&base, index, &layout, new);
        keep_variables(&mut layout, changes.programs(&base));
        // Readers have the old one at hand.
        let is_same = layout.numbers_no_more(&self.layout) && !layout.has_variable_slots();
        let layout = if is_same { Arc::clone(&self.layout) } else { Arc::new(layout) };
        for layer in &changes.layers {
            layer.prepare(&layout, &self.common);
        }
        Ok(Self {
            layout,
            common: Arc::clone(&self.common),
            sample: Arc::clone(&self.sample),
            base,
            changes: Some(changes),
        })
    }

    /// Whether a change of a few rules takes some tenths of a millisecond: no index is to be made
    /// for it, and no new base to be taken over.
    pub fn is_soon_changed(&self) -> bool {
        let has_little = |changes: &Changes| {
            let new_base = changes.new_base.get().and_then(Option::as_ref);
            let waiting = changes.layers.iter().filter(|layer| layer.is_plain()).count();
            waiting < WAITING && new_base.is_none_or(|merge| merge.merged().is_none())
        };
        self.base.made().is_some() && self.changes.as_ref().is_none_or(has_little)
    }

    /// The base and the changes that another set goes on from: what was made in the background
    /// is in place, if it is ready.
    fn continued(&self) -> (Arc<Segment>, Changes) {
        let base = &self.base;
        let Some(changes) = &self.changes else { return (Arc::clone(base), Changes::none(base)) };
        let new_base =
            self.begun(&changes.new_base, changes.are_many(base), |base, changes, setting| {
                setting.base(changes.rules(base))
            });
        if let Some(merge) = new_base
            && let Some(merged) = merge.merged()
        {
            return (
                Arc::clone(&merged.segment),
                changes.over(base, merged, merge.end, &self.setting()),
            );
        }
        let new_layer =
            self.begun(&changes.new_layer, changes.are_split(), |_, changes, setting| {
                setting.layer(changes.older_rules())
            });
        let mut next = changes.copied();
        match new_layer.map(|merge| merge.merged().ok_or(merge)) {
            Some(Ok(merged)) => next.join(merged),
            Some(Err(merge)) => next.new_layer = Some(Arc::clone(merge)).into(),
            None => {}
        }
        next.new_base = new_base.cloned().map_or_else(OnceLock::new, |merge| Some(merge).into());
        (Arc::clone(base), next)
    }

    /// What is on its way or ready, begun now if it is due; however many sets are made of this
    /// one, it is made once.
    fn begun<'m, T: Send + Sync + 'static>(
        &self,
        merge: &'m OnceLock<Option<Arc<Merge<T>>>>,
        is_due: bool,
        make: impl FnOnce(&Segment, &Changes, &Setting) -> T + Send + 'static,
    ) -> Option<&'m Arc<Merge<T>>> {
        if merge.get().is_none() && !is_due {
            return None;
        }
        let begin = || {
            let (base, changes) = (Arc::clone(&self.base), self.changes.as_ref()?.copied());
            let setting = self.setting();
            Merge::begin(changes.places.end(), move || make(&base, &changes, &setting))
        };
        merge.get_or_init(begin).as_ref()
    }

    fn setting(&self) -> Setting {
        Setting {
            layout: Arc::clone(&self.layout),
            common: Arc::clone(&self.common),
            sample: Arc::clone(&self.sample),
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
    fn a_set_without_its_index_is_not_soon_changed() {
        let first = set(&[rule("a", "x")]);
        assert!(!first.is_soon_changed());
        matches(&first, &path("x"));
        assert!(first.is_soon_changed());
        let second = first.with_changes(&bundle(&[rule("b", "y")]), &[]).unwrap();
        assert!(second.is_soon_changed());
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

    /// A set and the rules it should have.
    #[derive(Clone)]
    struct Kept {
        set: Arc<RuleSet>,
        rules: Vec<Json>,
    }

    impl Kept {
        fn new(count: usize) -> Self {
            let numbers = 0..count;
            let rules: Vec<Json> =
                numbers.map(|number| rule(&format!("r{number}"), &format!("<{number}>"))).collect();
            Self { set: Arc::new(set(&rules)), rules }
        }

        /// Changes a rule, or removes it where it is one and `new` is none. Of some rules the
        /// part is one that no rule of the first base has.
        fn change(&mut self, number: usize, new: Option<usize>) {
            let id = format!("r{number}");
            let place = self.rules.iter().position(|each| each["id"] == id.as_str());
            let part = |part: usize| match number % 3 {
                0 => format!("+{part}"),
                _ => format!("<{part}>"),
            };
            let new: Vec<Json> = new.map(|new| rule(&id, &part(new))).into_iter().collect();
            let mut removed = Vec::new();
            match (place, new.first()) {
                (Some(place), Some(new)) => self.rules[place] = new.clone(),
                (Some(place), None) => {
                    self.rules.remove(place);
                    removed.push(id.as_str());
                }
                (None, new) => self.rules.extend(new.cloned()),
            }
            self.set = Arc::new(self.set.with_changes(&bundle(&new), &removed).unwrap());
        }

        fn changes(&self) -> &Changes {
            self.set.changes.as_ref().unwrap()
        }

        fn check(&self) {
            let ids: Vec<&str> = self.rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
            let found: Vec<&str> = (0..self.set.len()).filter_map(|at| self.set.id(at)).collect();
            assert_eq!(found, ids);
            let whole = set(&self.rules);
            for event in [path("<1> <39> +6"), path("<3><31><5><7>"), path("+1 +2 +8"), path("")] {
                assert_eq!(matches(&self.set, &event), matches(&whole, &event));
            }
            assert_eq!(self.set.report().rules, ids.len());
        }
    }

    #[test]
    fn a_change_makes_only_few_rules_again() {
        let mut kept = Kept::new(40);
        for change in 0..300 {
            let new = (change % 5 != 4).then_some(change % 9);
            kept.change(change * 7 % 50, new);
            let layers = &kept.changes().layers;
            let newest = layers.last().map_or(0, Layer::len);
            assert!(newest <= FEW * (WAITING + 1), "{newest} at {change}");
            if change % 16 == 0 {
                kept.check();
            }
        }
        kept.check();
    }

    #[test]
    fn rules_that_the_base_leads_to_and_others_are_changed_at_once() {
        let kept = Kept::new(40);
        for (known, unknown) in [(10, 0), (0, 20), (10, 20), (20, 3), (30, 30)] {
            let part = |number: usize| match number {
                number if number < known => format!("<{}>", number % 7),
                number => format!("+{}", number % 7),
            };
            let changed: Vec<Json> = (0..known + unknown)
                .map(|number| rule(&format!("r{number}"), &part(number)))
                .collect();
            let set = kept.set.with_changes(&bundle(&changed), &["r39"]).unwrap();
            let layer = &set.changes.as_ref().unwrap().layers[0];
            let searched = if known + unknown > 32 { known + unknown } else { unknown };
            assert_eq!(layer.segment.searched, searched);
            let mut rules = kept.rules.clone();
            rules.remove(39);
            for new in changed {
                match rules.iter_mut().find(|rule| rule["id"] == new["id"]) {
                    Some(rule) => *rule = new,
                    None => rules.push(new),
                }
            }
            for event in [path("<1> <39> +6"), path("+1 +2 <2><30>"), path("")] {
                assert_eq!(matches(&set, &event), matches(&self::set(&rules), &event));
            }
        }
    }

    #[test]
    fn layers_become_one_in_the_background() {
        let mut kept = Kept::new(60);
        for number in 0..=FEW {
            kept.change(number, Some(7));
        }
        // Two without an index; the next change begins to merge the first, and one after it
        // finds that done.
        while kept.changes().layers.iter().all(Layer::is_plain) || kept.changes().layers.len() > 2 {
            thread::yield_now();
            kept.change(0, Some(3));
        }
        kept.check();
    }

    #[test]
    fn many_changes_end_in_a_new_base_with_the_same_answers() {
        let mut kept = Kept::new(300);
        let base = Arc::clone(&kept.set.base);
        let mut changes = 0;
        while Arc::ptr_eq(&kept.set.base, &base) {
            kept.change(changes * 11 % 320, (changes % 13 != 0).then_some(changes % 7));
            changes += 1;
            if changes > MERGED_AT {
                thread::yield_now();
            }
        }
        assert!(changes > MERGED_AT);
        kept.check();
    }

    #[test]
    fn sets_made_of_the_same_one_go_their_own_ways() {
        let mut all = vec![Kept::new(100)];
        for change in 0..600 {
            let number = change * 31 % all.len();
            all[number].change(change * 17 % 130, (change % 3 != 0).then_some(change % 41));
            if change % 100 == 50 {
                all.push(all[number].clone());
            }
            if change % 100 == 99 {
                all.iter().for_each(Kept::check);
            }
        }
    }
}
