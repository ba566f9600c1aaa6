//! Rules that were changed at about the same time.
//!
//! Most have a condition that the base has as well, or one that says more. Those are looked at
//! where the search of the base found it; the others are searched for, if they are many.

use std::sync::Arc;

use crate::evaluate::Meter;
use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::event::sample::Sample;
use crate::index::{Index, Marks};
use crate::program::Program;
use crate::ruleset::prefilter::Lead;
use crate::ruleset::segment::Segment;
use crate::ruleset::{Common, Rule};

/// More rules than this are searched for, those that the search of the base leads to as well.
pub(in crate::ruleset) const LED: usize = 256;
/// Up to this number, evaluating the rules one by one beats a search of the event,
/// and sooner than an index is made.
pub(in crate::ruleset) const FEW: usize = 16;
/// The key of a rule that the set has no longer.
pub(in crate::ruleset) const NONE: u32 = u32::MAX;

/// A rule that is not in the base.
#[derive(Clone, Debug)]
pub(in crate::ruleset) struct Beside {
    pub(in crate::ruleset) rule: Rule,
    /// Conditions of the base of which one is found where the rule is true.
    found: Option<Arc<[u32]>>,
}

impl Beside {
    pub(in crate::ruleset) fn new(rule: Rule, base: &Index, layout: &Layout) -> Self {
        Self { found: base.implied(&rule.1, layout).map(Arc::from), rule }
    }
}

/// Rules by number, those that the set has still by key.
#[derive(Clone, Debug)]
pub(in crate::ruleset) struct Layer {
    pub(in crate::ruleset) segment: Arc<Segment>,
    /// The key of each rule, or [`NONE`].
    keys: Vec<u32>,
    /// Keys in order with the numbers of the rules that had them at first.
    by_key: Arc<[(u32, u32)]>,
    /// Of each rule, for those that are looked at by themselves.
    leads: Arc<[Option<Lead>]>,
    /// Of each rule, as in [`Beside`].
    found: Arc<[Option<Arc<[u32]>>]>,
    /// The conditions of the rules that are not searched for, with the rule, in its order.
    led: Arc<[(u32, u32)]>,
}

impl Layer {
    /// Of rules with their keys.
    pub(in crate::ruleset) fn of(rules: impl IntoIterator<Item = (u32, Beside)>) -> Self {
        let mut rules: Vec<(u32, Beside)> = rules.into_iter().collect();
        let are_few = rules.len() <= LED;
        let is_led = |(_, beside): &(u32, Beside)| are_few && beside.found.is_some();
        rules.sort_by_key(is_led);
        let searched = rules.partition_point(|rule| !is_led(rule));
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        let rules = rules.into_iter().map(|(key, beside)| {
            keys.push(key);
            found.push(beside.found);
            beside.rule
        });
        let mut segment = Segment::new(rules);
        segment.searched = searched;
        let leads = segment.programs.iter().map(Lead::of).collect();
        let numbered = (0..).zip(&found).skip(searched);
        let led = numbered.flat_map(|(number, found)| {
            let conditions = found.iter().flat_map(|found| found.iter());
            conditions.map(move |condition| (*condition, number))
        });
        let led = led.collect();
        let (by_key, found) = (by_key(&keys), found.into());
        Self { segment: Arc::new(segment), keys, by_key, leads, found, led }
    }

    /// The same rules, each with the key that it is given, or [`NONE`].
    pub(in crate::ruleset) fn renewed(&self, renewed: impl FnMut((usize, &u32)) -> u32) -> Self {
        let keys: Vec<u32> = self.keys.iter().enumerate().map(renewed).collect();
        Self { by_key: by_key(&keys), keys, ..self.clone() }
    }

    pub(in crate::ruleset) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it waits to be made one with others in the background.
    pub(in crate::ruleset) fn is_plain(&self) -> bool {
        self.segment.made().is_none()
    }

