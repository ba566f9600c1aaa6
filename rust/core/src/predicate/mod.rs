//! Tests for the shapes of most rules, at the cost of the nodes they replace.
//!
//! A predicate only answers in the usual case: the field is present and of the right kind, and the
//! budget suffices. Otherwise [`crate::evaluate`] runs the nodes it replaces, so that errors,
//! their places and their cost are implemented once. The test, its constant and the places of the
//! nodes determine these; [`crate::program::nodes`] makes them.

pub(crate) mod first_network;

use std::hash::{Hash, Hasher};
use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::ThinArc;

use crate::event::layout::{KeySlot, LoweredSlot, Slot, TextSlot};
use crate::event::record::Record;
use crate::functions::conversions::read_double;
use crate::functions::named_lists::LiteralSet;
use crate::functions::operators::Operator;
use crate::functions::regex::clip;
use crate::predicate::first_network::FirstNetwork;
use crate::value::Value;
use crate::value::address::{Address, NetworkSet};
use crate::value::error::Span;
use crate::value::meter::{Meter, units};
use crate::value::work::Work;
use tidegate_regex::Regex;
use tidegate_regex::find::has_part;

/// A test with its constant behind it: one allocation, shared by all rules of a set that say
/// the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicate(ThinArc<Test, u8>);

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Test {
    pub(crate) kind: Kind,
    /// The cost of the nodes.
    pub(crate) units: u64,
    /// The places of the nodes, from the start of the predicate; a node comes after those inside
    /// it. So equal tests of many rules are equal at any place.
    pub(crate) spans: Box<[Span]>,
}

impl Deref for Predicate {
    type Target = Test;

    #[inline]
    fn deref(&self) -> &Test {
        &self.0.header.header
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Text {
        subject: Subject,
        test: TextTest,
    },
    AnyEntry(EntryTest),
    Number {
        text: KeySlot,
        operator: Operator,
        /// The bits of a double.
        literal: u64,
    },
    Integer {
        slot: Slot,
        operator: Operator,
        literal: i64,
    },
    /// `size(request.path) > 100` and its like.
    Size {
        slot: Slot,
        operator: Operator,
        literal: i64,
    },
    /// `"key" in request.headers` or `has(request.headers.key)` and their like.
    HasKey {
        key: KeySlot,
        map: Slot,
        is_member: bool,
    },
    Address(Box<AddressTest>),
    FirstNetwork(Box<FirstNetworkTest>),
}

/// Data derived from the constant of a test, and so equal wherever the constant is.
#[derive(Debug)]
pub(crate) struct OfConstant<T>(pub(crate) T);

impl<T> PartialEq for OfConstant<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for OfConstant<T> {}

impl<T> Hash for OfConstant<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The text of a test: one of the event, as it is or in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub(crate) text: TextSlot,
    pub(crate) lowered: Option<LoweredSlot>,
}

impl Subject {
    #[inline]
    fn text<'r>(self, record: &'r Record<'_>) -> Option<&'r str> {
        match self.lowered {
            Some(slot) => record.lowered(self.text, slot),
            None => record.text(self.text),
        }
    }

    /// The cost of making the text.
    #[inline]
    fn units(self, length: usize) -> u64 {
        if self.lowered.is_some() { lowering_units(length) } else { 0 }
    }
}

/// The cost of a text in lower case, as argument and result.
#[inline]
const fn lowering_units(length: usize) -> u64 {
    units(length).saturating_mul(2)
}

/// A test of a text against the constant of the predicate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextTest {
    Equals,
    Differs,
    /// The place of the rarest byte of the part.
    Contains(u32),
    StartsWith,
    EndsWith,
    Matches(Regex),
    In(OfConstant<Box<LiteralSet>>),
}

impl TextTest {
    /// The cost of the test for a text, in addition to its nodes.
    #[inline]
    fn units(&self, length: usize, constant: &[u8]) -> u64 {
        match self {
            Self::Equals | Self::Differs => units(length.min(constant.len())),
            Self::StartsWith | Self::EndsWith => units(constant.len()),
            Self::Contains(_) | Self::Matches(_) => units(length.saturating_add(constant.len())),
            Self::In(_) => 1,
        }
    }

