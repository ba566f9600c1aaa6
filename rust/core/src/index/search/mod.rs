//! The searches of an index: for each part of an event, which conditions about it are true.

pub(crate) mod networks;
pub(crate) mod numbers;
pub(crate) mod text;
pub(crate) mod value_cache;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::field::Field;
use crate::event::layout::{KeySlot, Layout, Slot, Source};
use crate::event::record::Record;
use crate::functions::conversions::{int_from_text, read_double};
use crate::functions::named_lists::Lists;
use crate::index::requirements::compiled_pattern::CompiledPatterns;
use crate::index::requirements::condition::{
    Bound, Condition, NumberSource, TextSource, TextTest, order_of,
};
use crate::index::scratch::Scratch;
use crate::index::search::networks::Networks;
use crate::index::search::text::{TextSearch, TextSearchBuilder};
use crate::value::Value;
use crate::value::address::{Address, Network};

/// The searches that one event takes.
#[derive(Debug, Default)]
pub(crate) struct Searches {
    pub(super) keys: Box<[Sought<KeySlot>]>,
    pub(super) sources: Box<[Sought<TextSource>]>,
    pub(crate) texts: Box<[TextSearch]>,
    pub(super) networks: Box<[NetworkSearch]>,
    pub(super) numbers: Box<[NumberSearch]>,
    pub(super) present: Box<[(KeySlot, u32)]>,
    pub(super) flags: Box<[(Slot, u32)]>,
}

/// A text that is searched. It is small, because most are under keys that an event lacks and are
/// skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought<S> {
    pub(super) source: S,
    /// The number of the search.
    pub(super) number: u32,
    /// Whether some condition may be true of `""`.
    is_sought_in_nothing: bool,
}

#[derive(Debug)]
pub(super) struct NetworkSearch {
    pub(super) source: TextSource,
    /// Whether the record has the address already.
    is_client: bool,
    pub(super) networks: Networks,
}

#[derive(Debug)]
pub(super) struct NumberSearch {
    pub(super) source: NumberSource,
    /// Conditions `number > bound`, in ascending order of the bound.
    pub(super) above: Box<[(i64, u32)]>,
    /// Conditions `number < bound`, in descending order of the bound.
    pub(super) below: Box<[(i64, u32)]>,
    pub(super) equal: HashMap<i64, Vec<u32>, RandomState>,
}

impl Searches {
    /// Searches for conditions, which are reported by their position.
    pub(crate) fn new(
        conditions: &[&Condition],
        patterns: &CompiledPatterns,
        layout: &Layout,
    ) -> Self {
        let mut builder = Builder::new(patterns);
        for (number, condition) in (0_u32..).zip(conditions) {
            builder.add(condition, number);
        }
        builder.build(layout)
    }

    /// Leaves the conditions that are true of a record in the scratch.
    pub(crate) fn run<'a>(&'a self, record: &Record<'a>, lists: &Lists, scratch: &mut Scratch) {
        let mut search = |number: u32, text: &str| {
            if let Some(search) = self.texts.get(number as usize) {
                search.run(number as usize, text, lists, scratch);
            }
        };
        for Sought { source, number, is_sought_in_nothing } in &self.keys {
            let text = record.key(*source).unwrap_or_default();
            if !text.is_empty() || *is_sought_in_nothing {
                search(*number, text);
            }
        }
        for Sought { source, number, is_sought_in_nothing } in &self.sources {
            each_text(*source, record, |text| {
                if !text.is_empty() || *is_sought_in_nothing {
                    search(*number, text);
                }
            });
        }
        for search in &self.networks {
            search.run(record, |condition| scratch.report(condition));
        }
        for search in &self.numbers {
            search.run(record, scratch);
        }
        for (key, condition) in &self.present {
            if record.key(*key).is_some() {
                scratch.report(*condition);
            }
        }
        for (slot, condition) in &self.flags {
            if let Some(Value::Bool(true)) = record.get(*slot) {
                scratch.report(*condition);
            }
        }
    }
}

