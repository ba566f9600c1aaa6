//! Rules that were changed at about the same time.

use std::sync::Arc;

use super::lead::Lead;
use super::segment::Segment;
use super::{Common, Rule};
use crate::evaluate::Meter;
use crate::index::Index;
use crate::layout::Layout;
use crate::program::Program;
use crate::record::Record;
use crate::sample::Sample;

/// So many rules are evaluated one after another sooner than a search of the event is done,
/// and sooner than an index is made.
pub(super) const FEW: usize = 16;
/// The key of a rule that the set has no longer.
pub(super) const NONE: u32 = u32::MAX;

/// Rules by number, those that the set has still by key.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) segment: Arc<Segment>,
    /// The key of each rule, or [`NONE`].
    keys: Vec<u32>,
    /// Keys in order with the numbers of the rules that had them at first.
    by_key: Arc<[(u32, u32)]>,
    /// Of each rule, where they are evaluated one after another.
    leads: Arc<[Option<Lead>]>,
}

impl Layer {
    /// Of rules whose keys are given, or [`NONE`] for those that the set has not.
    pub(super) fn new(segment: Arc<Segment>, keys: Vec<u32>) -> Self {
        let numbered = keys.iter().copied().zip(0..).filter(|(key, _)| *key != NONE);
        let mut by_key: Vec<(u32, u32)> = numbered.collect();
        by_key.sort_unstable();
        let is_plain = segment.made().is_none() && segment.len() <= FEW;
        let programs = if is_plain { &*segment.programs } else { &[] };
        let leads = programs.iter().map(Lead::of).collect();
        Self { segment, keys, by_key: by_key.into(), leads }
    }

    /// The same rules with other keys.
    pub(super) fn renewed(&self, renewed: impl Fn(u32) -> Option<u32>) -> Self {
        let keys = self.keys.iter().map(|key| match *key {
            NONE => NONE,
            key => renewed(key).unwrap_or(NONE),
        });
        Self::new(Arc::clone(&self.segment), keys.collect())
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether its rules are evaluated one after another.
    pub(super) fn is_plain(&self) -> bool {
        self.segment.made().is_none()
    }

    /// The keys that the set has still, with the numbers of their rules.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (u32, usize)> {
        let numbered = self.keys.iter().copied().zip(0..);
        numbered.filter(|(key, _)| *key != NONE)
    }

    /// The rules that the set has still, with their keys.
    pub(super) fn rules(&self) -> impl Iterator<Item = (u32, Rule)> {
        self.numbers().filter_map(|(key, number)| {
            let (id, program) = self.segment.rule(number)?;
            Some((key, (id.into(), program.clone())))
        })
    }

    /// The number of the rule with a key.
    fn number(&self, key: u32) -> Option<usize> {
        let at = self.by_key.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let number = self.by_key.get(at)?.1 as usize;
        self.key(number).map(|_| number)
    }

    /// The rule with a key.
    pub(super) fn at(&self, key: u32) -> Option<(&str, &Program)> {
        self.segment.rule(self.number(key)?)
    }

    /// Takes the rule with a key out.
    pub(super) fn remove(&mut self, key: u32) {
        if let Some(key) = self.number(key).and_then(|number| self.keys.get_mut(number)) {
            *key = NONE;
        }
    }

    /// The key of the rule with an id.
    pub(super) fn find(&self, id: &str) -> Option<u32> {
        if self.is_plain() {
            let is_it = |number| self.segment.rule(number).is_some_and(|rule| rule.0 == id);
            return self.numbers().find(|(_, number)| is_it(*number)).map(|(key, _)| key);
        }
        self.key(self.segment.find(id)? as usize)
    }

    fn key(&self, number: usize) -> Option<u32> {
        self.keys.get(number).copied().filter(|key| *key != NONE)
    }

    /// Makes the index of many rules.
    pub(super) fn prepare(&self, layout: &Layout, common: &Common) {
        if self.len() > FEW {
            self.segment.index(layout, common, &Sample::default());
        }
    }

    /// Hands over the keys of the rules that are true of a record, in no order.
    pub(super) fn matches<'a>(
        &'a self,
        common: &'a Common,
        record: &Record<'a>,
        mut take: impl FnMut(u32),
    ) {
        if let Some(index) = self.segment.made() {
            let key = |rule: u32| self.key(rule as usize);
            let take =
                |rules: &[u32]| rules.iter().filter_map(|rule| key(*rule)).for_each(&mut take);
            let passes = |rule| key(rule).is_some();
            return index.matches(self.segment.rules(common), record, passes, take);
        }
        let mut meter = Meter::new(&common.limits);
        for (key, number) in self.numbers() {
            if let Some(Some(lead)) = self.leads.get(number)
                && lead.is_missing(record)
            {
                continue;
            }
            let Some(program) = self.segment.programs.get(number) else { continue };
            meter.reset();
            if program.test(record, &common.lists, &mut meter) == Ok(true) {
                take(key);
            }
        }
    }

    /// How many rules may be true of a record.
    pub(super) fn candidates<'a>(&'a self, common: &'a Common, record: &Record<'a>) -> usize {
        let count = |index: &'a Index| index.count_candidates(self.segment.rules(common), record);
        self.segment.made().map_or(self.len(), count)
    }
}
