//! Nodes for the shapes that most rules are made of, at the cost of the nodes
//! they stand for.
//!
//! A predicate answers only when nothing unusual happens: the field is there
//! and of the kind, and the budget suffices. Otherwise the nodes it stands for
//! are run, so that errors, their places and their cost need no second telling.

pub(crate) mod first_network;
pub(crate) mod nodes;
pub(crate) mod recognise;

use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::ThinArc;

use crate::evaluate::Evaluation;
use crate::event::layout::{KeySlot, LoweredSlot, Slot, TextSlot};
use crate::event::record::Record;
use crate::functions::conversions::read_double;
use crate::functions::named_lists::LiteralSet;
use crate::functions::operators::Operator;
use crate::functions::regex::clip;
use crate::predicate::first_network::FirstNetwork;
use crate::predicate::nodes::{FirstField, Packed};
use crate::program::Expr;
use crate::value::Value;
use crate::value::address::{Address, NetworkSet};
use crate::value::error::{ErrorCode, Failure};
use crate::value::meter::{Meter, units};
use crate::value::work::Work;
use tidegate_regex::Regex;
use tidegate_regex::find::has_part;

/// A test with the nodes that it stands for behind it, packed: one allocation, shared by
/// all rules of a set that say the same.
#[derive(Clone, Debug)]
pub(crate) struct Predicate(ThinArc<Test, u8>);

#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) kind: Kind,
    /// The cost of the nodes.
    pub(crate) units: u64,
}

impl Deref for Predicate {
    type Target = Test;

    #[inline]
    fn deref(&self) -> &Test {
        &self.0.header.header
    }
}

#[derive(Debug)]
pub(crate) enum Kind {
    Text {
        subject: Subject,
        test: TextTest,
    },
    AnyEntry(EntryTest),
    Number {
        text: KeySlot,
        operator: Operator,
        literal: f64,
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
    /// `"key" in request.headers` and its like.
    HasKey(KeySlot),
    Address(Box<AddressTest>),
    FirstNetwork(Box<FirstNetworkTest>),
}

impl Kind {
    /// The pattern of the test, if it has one.
    pub(crate) const fn pattern(&self) -> Option<&Regex> {
        match self {
            Self::Text { test: TextTest::Matches { pattern, .. }, .. }
            | Self::AnyEntry(EntryTest { test: TextTest::Matches { pattern, .. }, .. }) => {
                Some(pattern)
            }
            _ => None,
        }
    }
}

/// The text of a test: one of the event, as it is or in lower case.
#[derive(Clone, Copy, Debug)]
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

    /// What making the text charges.
    #[inline]
    fn units(self, length: usize) -> u64 {
        if self.lowered.is_some() { lowering_units(length) } else { 0 }
    }
}

/// What a text in lower case charges: going in and coming out.
#[inline]
const fn lowering_units(length: usize) -> u64 {
    units(length).saturating_mul(2)
}

/// A test of a text against a constant, of which the length is here: the constant is what
/// the packed nodes end with.
#[derive(Debug)]
pub(crate) enum TextTest {
    Equals(u32),
    Differs(u32),
    /// `rare` is the place of the rarest byte.
    Contains {
        length: u32,
        rare: u32,
    },
    StartsWith(u32),
    EndsWith(u32),
    Matches {
        pattern: Regex,
        length: u32,
    },
    In(Box<LiteralSet>),
}

impl TextTest {
    /// What the test charges for a text, beside its nodes.
    #[inline]
    fn units(&self, length: usize) -> u64 {
        let constant = self.constant_length();
        match self {
            Self::Equals(_) | Self::Differs(_) => units(length.min(constant)),
            Self::StartsWith(_) | Self::EndsWith(_) => units(constant),
            Self::Contains { .. } | Self::Matches { .. } => units(length.saturating_add(constant)),
            Self::In(_) => 1,
        }
    }

    /// Bytes of the constant; none for a list.
    #[inline]
    pub(crate) const fn constant_length(&self) -> usize {
        match self {
            Self::Equals(length)
            | Self::Differs(length)
            | Self::StartsWith(length)
            | Self::EndsWith(length)
            | Self::Contains { length, .. }
            | Self::Matches { length, .. } => *length as usize,
            Self::In(_) => 0,
        }
    }