/// Calls `take` with each text of a source.
#[inline]
pub(crate) fn each_text<'r>(
    source: TextSource,
    record: &'r Record<'_>,
    mut take: impl FnMut(&'r str),
) {
    match source {
        TextSource::Key(key) => take(record.key(key).unwrap_or_default()),
        TextSource::Field(slot) => {
            if let Some(Value::String(text)) = record.get(slot) {
                take(text);
            }
        }
        TextSource::Elements(slot) => {
            if let Some(Value::List(values)) = record.get(slot) {
                values.iter().filter_map(Value::as_str).for_each(take);
            }
        }
        TextSource::Keys(slot) | TextSource::Values(slot) => {
            if let Some(Value::TotalMap(map)) = record.get(slot) {
                for (key, value) in (0..map.len()).filter_map(|position| map.pair(position)) {
                    take(if matches!(source, TextSource::Keys(_)) { key } else { value });
                }
            }
        }
    }
}

impl NetworkSearch {
    fn run(&self, record: &Record<'_>, mut report: impl FnMut(u32)) {
        if self.is_client {
            if let Some(address) = record.client_address() {
                self.networks.report(address, report);
            }
            return;
        }
        if let TextSource::Field(slot) = self.source
            && let Some(Value::Ip(address)) = record.get(slot)
        {
            return self.networks.report(*address, report);
        }
        each_text(self.source, record, |text| {
            if let Some(address) = Address::parse(text) {
                self.networks.report(address, &mut report);
            }
        });
    }
}

impl NumberSearch {
    fn run(&self, record: &Record<'_>, scratch: &mut Scratch) {
        let Scratch { local, found_too_much, .. } = scratch;
        local.clear();
        self.each_number(record, |number| match number {
            Some(number) => self.report(number, &mut |condition| local.push(condition)),
            None => {
                *found_too_much = true;
                self.report_all(&mut |condition| local.push(condition));
            }
        });
        scratch.report_local();
    }

    /// Calls `take` with each number of a source, and with None for NaN, for which a negated
    /// comparison is true. Lengths that are too small for any condition are left out.
    fn each_number(&self, record: &Record<'_>, mut take: impl FnMut(Option<i64>)) {
        let take_value = |value: Option<Value<'_>>, take: &mut dyn FnMut(Option<i64>)| match value {
            Some(Value::Int(number)) => take(Some(number)),
            Some(Value::Double(number)) => take(order_of(number)),
            _ => {}
        };
        match self.source {
            NumberSource::Int(slot) | NumberSource::Double(slot) => {
                take_value(record.get(slot).cloned(), &mut take);
            }
            NumberSource::IntOf(source) => {
                each_text(source, record, |text| take_value(int_from_text(text).ok(), &mut take));
            }
            NumberSource::DoubleOf(source) => {
                each_text(source, record, |text| {
                    take_value(read_double(text).ok().map(Value::Double), &mut take)
                });
            }
            NumberSource::LengthOf(source) => {
                // A text has at most as many code points as bytes.
                each_text(source, record, |text| {
                    if !i64::try_from(text.len()).is_ok_and(|most| self.is_too_small(most)) {
                        take(i64::try_from(text.chars().count()).ok());
                    }
                });
            }
            NumberSource::CountOf(slot) => {
                let count = match record.get(slot) {
                    Some(Value::List(values)) => Some(values.len()),
                    Some(map) => map.map_len(),
                    None => None,
                };
                if let Some(count) = count {
                    take(i64::try_from(count).ok());
                }
            }
        }
    }

    fn report(&self, number: i64, report: &mut impl FnMut(u32)) {
        for (_, condition) in self.above.iter().take_while(|(bound, _)| number > *bound) {
            report(*condition);
        }
        for (_, condition) in self.below.iter().take_while(|(bound, _)| number < *bound) {
            report(*condition);
        }
        for condition in self.equal.get(&number).into_iter().flatten() {
            report(*condition);
        }
    }

    /// Whether no condition is about this number or a lower one.
    fn is_too_small(&self, number: i64) -> bool {
        let is_above = self.above.first().is_some_and(|(bound, _)| number > *bound);
        !is_above && self.below.is_empty() && self.equal.is_empty()
    }

    fn report_all(&self, report: &mut impl FnMut(u32)) {
        let ordered = self.above.iter().chain(&self.below).map(|(_, condition)| condition);
        for condition in ordered.chain(self.equal.values().flatten()) {
            report(*condition);
        }
    }
}

