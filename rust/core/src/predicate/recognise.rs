//! Which nodes have the shape of a [`Predicate`].

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::event::field::Field;
use crate::event::layout::{Layout, Slot, Source, TextSlot};
use crate::functions::named_lists::LiteralSet;
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::functions::{Place, Shape};
use crate::predicate::first_network::FirstNetwork;
use crate::predicate::nodes::{Packed, pack};
use crate::predicate::{
    AddressField, AddressTest, EntryTest, FirstNetworkTest, Kind, Predicate, Subject, TextTest,
};
use crate::program::prepare::literal;
use crate::program::{Call, Comprehension, Expr, Macro, Member, Node, Operation};
use crate::value::Value;
use crate::value::address::Network;
use crate::value::meter::units;
use tidegate_regex::Regex;
use tidegate_regex::find::rarest;

/// A kind of predicate with the cost of the nodes that it stands for.
type Found = Option<(Kind, u64)>;

/// The predicates of a set, each once.
#[derive(Debug, Default)]
pub(crate) struct Predicates {
    table: HashTable<Predicate>,
    hasher: RandomState,
}

impl Predicates {
    /// A predicate that others may be equal to.
    fn share(&mut self, kind: Kind, units: u64, packed: &[u8]) -> Predicate {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(packed);
        let pattern = |kind: &Kind| kind.pattern().map(Regex::address);
        let is_same = |known: &Predicate| {
            known.packed() == Packed(packed) && pattern(&known.kind) == pattern(&kind)
        };
        if let Some(known) = table.find(hash, is_same) {
            return known.clone();
        }
        let predicate = Predicate::new(kind, units, packed);
        let hash_of = |known: &Predicate| hasher.hash_one(known.packed().0);
        table.insert_unique(hash, predicate.clone(), hash_of);
        predicate
    }
}

/// The node as a predicate, where it has the shape of one.
pub(crate) fn specialise(
    expression: Expr,
    layout: &mut Layout,
    predicates: &mut Predicates,
) -> Expr {
    let found = match &expression.node {
        Node::Operator(operation) => of_operation(operation, layout),
        Node::Call(call) => of_text_call(call, layout).or_else(|| of_address_call(call, layout)),
        Node::Comprehension(comprehension) => of_comprehension(comprehension, layout),
        Node::Has(member) => of_has(member, layout),
        _ => None,
    };
    let packed = found.and_then(|found| Some((found, pack(&expression)?)));
    match packed {
        Some(((kind, units), packed)) => {
            let predicate = predicates.share(kind, units, &packed);
            debug_assert_eq!(pack(&predicate.nodes(expression.span.start)), Some(packed));
            Expr { node: Node::Predicate(predicate), ..expression }
        }
        None => expression,
    }
}

/// A text that a test can be run on, and the nodes that are entered for it.
fn subject(expression: &Expr, layout: &mut Layout) -> Option<(Subject, u64)> {
    match &expression.node {
        Node::Field(slot) => Some((Subject { text: TextSlot::Field(*slot), lowered: None }, 1)),
        Node::SectionKey(section_key) => {
            let text = TextSlot::Key(section_key.key);
            Some((Subject { text, lowered: None }, section_key.entered.len() as u64))
        }
        Node::Call(call) if call.function.shape == Shape::Lower => {
            let [operand] = &*call.arguments else { return None };
            let (Subject { text, lowered: None }, entered) = subject(operand, layout)? else {
                return None;
            };
            let lowered = Some(layout.lowered_slot(text)?);
            Some((Subject { text, lowered }, entered.saturating_add(1)))
        }
        _ => None,
    }
}