    #[inline]
    fn holds(&self, text: &str, nodes: Packed<'_>, work: &mut Work) -> bool {
        let constant = || nodes.last_text(self.constant_length());
        match self {
            Self::Equals(_) => text.as_bytes() == constant(),
            Self::Differs(_) => text.as_bytes() != constant(),
            Self::Contains { rare, .. } => has_part(text, constant(), *rare as usize),
            Self::StartsWith(_) => text.as_bytes().starts_with(constant()),
            Self::EndsWith(_) => text.as_bytes().ends_with(constant()),
            Self::Matches { pattern, .. } => pattern.is_match(clip(text), work),
            Self::In(members) => members.has_text(text),
        }
    }
}

/// `map.exists(k, map[k].contains("..."))` and its like, for a map of the event.
#[derive(Debug)]
pub(crate) struct EntryTest {
    pub(crate) map: Slot,
    pub(crate) test: TextTest,
    /// Whether the test is of the text in ASCII lower case.
    pub(crate) is_lowered: bool,
}

impl EntryTest {
    /// The cost of the nodes for each entry: the entry, the call, the index, the map, the
    /// key, the constant, and the text in lower case.
    pub(crate) const fn units(&self) -> u64 {
        if self.is_lowered { 7 } else { 6 }
    }

    /// Whether the test holds for an entry, and the units up to there; None
    /// when fewer are left.
    fn answer(
        &self,
        nodes: Packed<'_>,
        record: &Record<'_>,
        meter: &mut Meter,
    ) -> Option<(bool, u64)> {
        let Value::TotalMap(entries) = record.get(self.map)? else { return None };
        let mut spent = 0_u64;
        for (_, text) in (0..entries.len()).filter_map(|position| entries.pair(position)) {
            let mut test = self.test.units(text.len());
            if self.is_lowered {
                test = test.saturating_add(lowering_units(text.len()));
            }
            spent = spent.saturating_add(self.units()).saturating_add(test);
            if spent > meter.left() || (self.is_lowered && !meter.allows(text.len())) {
                return None;
            }
            if self.holds(text, nodes, &mut meter.work) {
                return Some((true, spent));
            }
        }
        Some((false, spent))
    }

    fn holds(&self, text: &str, nodes: Packed<'_>, work: &mut Work) -> bool {
        if !self.is_lowered {
            return self.test.holds(text, nodes, work);
        }
        let mut lowered: SmallVec<[u8; 256]> = text.as_bytes().into();
        lowered.make_ascii_lowercase();
        std::str::from_utf8(&lowered).is_ok_and(|text| self.test.holds(text, nodes, work))
    }
}

/// A field that holds the text of an address.
#[derive(Clone, Copy, Debug)]
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

/// Whether an address is in one of some networks that are read as one.
#[derive(Debug)]
pub(crate) struct AddressTest {
    pub(crate) field: AddressField,
    pub(crate) networks: NetworkSet,
    /// Bytes of literals that are charged together with the text.
    pub(crate) extra_bytes: usize,
    /// The answer for text that is no address; None where that is an error.
    pub(crate) otherwise: Option<bool>,
}

/// `[...].exists(c, cidr(c).containsIP(field))`: the walk ends at the first
/// network that contains the address, and so does its cost.
#[derive(Debug)]
pub(crate) struct FirstNetworkTest {
    pub(crate) field: AddressField,
    pub(crate) networks: FirstNetwork,
    /// Units of the walk up to and with each network, texts of addresses apart.
    pub(crate) walks: Box<[u32]>,
}

impl Predicate {
    pub(crate) fn new(kind: Kind, units: u64, packed: &[u8]) -> Self {
        Self(ThinArc::from_header_and_slice(Test { kind, units }, packed))
    }

