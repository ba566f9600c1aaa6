//! The nodes that a predicate stands for, in a few bytes.
//!
//! They are seldom run, so a rule keeps them in postcard's form and makes them again where an
//! error or an index asks. Spans count from the start of the predicate: equal tests of
//! many rules are equal bytes, and so are kept once.

use serde::{Deserialize, Serialize};

use crate::event::layout::{KeySlot, Slot};
use crate::functions::named_lists::{Lists, LiteralSet};
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::functions::{self, Shape};
use crate::program::prepare::{literal, prepare};
use crate::program::{
    Call, Comprehension, Expr, Index, Macro, Member, Node, Operation, SectionKey,
};
use crate::value::address::{Address, Network};
use crate::value::error::Span;
use crate::value::{Text, Value};
use tidegate_regex::Regex;

/// An expression as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed<'p>(pub(crate) &'p [u8]);

/// The field that an expression reads before all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstField {
    pub(crate) slot: Slot,
    pub(crate) span: Span,
    /// The nodes that are entered up to it, the field included.
    pub(crate) entered: u64,
}

/// None for an expression that has a node or value of another kind.
pub(crate) fn pack(expression: &Expr) -> Option<Vec<u8>> {
    postcard::to_allocvec(&Part::of(expression, expression.span.start)?).ok()
}

impl<'p> Packed<'p> {
    /// The expression again, where it starts at a place of its text. `pattern` is what its
    /// pattern was compiled to, if it has one.
    pub(crate) fn unpack(self, start: u32, pattern: Option<&Regex>) -> Expr {
        match self.part() {
            Some(part) => part.expression(start, pattern),
            None => Expr { span: Span::default(), node: Node::Undeclared },
        }
    }

    /// The field that is read first; None where something else comes first.
    pub(crate) fn first_field(self, start: u32) -> Option<FirstField> {
        self.part()?.first_field(start, 1)
    }

    /// The text of that length which the expression ends with.
    #[inline]
    pub(crate) fn last_text(self, length: usize) -> &'p [u8] {
        self.0.get(self.0.len().saturating_sub(length)..).unwrap_or_default()
    }

    fn part(self) -> Option<Part<'p>> {
        postcard::from_bytes(self.0).ok()
    }
}

/// A span: from where the predicate starts to its own start, and its length.
#[derive(Serialize, Deserialize)]
struct Place(u32, u32);

impl Place {
    fn of(span: Span, start: u32) -> Self {
        Self(span.start.wrapping_sub(start), span.end.wrapping_sub(span.start))
    }

    fn span(&self, start: u32) -> Span {
        let start = start.wrapping_add(self.0);
        Span { start, end: start.wrapping_add(self.1) }
    }
}

/// A node with what is below it. A constant that a test compares with comes last.
#[derive(Serialize, Deserialize)]
struct Part<'p>(Place, #[serde(borrow)] Kind<'p>);

type Two<'p> = Box<[Part<'p>; 2]>;

