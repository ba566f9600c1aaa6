//! Changing a few of many rules: what was changed lies in layers beside the large base, which
//! is shared, until all are merged. The newest layer is so small that it needs no index; the
//! others are made one in the background, and so is a new base of all where much has changed.

pub(crate) mod compaction;
pub(crate) mod layer;
pub(crate) mod rule_order;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use bumpalo::Bump;
use foldhash::fast::RandomState;

use super::bundle::Bundle;
use super::incremental::compaction::{Merge, Merged, Setting};
use super::incremental::layer::{Beside, FEW, Layer, NONE};
use super::incremental::rule_order::Places;
use super::segment::Segment;
use super::{Rule, RuleSet};
use crate::event::layout::Layout;
use crate::index::Index;
use crate::program::Program;
use crate::program::decode::Compiler;
use crate::value::error::ProgramError;

/// Changed rules that make a new base worth while, and the part of all rules.
const MERGED_AT: usize = 256;
const MERGED_PART: usize = 100;
/// The most layers without an index that may wait for the background; more become one with an
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