    #[inline]
    pub(crate) fn packed(&self) -> Packed<'_> {
        Packed(&self.0.slice)
    }

    /// The nodes that a predicate at a place of its text stands for.
    pub(crate) fn nodes(&self, start: u32) -> Expr {
        self.packed().unpack(start, self.kind.pattern())
    }

    /// Where the predicate lies, which is the same for those that are shared.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Whether the predicate holds, from its own test or from the nodes it stands for;
    /// `start` is where it stands in its text.
    #[inline]
    pub(crate) fn test<'a>(
        &'a self,
        start: u32,
        evaluation: &mut Evaluation<'a, '_>,
    ) -> Result<bool, Failure> {
        let record = evaluation.record;
        if let Kind::Text { subject, test } = &self.kind {
            // By far the most frequent: apart, so that nothing is handed around.
            if let Some(text) = subject.text(record) {
                let units = test.units(text.len()).saturating_add(subject.units(text.len()));
                if evaluation.meter.try_charge(self.units.saturating_add(units)) {
                    return Ok(test.holds(text, self.packed(), &mut evaluation.meter.work));
                }
            }
        } else if let Some((holds, units)) = self.answer(record, evaluation.meter)
            && evaluation.meter.try_charge(self.units.saturating_add(units))
        {
            return Ok(holds);
        }
        self.test_nodes(start, evaluation)
    }

    #[cold]
    fn test_nodes(&self, start: u32, evaluation: &mut Evaluation<'_, '_>) -> Result<bool, Failure> {
        if let Some(FirstField { slot, span, entered }) = self.packed().first_field(start)
            && evaluation.record.get(slot).is_none()
            && evaluation.meter.try_charge(entered)
        {
            return Err(Failure { code: ErrorCode::NoSuchField, span });
        }
        let nodes = self.nodes(start);
        let mut evaluation = evaluation.again();
        evaluation.test(&nodes)
    }

    /// The answer and what it costs beside the nodes.
    fn answer(&self, record: &Record<'_>, meter: &mut Meter) -> Option<(bool, u64)> {
        match &self.kind {
            Kind::Text { .. } => None,
            Kind::AnyEntry(test) => test.answer(self.packed(), record, meter),
            Kind::Number { text, operator, literal } => {
                let text = record.key(*text)?;
                let order = read_double(text).ok()?.partial_cmp(literal);
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
            Kind::HasKey(key) => Some((record.key(*key).is_some(), 0)),
            Kind::Address(test) => {
                let text = record.get(test.field.slot)?.as_str()?;
                let holds = match test.field.address(text, record) {
                    Some(address) => test.networks.contains(address),
                    None => test.otherwise?,
                };
                Some((holds, units(text.len().saturating_add(test.extra_bytes))))
            }
            Kind::FirstNetwork(test) => {
                let text = record.get(test.field.slot)?.as_str()?;
                let found = test.networks.find(test.field.address(text, record)?);
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

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use std::path::Path;

    use bumpalo::Bump;
    use serde_json::Value as Json;

    use super::*;
    use crate::functions::named_lists::Lists;
    use crate::program::{Node, Program};
    use crate::ruleset::RuleSet;
    use crate::value::limits::Limits;

    /// Predicates that no variable is bound around.
    fn each<'e>(expression: &'e Expr, take: &mut dyn FnMut(&'e Expr, &'e Predicate)) {
        match &expression.node {
            Node::Predicate(predicate) => take(expression, predicate),
            Node::Comprehension(_) | Node::Bind(_) | Node::OptionalMap(_) => {}
            _ => expression.each_child(&mut |child| each(child, take)),
        }
    }

    /// The outcome of a part of a program at a limit, and what it cost.
    fn run(part: &Expr, record: &Record<'_>, cost: u64) -> (Result<bool, Failure>, u64) {
        let lists = Lists::default();
        let mut meter = Meter::new(&Limits { cost, ..Limits::default() });
        (Program::test_part(part, record, &lists, &mut meter), meter.spent())
    }

    #[test]
    fn predicates_behave_as_the_nodes_they_stand_for_at_every_limit() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/trees.jsonl");
        let mut compared = 0;
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: Json = serde_json::from_str(line).unwrap();
            let rules = RuleSet::from_json(case["bundle"].to_string().as_bytes()).unwrap();
            let arena = Bump::new();
            let event = case["event"].as_str().unwrap();
            let Ok(record) = rules.read(event.as_bytes(), None, &arena) else { continue };
            let (_, program) = rules.rule(0).unwrap();
            each(&program.root, &mut |expression, predicate| {
                let nodes = predicate.nodes(expression.span.start);
                let (_, cost) = run(&nodes, &record, 20_000);
                for limit in (0..=cost.min(150)).chain([20_000]) {
                    let found = run(expression, &record, limit);
                    assert_eq!(found, run(&nodes, &record, limit), "{} {limit}", case["id"]);
                    compared += 1;
                }
            });
        }
        assert!(compared > 300, "{compared}");
    }
}