    /// The keys that the set has still, with the numbers of their rules.
    pub(in crate::ruleset) fn numbers(&self) -> impl Iterator<Item = (u32, usize)> {
        let numbered = self.keys.iter().copied().zip(0..);
        numbered.filter(|(key, _)| *key != NONE)
    }

    /// The rules that the set has still, with their keys.
    pub(in crate::ruleset) fn rules(&self) -> impl Iterator<Item = (u32, Beside)> {
        self.numbers().filter_map(|(key, number)| {
            let (id, program) = self.segment.rule(number)?;
            let found = self.found.get(number).cloned().flatten();
            Some((key, Beside { rule: (id.into(), program.clone()), found }))
        })
    }

    /// The number of the rule with a key.
    fn number(&self, key: u32) -> Option<usize> {
        let at = self.by_key.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let number = self.by_key.get(at)?.1 as usize;
        self.key(number).map(|_| number)
    }

    /// The rule with a key.
    pub(in crate::ruleset) fn at(&self, key: u32) -> Option<(&str, &Program)> {
        self.segment.rule(self.number(key)?)
    }

    /// Takes the rule with a key out.
    pub(in crate::ruleset) fn remove(&mut self, key: u32) {
        if let Some(key) = self.number(key).and_then(|number| self.keys.get_mut(number)) {
            *key = NONE;
        }
    }

    /// The key of the rule with an id.
    pub(in crate::ruleset) fn find(&self, id: &str) -> Option<u32> {
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
    pub(in crate::ruleset) fn prepare(&self, layout: &Layout, common: &Common) {
        if self.segment.searched > FEW {
            self.segment.index(layout, common, &Sample::default());
        }
    }

    /// Hands over the keys of the rules that are true of a record, in no order.
    pub(in crate::ruleset) fn matches<'a>(
        &'a self,
        common: &'a Common,
        record: &Record<'a>,
        found: &Marks,
        mut take: impl FnMut(u32),
    ) {
        let mut meter = Meter::new(&common.limits);
        let mut look_at = |number: usize| {
            let Some(key) = self.key(number) else { return };
            if let Some(Some(lead)) = self.leads.get(number)
                && lead.is_missing(record)
            {
                return;
            }
            let Some(program) = self.segment.programs.get(number) else { return };
            meter.reset();
            if program.test(record, &common.lists, &mut meter) == Ok(true) {
                take(key);
            }
        };
        let mut last = None;
        for (condition, number) in &*self.led {
            if found.is_marked(*condition) && last != Some(number) {
                last = Some(number);
                look_at(*number as usize);
            }
        }
        let Some(index) = self.index() else { return (0..self.segment.searched).for_each(look_at) };
        let key = |rule: u32| self.key(rule as usize);
        let take = |rules: &[u32]| rules.iter().filter_map(|rule| key(*rule)).for_each(&mut take);
        let passes = |rule| key(rule).is_some();
        let rules = self.segment.rules(common);
        index.with_scratch(|scratch| index.matches(scratch, rules, record, passes, take));
    }

    /// The index of the rules that are searched for, if they are many.
    fn index(&self) -> Option<&Index> {
        self.segment.made().filter(|_| self.segment.searched > FEW)
    }

    /// How many rules may be true of a record.
    pub(in crate::ruleset) fn candidates<'a>(
        &'a self,
        common: &'a Common,
        record: &Record<'a>,
    ) -> usize {
        let led = self.len().saturating_sub(self.segment.searched);
        let Some(index) = self.index() else { return self.len() };
        index.count_candidates(self.segment.rules(common), record).saturating_add(led)
    }
}

fn by_key(keys: &[u32]) -> Arc<[(u32, u32)]> {
    let numbered = keys.iter().copied().zip(0..).filter(|(key, _)| *key != NONE);
    let mut by_key: Vec<(u32, u32)> = numbered.collect();
    by_key.sort_unstable();
    by_key.into()
}