struct Builder<'p> {
    patterns: &'p CompiledPatterns,
    texts: Vec<(TextSource, TextSearchBuilder)>,
    text_numbers: HashMap<TextSource, usize, RandomState>,
    networks: HashMap<TextSource, Vec<(Network, u32)>, RandomState>,
    numbers: HashMap<NumberSource, NumberSearchBuilder, RandomState>,
    present: Vec<(KeySlot, u32)>,
    flags: Vec<(Slot, u32)>,
}

#[derive(Default)]
struct NumberSearchBuilder {
    above: Vec<(i64, u32)>,
    below: Vec<(i64, u32)>,
    equal: HashMap<i64, Vec<u32>, RandomState>,
}

impl<'p> Builder<'p> {
    fn new(patterns: &'p CompiledPatterns) -> Self {
        Self {
            patterns,
            texts: Vec::new(),
            text_numbers: HashMap::default(),
            networks: HashMap::default(),
            numbers: HashMap::default(),
            present: Vec::new(),
            flags: Vec::new(),
        }
    }

    fn add(&mut self, condition: &Condition, number: u32) {
        match condition {
            Condition::Text { source, is_folded, test } => {
                self.add_text(*source, *is_folded, test, number);
            }
            Condition::Network { source, networks } => {
                let named = networks.iter().map(|network| (*network, number));
                self.networks.entry(*source).or_default().extend(named);
            }
            Condition::Number { source, bound } => {
                let search = self.numbers.entry(*source).or_default();
                match bound {
                    Bound::Above(bound) => search.above.push((*bound, number)),
                    Bound::Below(bound) => search.below.push((*bound, number)),
                    Bound::OneOf(numbers) => {
                        for each in numbers {
                            search.equal.entry(*each).or_default().push(number);
                        }
                    }
                }
            }
            Condition::Present(key) => self.present.push((*key, number)),
            Condition::True(slot) => self.flags.push((*slot, number)),
        }
    }

    fn add_text(&mut self, source: TextSource, is_folded: bool, test: &TextTest, number: u32) {
        let position = *self.text_numbers.entry(source).or_insert_with(|| {
            self.texts.push((source, TextSearchBuilder::default()));
            self.texts.len().saturating_sub(1)
        });
        if let Some((_, builder)) = self.texts.get_mut(position) {
            builder.add(test, is_folded, number, self.patterns);
        }
    }

    fn build(self, layout: &Layout) -> Searches {
        let (mut keys, mut sources, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (source, builder)) in (0_u32..).zip(self.texts) {
            let search = builder.build();
            let is_sought_in_nothing = search.finds_in_nothing();
            match source {
                TextSource::Key(source) => {
                    keys.push(Sought { source, number, is_sought_in_nothing })
                }
                source => sources.push(Sought { source, number, is_sought_in_nothing }),
            }
            texts.push(search);
        }
        let is_client = |source| match source {
            TextSource::Field(slot) => layout.source(slot) == Some(&Source::Field(Field::ClientIp)),
            _ => false,
        };
        let networks = self.networks.into_iter().map(|(source, named)| NetworkSearch {
            source,
            is_client: is_client(source),
            networks: Networks::new(named),
        });
        let numbers = self.numbers.into_iter().map(|(source, mut builder)| {
            builder.above.sort_unstable();
            builder.below.sort_unstable_by(|one, other| other.cmp(one));
            let NumberSearchBuilder { above, below, equal } = builder;
            NumberSearch { source, above: above.into(), below: below.into(), equal }
        });
        Searches {
            keys: keys.into(),
            sources: sources.into(),
            texts: texts.into(),
            networks: networks.collect(),
            numbers: numbers.collect(),
            present: self.present.into(),
            flags: self.flags.into(),
        }
    }
}

#[cfg(test)]
mod tests;
