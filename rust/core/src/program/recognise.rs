//! Recognition of nodes that have the shape of a [`Predicate`].

use std::borrow::Cow;
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
use crate::predicate::{
    AddressField, AddressTest, EntryTest, FirstNetworkTest, Kind, OfConstant, Predicate, Subject,
    Test, TextTest,
};
use crate::program::nodes::{spans, texts_as_json};
use crate::program::prepare::literal;
use crate::program::{Call, Comprehension, Expr, Macro, Member, Node, Operation};
use crate::value::Value;
use crate::value::address::Network;
use crate::value::meter::units;
use tidegate_regex::find::rarest;

/// A kind of predicate with the cost of the nodes that it replaces, and its constant.
type Recognised<'e> = Option<(Kind, u64, Cow<'e, str>)>;

/// The predicates of a set, each once.
#[derive(Debug, Default)]
pub(crate) struct Predicates {
    table: HashTable<Predicate>,
    hasher: RandomState,
}

impl Predicates {
    /// A predicate that others may be equal to.
    fn share(&mut self, test: Test, constant: &str) -> Predicate {
        let Self { table, hasher } = self;
        let hash_of = |test: &Test, constant: &[u8]| hasher.hash_one((test, constant));
        let hash = hash_of(&test, constant.as_bytes());
        let is_same =
            |known: &Predicate| **known == test && known.constant() == constant.as_bytes();
        if let Some(known) = table.find(hash, is_same) {
            return known.clone();
        }
        let predicate = Predicate::new(test, constant);
        let hash_of = |known: &Predicate| hash_of(known, known.constant());
        table.insert_unique(hash, predicate.clone(), hash_of);
        predicate
    }
}

/// The node as a predicate, where it has the shape of one.
pub(crate) fn recognise(
    expression: Expr,
    layout: &mut Layout,
    predicates: &mut Predicates,
) -> Expr {
    let start = expression.span.start;
    match recognised(&expression, start, layout) {
        Some((test, constant)) => {
            let predicate = predicates.share(test, &constant);
            debug_assert!(
                recognised(&predicate.nodes(start), start, layout)
                    .is_some_and(|(test, constant)| Predicate::new(test, &constant) == predicate),
                "{predicate:?}"
            );
            Expr { node: Node::Predicate(predicate), ..expression }
        }
        None => expression,
    }
}

fn recognised<'e>(
    expression: &'e Expr,
    start: u32,
    layout: &mut Layout,
) -> Option<(Test, Cow<'e, str>)> {
    let (kind, units, constant) = match &expression.node {
        Node::Operator(operation) => of_operation(operation, layout),
        Node::Call(call) => of_text_call(call, layout).or_else(|| of_address_call(call, layout)),
        Node::Comprehension(comprehension) => of_comprehension(comprehension, layout),
        Node::Has(member) => of_has(member, layout),
        _ => None,
    }?;
    Some((Test { kind, units, spans: spans(expression, start) }, constant))
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

fn of_operation<'e>(operation: &'e Operation, layout: &mut Layout) -> Recognised<'e> {
    let [left, right] = &*operation.arguments else { return None };
    let operator = operation.operator;
    let (test, constant) = match (operator, literal(right)) {
        (Operator::In, None) => return of_presence(left, right, layout),
        (Operator::In, Some(list @ Value::List(values))) => {
            let members = LiteralSet::new(values);
            (TextTest::In(OfConstant(Box::new(members))), json(list)?)
        }
        (Operator::Equal, Some(Value::String(text))) => (TextTest::Equals, Cow::from(&**text)),
        (Operator::NotEqual, Some(Value::String(text))) => (TextTest::Differs, Cow::from(&**text)),
        (operator, Some(Value::Int(literal))) if operator.is_comparison() => {
            return of_integer(left, operator, *literal);
        }
        (operator, Some(Value::Double(literal))) if operator.is_order() => {
            return of_number(left, operator, *literal);
        }
        _ => return None,
    };
    let (subject, entered) = subject(left, layout)?;
    Some((Kind::Text { subject, test }, entered.saturating_add(2), constant))
}

/// A constant of texts, which may be a list, as a predicate keeps it.
fn json(constant: &Value<'_>) -> Option<Cow<'static, str>> {
    Some(texts_as_json(constant)?.to_string().into())
}

/// `field < 5` or `size(field) < 5`.
fn of_integer(left: &Expr, operator: Operator, literal: i64) -> Recognised<'static> {
    let (kind, units) = match &left.node {
        Node::Field(slot) => (Kind::Integer { slot: *slot, operator, literal }, 3),
        Node::Call(call) => match (call.function.shape, &*call.arguments) {
            (Shape::Size, [Expr { node: Node::Field(slot), .. }]) => {
                (Kind::Size { slot: *slot, operator, literal }, 4)
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((kind, units, "".into()))
}

/// `double(map["key"]) < 0.5`.
fn of_number(left: &Expr, operator: Operator, literal: f64) -> Recognised<'static> {
    let Node::Call(call) = &left.node else { return None };
    let (Shape::Double, [Expr { node: Node::SectionKey(section_key), .. }]) =
        (call.function.shape, &*call.arguments)
    else {
        return None;
    };
    let units = (section_key.entered.len() as u64).saturating_add(3);
    let literal = literal.to_bits();
    Some((Kind::Number { text: section_key.key, operator, literal }, units, "".into()))
}

/// `"key" in map` for a map of the event.
fn of_presence<'e>(key: &'e Expr, map: &Expr, layout: &mut Layout) -> Recognised<'e> {
    let Value::String(key) = literal(key)? else { return None };
    // Three nodes, and one unit that membership of a map costs.
    has_key(map, key, false, 4, layout)
}