    #[inline]
    fn holds(&self, text: &str, constant: &[u8], work: &mut Work) -> bool {
        match self {
            Self::Equals => text.as_bytes() == constant,
            Self::Differs => text.as_bytes() != constant,
            Self::Contains(rare) => has_part(text, constant, *rare as usize),
            Self::StartsWith => text.as_bytes().starts_with(constant),
            Self::EndsWith => text.as_bytes().ends_with(constant),
            Self::Matches(pattern) => pattern.is_match(clip(text), work),
            Self::In(OfConstant(members)) => members.has_text(text),
        }
    }
}

/// `map.exists(k, map[k].contains("..."))` and its like, for a map of the event.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryTest {
    pub(crate) map: Slot,
    /// The position of the variable on the stack of locals.
    pub(crate) depth: u32,
    pub(crate) test: TextTest,
    /// Whether the test takes the text in ASCII lower case.
    pub(crate) is_lowered: bool,
}

impl EntryTest {
    /// The cost of the nodes for each entry: the entry, the call, the index, the map, the
    /// key, the constant, and the text in lower case.
    pub(crate) const fn units(&self) -> u64 {
        if self.is_lowered { 7 } else { 6 }
    }

    /// Whether the test holds for an entry, and the units up to there; None if fewer are left.
    fn answer(
        &self,
        constant: &[u8],
        record: &Record<'_>,
        meter: &mut Meter,
    ) -> Option<(bool, u64)> {
        let Value::TotalMap(entries) = record.get(self.map)? else { return None };
        let mut spent = 0_u64;
        for (_, text) in (0..entries.len()).filter_map(|position| entries.pair(position)) {
            let mut test = self.test.units(text.len(), constant);
            if self.is_lowered {
                test = test.saturating_add(lowering_units(text.len()));
            }
            spent = spent.saturating_add(self.units()).saturating_add(test);
            if spent > meter.left() || (self.is_lowered && !meter.allows(text.len())) {
                return None;
            }
            if self.holds(text, constant, &mut meter.work) {
                return Some((true, spent));
            }
        }
        Some((false, spent))
    }

    fn holds(&self, text: &str, constant: &[u8], work: &mut Work) -> bool {
        if !self.is_lowered {
            return self.test.holds(text, constant, work);
        }
        let mut lowered: SmallVec<[u8; 256]> = text.as_bytes().into();
        lowered.make_ascii_lowercase();
        std::str::from_utf8(&lowered).is_ok_and(|text| self.test.holds(text, constant, work))
    }
}

/// A field that holds the text of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AddressField {
    pub(crate) slot: Slot,
    /// Whether the record has the address already, from `request.client_ip`.
    pub(crate) is_client: bool,
}

impl AddressField {
    #[inline]
    fn address(self, text: &str, record: &Record<'_>) -> Option<Address> {
        let known = if self.is_client { record.client_address() } else { None };
        known.or_else(|| Address::parse(text))
    }
}

/// A test whether an address is in one of some networks, which are read as one text.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct AddressTest {
    pub(crate) field: AddressField,
    pub(crate) networks: OfConstant<NetworkSet>,
    /// Bytes of literals that are charged together with the text.
    pub(crate) extra_bytes: usize,
    /// The answer for text that is not an address; None if that is an error.
    pub(crate) otherwise: Option<bool>,
}

/// `[...].exists(c, cidr(c).containsIP(field))`: the walk ends at the first
/// network that contains the address, and so does its cost.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FirstNetworkTest {
    pub(crate) field: AddressField,
    /// The position of the variable on the stack of locals.
    pub(crate) depth: u32,
    pub(crate) networks: OfConstant<FirstNetwork>,
    /// Units of the walk up to and with each network, texts of addresses apart.
    pub(crate) walks: Box<[u32]>,
}

