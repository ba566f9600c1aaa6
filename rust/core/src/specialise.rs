//! Which nodes have the shape of a [`Predicate`].

use crate::address::Network;
use crate::field::Field;
use crate::first_network::FirstNetwork;
use crate::lists::LiteralSet;
use crate::meter::units;
use crate::ops::Operator;
use crate::predicate::{
    AddressField, AddressTest, FirstNetworkTest, Kind, Predicate, Subject, TextTest,
};
use crate::prepare::{Prepared, finder, literal};
use crate::program::{Call, Comprehension, Expr, Macro, Node, Operation};
use crate::record::{Layout, Slot, Source};
use crate::value::Value;

/// A kind of predicate with the cost of the nodes that it stands for.
type Found = Option<(Kind, u64)>;

/// The node as a predicate, where it has the shape of one.
pub(crate) fn specialise(expression: Expr, layout: &mut Layout) -> Expr {
    let found = match &expression.node {
        Node::Operator(operation) => of_operation(operation, layout),
        Node::Call(call) => of_text_call(call).or_else(|| of_address_call(call, layout)),
        Node::Comprehension(comprehension) => of_comprehension(comprehension, layout),
        _ => None,
    };
    match found {
        Some((kind, units)) => {
            let span = expression.span;
            let predicate = Predicate { kind, units, generic: expression };
            Expr { span, node: Node::Predicate(Box::new(predicate)) }
        }
        None => expression,
    }
}

/// A text that a test can be run on, and the nodes that are entered for it.
fn subject(expression: &Expr) -> Option<(Subject, u64)> {
    match &expression.node {
        Node::Field(slot) => Some((Subject::Field(*slot), 1)),
        Node::SectionKey(section_key) => {
            Some((Subject::Key(section_key.key), section_key.entered.len() as u64))
        }
        _ => None,
    }
}

fn of_operation(operation: &Operation, layout: &mut Layout) -> Found {
    let [left, right] = &*operation.arguments else { return None };
    if operation.operator == Operator::In && literal(left).is_some() {
        return of_presence(left, right, layout);
    }
    let operator = operation.operator;
    let (subject, entered) = subject(left)?;
    let units = entered.saturating_add(2);
    let test = match (operator, literal(right)?) {
        (Operator::Equal | Operator::NotEqual, Value::String(text)) => TextTest::Equals {
            literal: Box::from(&**text),
            is_negated: operator == Operator::NotEqual,
        },
        (Operator::In, Value::List(values)) => TextTest::In(LiteralSet::new(values)),
        (
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual,
            Value::Int(literal),
        ) => {
            let Subject::Field(slot) = subject else { return None };
            return Some((Kind::Integer { slot, operator, literal: *literal }, units));
        }
        _ => return None,
    };
    Some((Kind::Text { subject, test }, units))
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

fn of_text_call(call: &Call) -> Found {
    let [on, argument] = &*call.arguments else { return None };
    let Value::String(part) = literal(argument)? else { return None };
    let test = match (call.function.name, &call.prepared) {
        ("contains", _) => TextTest::Contains { finder: finder(part), length: part.len() },
        ("startsWith", _) => TextTest::StartsWith(Box::from(&**part)),
        ("endsWith", _) => TextTest::EndsWith(Box::from(&**part)),
        ("matches", Prepared::Patterns(patterns)) => {
            TextTest::Matches { pattern: patterns.first()?.clone(), length: part.len() }
        }
        _ => return None,
    };
    let (subject, entered) = subject(on)?;
    Some((Kind::Text { subject, test }, entered.saturating_add(2)))
}

/// `cidr("...").containsIP(field)` and `inIpRange(field, constant)`.
fn of_address_call(call: &Call, layout: &Layout) -> Found {
    let [first, second] = &*call.arguments else { return None };
    match (call.function.name, &call.prepared) {
        ("containsIP", _) => {
            let (network, text) = constant_network(first)?;
            let field = address_field(second, layout)?;
            let test = AddressTest {
                field,
                networks: [network].into_iter().collect(),
                extra_bytes: 0,
                otherwise: None,
            };
            // This call, `cidr`, its text and the field; then the scan of that text.
            Some((Kind::Address(test), units(text.len()).saturating_add(4)))
        }
        ("inIpRange", Prepared::Networks(networks)) => {
            let test = AddressTest {
                field: address_field(first, layout)?,
                networks: networks.clone(),
                extra_bytes: literal(second)?.as_str().map_or(0, str::len),
                otherwise: Some(false),
            };
            Some((Kind::Address(test), 3))
        }
        _ => None,
    }
}

/// `["...", ...].exists(c, cidr(c).containsIP(field))`.
fn of_comprehension(comprehension: &Comprehension, layout: &Layout) -> Found {
    let is_search = comprehension.operation == Macro::Exists && !comprehension.has_two_variables;
    let Node::Call(contains) = &comprehension.body.node else { return None };
    let ("containsIP", [network, field]) = (contains.function.name, &*contains.arguments) else {
        return None;
    };
    let Node::Call(cidr) = &network.node else { return None };
    let ("cidr", [Expr { node: Node::Local(variable), .. }]) =
        (cidr.function.name, &*cidr.arguments)
    else {
        return None;
    };
    let Some(Value::List(texts)) = literal(&comprehension.range) else { return None };
    if !is_search || *variable != comprehension.depth || texts.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = texts.iter().map(Value::as_str).collect();
    let texts = texts?;
    let networks: Option<Vec<Network>> = texts.iter().map(|text| Network::parse(text)).collect();
    let walks = texts.iter().scan(0_u64, |walk, text| {
        // The element, the call, `cidr`, its text and the field; the scan of the text.
        *walk = walk.saturating_add(5).saturating_add(units(text.len()));
        Some(*walk)
    });
    let test = FirstNetworkTest {
        field: address_field(field, layout)?,
        networks: FirstNetwork::new(&networks?),
        walks: walks.collect(),
    };
    Some((Kind::FirstNetwork(test), 2))
}

/// The network that `cidr` of a constant text is, with that text.
fn constant_network(expression: &Expr) -> Option<(Network, &str)> {
    let Node::Call(call) = &expression.node else { return None };
    match (call.function.name, &call.prepared, &*call.arguments) {
        ("cidr", Prepared::Network(network), [text]) => Some((*network, literal(text)?.as_str()?)),
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