/// `has(map.key)` for a map of the event.
fn of_has<'e>(member: &'e Member, layout: &mut Layout) -> Recognised<'e> {
    if member.optional { None } else { has_key(&member.operand, &member.field, true, 2, layout) }
}

fn has_key<'e>(
    map: &Expr,
    key: &'e str,
    is_member: bool,
    units: u64,
    layout: &mut Layout,
) -> Recognised<'e> {
    let Node::Field(map) = map.node else { return None };
    let name = layout.fields().find(|(each, _, _)| *each == map)?.1.to_owned();
    let kind = Kind::HasKey { key: layout.key_slot(&name, key)?, map, is_member };
    Some((kind, units, key.into()))
}

fn of_text_call<'e>(call: &'e Call, layout: &mut Layout) -> Recognised<'e> {
    let (on, test, part) = text_test(call)?;
    let (subject, entered) = subject(on, layout)?;
    Some((Kind::Text { subject, test }, entered.saturating_add(2), part.into()))
}

/// The receiver, test and constant text of a call.
fn text_test(call: &Call) -> Option<(&Expr, TextTest, &str)> {
    let [on, argument] = &*call.arguments else { return None };
    let Value::String(part) = literal(argument)? else { return None };
    let test = match (call.function.shape, &call.prepared) {
        (Shape::Has(Place::Anywhere), _) => TextTest::Contains(u32::try_from(rarest(part)).ok()?),
        (Shape::Has(Place::Start), _) => TextTest::StartsWith,
        (Shape::Has(Place::End), _) => TextTest::EndsWith,
        (Shape::Matches, Prepared::Patterns(patterns)) => {
            TextTest::Matches(patterns.first()?.clone())
        }
        _ => return None,
    };
    Some((on, test, part))
}

/// `cidr("...").containsIP(field)` and `inIpRange(field, constant)`.
fn of_address_call<'e>(call: &'e Call, layout: &Layout) -> Recognised<'e> {
    let [first, second] = &*call.arguments else { return None };
    let (test, units, constant) = match (call.function.shape, &call.prepared) {
        (Shape::HasAddress, _) => {
            let (network, text) = constant_network(first)?;
            let test = AddressTest {
                field: address_field(second, layout)?,
                networks: OfConstant([network].into_iter().collect()),
                extra_bytes: 0,
                otherwise: None,
            };
            // This call, `cidr`, its text and the field; then the scan of that text.
            (test, units(text.as_str()?.len()).saturating_add(4), text)
        }
        (Shape::InNetworks, Prepared::Networks(networks)) => {
            let constant = literal(second)?;
            let test = AddressTest {
                field: address_field(first, layout)?,
                networks: OfConstant(networks.clone()),
                extra_bytes: constant.as_str().map_or(0, str::len),
                otherwise: Some(false),
            };
            (test, 3, constant)
        }
        _ => return None,
    };
    Some((Kind::Address(Box::new(test)), units, json(constant)?))
}

/// The searches with `exists` and one variable.
fn of_comprehension<'e>(comprehension: &'e Comprehension, layout: &Layout) -> Recognised<'e> {
    if comprehension.operation != Macro::Exists
        || comprehension.has_two_variables
        || comprehension.condition.is_some()
    {
        return None;
    }
    let Node::Call(body) = &comprehension.body.node else { return None };
    match &comprehension.range.node {
        Node::Field(map) => of_any_entry(*map, body, comprehension.depth),
        Node::Literal(list) => of_any_network(list, body, comprehension.depth, layout),
        _ => None,
    }
}

/// `map.exists(k, map[k].contains("..."))`.
fn of_any_entry(map: Slot, body: &Call, depth: usize) -> Recognised<'_> {
    let (on, test, part) = text_test(body)?;
    let lowered = match &on.node {
        Node::Call(call) if call.function.shape == Shape::Lower => call.arguments.first(),
        _ => None,
    };
    let Node::Index(index) = &lowered.unwrap_or(on).node else { return None };
    let is_entry = matches!(index.operand.node, Node::Field(slot) if slot == map)
        && is_local(&index.index, depth)
        && !index.optional;
    let (is_lowered, depth) = (lowered.is_some(), u32::try_from(depth).ok()?);
    let kind = Kind::AnyEntry(EntryTest { map, depth, test, is_lowered });
    is_entry.then_some((kind, 2, part.into()))
}

/// `["...", ...].exists(c, cidr(c).containsIP(field))`.
fn of_any_network<'e>(
    list: &Value<'_>,
    body: &Call,
    depth: usize,
    layout: &Layout,
) -> Recognised<'e> {
    let (Shape::HasAddress, [network, field]) = (body.function.shape, &*body.arguments) else {
        return None;
    };
    let Node::Call(cidr) = &network.node else { return None };
    let (Shape::Network, [text]) = (cidr.function.shape, &*cidr.arguments) else { return None };
    let Value::List(values) = list else { return None };
    if !is_local(text, depth) || values.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
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
        depth: u32::try_from(depth).ok()?,
        networks: OfConstant(FirstNetwork::new(&networks?)),
        walks: walks?,
    };
    Some((Kind::FirstNetwork(Box::new(test)), 2, json(list)?))
}

fn is_local(expression: &Expr, depth: usize) -> bool {
    matches!(expression.node, Node::Local(position) if position == depth)
}

/// The network that `cidr` of a constant text is, with that text.
fn constant_network(expression: &Expr) -> Option<(Network, &Value<'static>)> {
    let Node::Call(call) = &expression.node else { return None };
    match (call.function.shape, &call.prepared, &*call.arguments) {
        (Shape::Network, Prepared::Network(network), [text]) => Some((*network, literal(text)?)),
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