impl Predicate {
    pub(crate) fn new(test: Test, constant: &str) -> Self {
        Self(ThinArc::from_header_and_slice(test, constant.as_bytes()))
    }

    /// The text of the constant, a list as JSON; empty where it is a number.
    #[inline]
    pub(crate) fn constant(&self) -> &[u8] {
        &self.0.slice
    }

    /// Whether the predicate holds; None, without a charge, if its nodes must be evaluated.
    #[inline]
    pub(crate) fn holds(&self, record: &Record<'_>, meter: &mut Meter) -> Option<bool> {
        if let Kind::Text { subject, test } = &self.kind {
            // By far the most frequent: apart, so that nothing is handed around.
            let text = subject.text(record)?;
            let constant = self.constant();
            let units = test.units(text.len(), constant).saturating_add(subject.units(text.len()));
            return meter
                .try_charge(self.units.saturating_add(units))
                .then(|| test.holds(text, constant, &mut meter.work));
        }
        let (holds, units) = self.answer(record, meter)?;
        meter.try_charge(self.units.saturating_add(units)).then_some(holds)
    }

    /// The field that the nodes read before all else, and how many are entered up to it.
    pub(crate) fn first_field(&self) -> Option<(Slot, u64)> {
        match &self.kind {
            Kind::Text { subject: Subject { text: TextSlot::Field(slot), lowered }, .. } => {
                Some((*slot, if lowered.is_some() { 3 } else { 2 }))
            }
            Kind::Integer { slot, .. } => Some((*slot, 2)),
            Kind::Size { slot, .. } => Some((*slot, 3)),
            Kind::Address(test) if test.otherwise.is_some() => Some((test.field.slot, 2)),
            _ => None,
        }
    }

    /// The answer, and its cost in addition to the nodes.
    fn answer(&self, record: &Record<'_>, meter: &mut Meter) -> Option<(bool, u64)> {
        match &self.kind {
            Kind::Text { .. } => None,
            Kind::AnyEntry(test) => test.answer(self.constant(), record, meter),
            Kind::Number { text, operator, literal } => {
                let text = record.key(*text)?;
                let order = read_double(text).ok()?.partial_cmp(&f64::from_bits(*literal));
                Some((operator.accepts(order), units(text.len())))
            }
            Kind::Integer { slot, operator, literal } => match record.get(*slot)? {
                Value::Int(value) => Some((compare(*value, *operator, *literal), 0)),
                _ => None,
            },
            Kind::Size { slot, operator, literal } => {
                let (size, units) = match record.get(*slot)? {
                    Value::String(text) => (text.chars().count(), units(text.len())),
                    Value::List(values) => (values.len(), 0),
                    Value::TotalMap(entries) => (entries.len(), 0),
                    _ => return None,
                };
                Some((compare(i64::try_from(size).ok()?, *operator, *literal), units))
            }
            Kind::HasKey { key, .. } => Some((record.key(*key).is_some(), 0)),
            Kind::Address(test) => {
                let text = record.get(test.field.slot)?.as_str()?;
                let holds = match test.field.address(text, record) {
                    Some(address) => test.networks.0.contains(address),
                    None => test.otherwise?,
                };
                Some((holds, units(text.len().saturating_add(test.extra_bytes))))
            }
            Kind::FirstNetwork(test) => {
                let text = record.get(test.field.slot)?.as_str()?;
                let found = test.networks.0.find(test.field.address(text, record)?);
                let last = found.map_or(test.walks.len().saturating_sub(1), |found| found as usize);
                let visited = last.saturating_add(1) as u64;
                let texts = visited.saturating_mul(units(text.len()));
                let walk = u64::from(*test.walks.get(last)?);
                Some((found.is_some(), walk.saturating_add(texts)))
            }
        }
    }
}

fn compare(value: i64, operator: Operator, literal: i64) -> bool {
    match operator {
        Operator::Equal => value == literal,
        Operator::NotEqual => value != literal,
        order => order.accepts(Some(value.cmp(&literal))),
    }
}