/// The nodes that predicates are made of.
#[derive(Serialize, Deserialize)]
enum Kind<'p> {
    Field(u32),
    /// The spans are those of the nodes that are entered.
    SectionKey(u32, Vec<Place>),
    Literal(#[serde(borrow)] Constant<'p>),
    Local(usize),
    Index(#[serde(borrow)] Two<'p>),
    /// A function by its number.
    Call(usize, #[serde(borrow)] Vec<Part<'p>>),
    Operation(Operator, #[serde(borrow)] Two<'p>),
    Has(&'p str, #[serde(borrow)] Box<Part<'p>>),
    /// The depth of the variable, the range and the body.
    Exists(usize, #[serde(borrow)] Two<'p>),
}

#[derive(Serialize, Deserialize)]
enum Constant<'p> {
    Text(&'p str),
    Int(i64),
    Double(f64),
    List(#[serde(borrow)] Vec<Constant<'p>>),
    /// A list of texts that are networks of IPv4, in the form in which networks are written: lists
    /// of thousands are common.
    Networks(Vec<(u32, u8)>),
}

impl<'p> Part<'p> {
    fn of(expression: &'p Expr, start: u32) -> Option<Self> {
        let part = |expression| Self::of(expression, start);
        let two = |one, other| Some(Box::new([part(one)?, part(other)?]));
        let kind = match &expression.node {
            Node::Field(slot) => Kind::Field(slot.number()),
            Node::SectionKey(section_key) => {
                let entered = section_key.entered.iter().map(|span| Place::of(*span, start));
                Kind::SectionKey(section_key.key.number(), entered.collect())
            }
            Node::Literal(value) => Kind::Literal(Constant::of(value)?),
            Node::Local(position) => Kind::Local(*position),
            Node::Index(index) if !index.optional => {
                Kind::Index(two(&index.operand, &index.index)?)
            }
            Node::Call(call) => {
                let arguments: Option<_> = call.arguments.iter().map(part).collect();
                Kind::Call(functions::number(call.function)?, arguments?)
            }
            Node::Operator(operation) => {
                let [left, right] = &*operation.arguments else { return None };
                Kind::Operation(operation.operator, two(left, right)?)
            }
            Node::Has(member) if !member.optional => {
                Kind::Has(&member.field, Box::new(part(&member.operand)?))
            }
            Node::Comprehension(search)
                if search.operation == Macro::Exists
                    && !search.has_two_variables
                    && search.condition.is_none() =>
            {
                Kind::Exists(search.depth, two(&search.range, &search.body)?)
            }
            _ => return None,
        };
        Some(Self(Place::of(expression.span, start), kind))
    }

    fn expression(&self, start: u32, pattern: Option<&Regex>) -> Expr {
        let expression = |part: &Self| part.expression(start, pattern);
        let Self(place, kind) = self;
        let node = match kind {
            Kind::Field(slot) => Node::Field(Slot::from_number(*slot)),
            Kind::SectionKey(key, entered) => Node::SectionKey(Box::new(SectionKey {
                key: KeySlot::from_number(*key),
                entered: entered.iter().map(|place| place.span(start)).collect(),
            })),
            Kind::Literal(constant) => Node::Literal(Box::new(constant.value())),
            Kind::Local(position) => Node::Local(*position),
            Kind::Index(parts) => {
                let [operand, index] = parts.each_ref().map(expression);
                Node::Index(Box::new(Index { operand, index, optional: false }))
            }
            Kind::Call(function, arguments) => {
                call(*function, arguments.iter().map(expression).collect(), pattern)
            }
            Kind::Operation(operator, operands) => {
                operation(*operator, operands.each_ref().map(expression))
            }
            Kind::Has(field, operand) => Node::Has(Box::new(Member {
                operand: expression(operand),
                field: (*field).into(),
                optional: false,
            })),
            Kind::Exists(depth, parts) => {
                let [range, body] = parts.each_ref().map(expression);
                Node::Comprehension(Box::new(Comprehension {
                    operation: Macro::Exists,
                    has_two_variables: false,
                    depth: *depth,
                    range,
                    condition: None,
                    body,
                }))
            }
        };
        Expr { span: place.span(start), node }
    }

    fn first_field(&self, start: u32, entered: u64) -> Option<FirstField> {
        let Self(place, kind) = self;
        let first = match kind {
            Kind::Field(slot) => {
                let (slot, span) = (Slot::from_number(*slot), place.span(start));
                return Some(FirstField { slot, span, entered });
            }
            Kind::Operation(_, operands) => operands.first()?,
            Kind::Call(_, arguments) => arguments.first()?,
            _ => return None,
        };
        first.first_field(start, entered.saturating_add(1))
    }
}

fn call(function: usize, arguments: Box<[Expr]>, pattern: Option<&Regex>) -> Node {
    let function = functions::numbered(function).unwrap_or(&functions::UNKNOWN);
    let prepared = match pattern {
        Some(pattern) if function.shape == Shape::Matches => {
            Prepared::Patterns([pattern.clone()].into())
        }
        _ => prepare(function.shape, &arguments, &Lists::default()),
    };
    let literals = arguments.iter().map(|argument| literal(argument).is_some()).collect();
    Node::Call(Box::new(Call { function, arguments, literals, prepared }))
}

fn operation(operator: Operator, arguments: [Expr; 2]) -> Node {
    let members = match (operator, literal(&arguments[1])) {
        (Operator::In, Some(Value::List(values))) => Some(Box::new(LiteralSet::new(values))),
        _ => None,
    };
    Node::Operator(Box::new(Operation { operator, arguments: arguments.into(), members }))
}

impl<'p> Constant<'p> {
    fn of(value: &'p Value<'static>) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Double(number) => Some(Self::Double(*number)),
            Value::List(values) => {
                let networks: Option<_> = values.iter().map(network).collect();
                let list = || values.iter().map(Self::of).collect::<Option<_>>().map(Self::List);
                networks.map(Self::Networks).or_else(list)
            }
            _ => None,
        }
    }

    fn value(&self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::String(Text::shared(text)),
            Self::Int(number) => Value::Int(*number),
            Self::Double(number) => Value::Double(*number),
            Self::List(values) => {
                Value::List(values.iter().map(Self::value).collect::<Vec<_>>().into())
            }
            Self::Networks(networks) => {
                let texts = networks.iter().map(|(address, prefix)| {
                    let network = Network::new(Address::V4(*address), *prefix);
                    network.map_or(Value::Null, |network| Value::text(network.to_string()))
                });
                Value::List(texts.collect::<Vec<_>>().into())
            }
        }
    }
}

/// The address and prefix of a network of IPv4 whose text says no more than these.
fn network(value: &Value<'static>) -> Option<(u32, u8)> {
    let text = value.as_str()?;
    let network = Network::parse(text)?;
    let Address::V4(address) = network.address else { return None };
    // There is one way to write one, apart from that of IPv6.
    (!text.contains(':')).then_some((address, network.prefix))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use bumpalo::Bump;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::event::layout::Layout;
    use crate::program::decode::Compiler;
    use crate::ruleset::read_tree;

    fn node(kind: &str, start: u32, parts: Json) -> Json {
        let mut node = json!({"kind": kind, "span": [start, start + 9]});
        node.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
        node
    }

    fn field(name: &str, start: u32) -> Json {
        node("field", start, json!({"name": name}))
    }

    fn text(text: &str, start: u32) -> Json {
        node("literal", start, json!({"value": {"type": "string", "value": text}}))
    }

    fn texts(texts: &[&str]) -> Json {
        let texts: Vec<Json> =
            texts.iter().map(|text| json!({"type": "string", "value": text})).collect();
        json!({"type": "list", "value": texts})
    }

    fn call(function: &str, start: u32, arguments: &[Json]) -> Json {
        let is_member = !matches!(function, "lower" | "double" | "==" | "in" | ">");
        node("call", start, json!({"function": function, "member": is_member, "args": arguments}))
    }

    /// Expressions that start at 300.
    fn expressions() -> Vec<Json> {
        let header = node(
            "index",
            301,
            json!({"operand": field("headers", 302), "index": text("accept", 303)}),
        );
        let entry = node(
            "index",
            305,
            json!({"operand": field("headers", 305), "index": node("local", 307, json!({"name": "k"}))}),
        );
        let numbers = json!({"type": "list", "value": [
            {"type": "int", "value": "-5"}, {"type": "double", "value": "0.25"}, {"type": "string", "value": "é"}]});
        vec![
            call("contains", 300, &[field("path", 301), text("/admin", 320)]),
            call("==", 300, &[header, text("", 330)]),
            call("in", 300, &[field("path", 300), node("literal", 310, json!({"value": numbers}))]),
            call(
                "in",
                300,
                &[
                    field("path", 300),
                    node("literal", 310, json!({"value": texts(&["10.1.2.3/8", "0.0.0.0/0"])})),
                ],
            ),
            call(
                "in",
                300,
                &[
                    field("path", 300),
                    node("literal", 310, json!({"value": texts(&["10.0.0.0/08", "::/0"])})),
                ],
            ),
            call("in", 300, &[text("x", 300), field("headers", 310)]),
            node("has", 300, json!({"operand": field("headers", 300), "field": "x"})),
            node(
                "comprehension",
                300,
                json!({
                    "macro": "exists", "variables": ["k"], "range": field("headers", 300),
                    "body": call("startsWith", 304, &[entry, text("a", 340)]),
                }),
            ),
        ]
    }

    fn compile(root: &Json) -> Expr {
        let mut layout =
            Layout::new([("path", "string"), ("headers", "map(string, string)")]).unwrap();
        let text = json!({"version": 1, "root": root}).to_string();
        let lists = Lists::default();
        let mut compiler = Compiler::new(&mut layout, &lists);
        let arena = Bump::new();
        let program = compiler.compile(&read_tree(text.as_bytes(), &arena).unwrap()).unwrap();
        let root = triomphe::Arc::try_unwrap(program.root).unwrap();
        match &root.node {
            Node::Predicate(predicate) => predicate.nodes(root.span.start),
            _ => root,
        }
    }

    #[test]
    fn an_expression_is_the_same_again_wherever_it_starts() {
        for root in expressions() {
            let expression = compile(&root);
            let bytes = pack(&expression).unwrap();
            let packed = Packed(&bytes);
            assert_eq!(format!("{:?}", packed.unpack(300, None)), format!("{expression:?}"));
            let moved = packed.unpack(7, None);
            assert_eq!(moved.span, Span { start: 7, end: 16 });
            assert_eq!(pack(&moved).unwrap(), bytes);
        }
    }

    #[test]
    fn the_field_that_is_read_first_is_known() {
        let firsts: Vec<Option<FirstField>> = expressions()
            .iter()
            .map(|root| Packed(&pack(&compile(root)).unwrap()).first_field(300))
            .collect();
        let first = |start| FirstField {
            slot: Slot::from_number(0),
            span: Span { start, end: start + 9 },
            entered: 2,
        };
        let paths = [Some(first(300)); 3];
        assert_eq!(firsts[..2], [Some(first(301)), None]);
        assert_eq!(firsts[2..5], paths);
        assert_eq!(firsts[5..], [None; 3]);
    }

    #[test]
    fn what_no_predicate_is_made_of_is_not_packed() {
        let flag = node("literal", 0, json!({"value": {"type": "bool", "value": true}}));
        assert_eq!(pack(&compile(&call("in", 0, &[flag, field("headers", 1)]))), None);
    }
}