fn of_operation(operation: &Operation, layout: &mut Layout) -> Found {
    let [left, right] = &*operation.arguments else { return None };
    let operator = operation.operator;
    match (operator, literal(right)) {
        (Operator::In, None) => of_presence(left, right, layout),
        (Operator::In, Some(Value::List(values))) => {
            let (subject, entered) = subject(left, layout)?;
            let test = TextTest::In(Box::new(LiteralSet::new(values)));
            Some((Kind::Text { subject, test }, entered.saturating_add(2)))
        }
        (Operator::Equal | Operator::NotEqual, Some(Value::String(text))) => {
            let (subject, entered) = subject(left, layout)?;
            let length = u32::try_from(text.len()).ok()?;
            let test = match operator {
                Operator::Equal => TextTest::Equals(length),
                _ => TextTest::Differs(length),
            };
            Some((Kind::Text { subject, test }, entered.saturating_add(2)))
        }
        (operator, Some(Value::Int(literal))) if operator.is_comparison() => {
            of_integer(left, operator, *literal)
        }
        (operator, Some(Value::Double(literal))) if operator.is_order() => {
            of_number(left, operator, *literal)
        }
        _ => None,
    }
}

/// `field < 5` or `size(field) < 5`.
fn of_integer(left: &Expr, operator: Operator, literal: i64) -> Found {
    match &left.node {
        Node::Field(slot) => Some((Kind::Integer { slot: *slot, operator, literal }, 3)),
        Node::Call(call) => match (call.function.shape, &*call.arguments) {
            (Shape::Size, [Expr { node: Node::Field(slot), .. }]) => {
                Some((Kind::Size { slot: *slot, operator, literal }, 4))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `double(map["key"]) < 0.5`.
fn of_number(left: &Expr, operator: Operator, literal: f64) -> Found {
    let Node::Call(call) = &left.node else { return None };
    let (Shape::Double, [Expr { node: Node::SectionKey(section_key), .. }]) =
        (call.function.shape, &*call.arguments)
    else {
        return None;
    };
    let units = (section_key.entered.len() as u64).saturating_add(3);
    Some((Kind::Number { text: section_key.key, operator, literal }, units))
}

/// `"key" in map` for a map of the event.
fn of_presence(key: &Expr, map: &Expr, layout: &mut Layout) -> Found {
    let (Some(Value::String(key)), Node::Field(slot)) = (literal(key), &map.node) else {
        return None;
    };
    let (_, name, _) = layout.fields().find(|(each, _, _)| each == slot)?;
    let name = name.to_owned();
    // Three nodes, and one unit that membership of a map costs.
    Some((Kind::HasKey(layout.key_slot(&name, key)?), 4))
}

/// `has(map.key)` for a map of the event.
fn of_has(member: &Member, layout: &mut Layout) -> Found {
    let Node::Field(slot) = member.operand.node else { return None };
    let name = layout.fields().find(|(each, _, _)| *each == slot)?.1.to_owned();
    Some((Kind::HasKey(layout.key_slot(&name, &member.field)?), 2))
}

fn of_text_call(call: &Call, layout: &mut Layout) -> Found {
    let (on, test) = text_test(call)?;
    let (subject, entered) = subject(on, layout)?;
    Some((Kind::Text { subject, test }, entered.saturating_add(2)))
}

/// What a call with a constant text asks of its receiver.
fn text_test(call: &Call) -> Option<(&Expr, TextTest)> {
    let [on, argument] = &*call.arguments else { return None };
    let Value::String(part) = literal(argument)? else { return None };
    let length = u32::try_from(part.len()).ok()?;
    let test = match (call.function.shape, &call.prepared) {
        (Shape::Has(Place::Anywhere), _) => {
            TextTest::Contains { length, rare: u32::try_from(rarest(part)).ok()? }
        }
        (Shape::Has(Place::Start), _) => TextTest::StartsWith(length),
        (Shape::Has(Place::End), _) => TextTest::EndsWith(length),
        (Shape::Matches, Prepared::Patterns(patterns)) => {
            TextTest::Matches { pattern: patterns.first()?.clone(), length }
        }
        _ => return None,
    };
    Some((on, test))
}

/// `cidr("...").containsIP(field)` and `inIpRange(field, constant)`.
fn of_address_call(call: &Call, layout: &Layout) -> Found {
    let [first, second] = &*call.arguments else { return None };
    match (call.function.shape, &call.prepared) {
        (Shape::HasAddress, _) => {
            let (network, text) = constant_network(first)?;
            let field = address_field(second, layout)?;
            let test = AddressTest {
                field,
                networks: [network].into_iter().collect(),
                extra_bytes: 0,
                otherwise: None,
            };
            // This call, `cidr`, its text and the field; then the scan of that text.
            Some((Kind::Address(Box::new(test)), units(text.len()).saturating_add(4)))
        }
        (Shape::InNetworks, Prepared::Networks(networks)) => {
            let test = AddressTest {
                field: address_field(first, layout)?,
                networks: networks.clone(),
                extra_bytes: literal(second)?.as_str().map_or(0, str::len),
                otherwise: Some(false),
            };
            Some((Kind::Address(Box::new(test)), 3))
        }
        _ => None,
    }
}

/// The searches with `exists` and one variable.
fn of_comprehension(comprehension: &Comprehension, layout: &Layout) -> Found {
    if comprehension.operation != Macro::Exists || comprehension.has_two_variables {
        return None;
    }
    let Node::Call(body) = &comprehension.body.node else { return None };
    match &comprehension.range.node {
        Node::Field(map) => of_any_entry(*map, body, comprehension.depth),
        Node::Literal(literal) => match &**literal {
            Value::List(texts) => of_any_network(texts, body, comprehension.depth, layout),
            _ => None,
        },
        _ => None,
    }
}

/// `map.exists(k, map[k].contains("..."))`.
fn of_any_entry(map: Slot, body: &Call, depth: usize) -> Found {
    let (on, test) = text_test(body)?;
    let lowered = match &on.node {
        Node::Call(call) if call.function.shape == Shape::Lower => call.arguments.first(),
        _ => None,
    };
    let Node::Index(index) = &lowered.unwrap_or(on).node else { return None };
    let is_entry = matches!(index.operand.node, Node::Field(slot) if slot == map)
        && is_local(&index.index, depth)
        && !index.optional;
    let is_lowered = lowered.is_some();
    is_entry.then_some((Kind::AnyEntry(EntryTest { map, test, is_lowered }), 2))
}

/// `["...", ...].exists(c, cidr(c).containsIP(field))`.
fn of_any_network(texts: &[Value<'static>], body: &Call, depth: usize, layout: &Layout) -> Found {
    let (Shape::HasAddress, [network, field]) = (body.function.shape, &*body.arguments) else {
        return None;
    };
    let Node::Call(cidr) = &network.node else { return None };
    let (Shape::Network, [text]) = (cidr.function.shape, &*cidr.arguments) else { return None };
    if !is_local(text, depth) || texts.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = texts.iter().map(Value::as_str).collect();
    let texts = texts?;
    let networks: Option<Vec<Network>> = texts.iter().map(|text| Network::parse(text)).collect();
    let walks = texts.iter().scan(0_u64, |walk, text| {
        // The element, the call, `cidr`, its text and the field; the scan of the text.
        *walk = walk.saturating_add(5).saturating_add(units(text.len()));
        Some(u32::try_from(*walk).ok())
    });
    let walks: Option<Box<[u32]>> = walks.collect();
    let test = FirstNetworkTest {
        field: address_field(field, layout)?,
        networks: FirstNetwork::new(&networks?),
        walks: walks?,
    };
    Some((Kind::FirstNetwork(Box::new(test)), 2))
}

fn is_local(expression: &Expr, depth: usize) -> bool {
    matches!(expression.node, Node::Local(position) if position == depth)
}

/// The network that `cidr` of a constant text is, with that text.
fn constant_network(expression: &Expr) -> Option<(Network, &str)> {
    let Node::Call(call) = &expression.node else { return None };
    match (call.function.shape, &call.prepared, &*call.arguments) {
        (Shape::Network, Prepared::Network(network), [text]) => {
            Some((*network, literal(text)?.as_str()?))
        }
        _ => None,
    }
}

fn address_field(expression: &Expr, layout: &Layout) -> Option<AddressField> {
    let Node::Field(slot) = expression.node else { return None };
    Some(AddressField { slot, is_client: is_field(layout, slot, Field::ClientIp) })
}

fn is_field(layout: &Layout, slot: Slot, field: Field) -> bool {
    layout.fields().any(|(each, _, source)| each == slot && *source == Source::Field(field))
}
