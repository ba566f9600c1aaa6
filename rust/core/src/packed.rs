//! The nodes that a predicate stands for, in a few bytes.
//!
//! They are seldom run, so a rule keeps them in this form and makes them again where an
//! error or an index asks. Spans count from the start of the predicate: equal tests of
//! many rules are equal bytes, and so are kept once.

use std::fmt::Write;

use crate::address::{Address, Network};
use crate::error::Span;
use crate::functions::{self, Shape};
use crate::layout::{KeySlot, Slot};
use crate::lists::{Lists, LiteralSet};
use crate::ops::Operator;
use crate::prepare::{Prepared, literal, prepare};
use crate::program::{
    Call, Comprehension, Expr, Index, Macro, Member, Node, Operation, SectionKey,
};
use crate::value::{Text, Value};
use tidegate_regex::Regex;

/// What stands before the parts of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Field,
    SectionKey,
    Text,
    Int,
    Double,
    List,
    /// A list of texts that are networks, in the form in which networks are written.
    Networks,
    Local,
    Index,
    Call,
    Operation,
    Has,
    Exists,
}

const TAGS: [Tag; 13] = [
    Tag::Field,
    Tag::SectionKey,
    Tag::Text,
    Tag::Int,
    Tag::Double,
    Tag::List,
    Tag::Networks,
    Tag::Local,
    Tag::Index,
    Tag::Call,
    Tag::Operation,
    Tag::Has,
    Tag::Exists,
];

/// The operators of predicates.
const OPERATORS: [Operator; 7] = [
    Operator::Equal,
    Operator::NotEqual,
    Operator::Less,
    Operator::LessOrEqual,
    Operator::Greater,
    Operator::GreaterOrEqual,
    Operator::In,
];

/// Most expressions have no more bytes.
const COMMON_BYTES: usize = 96;
/// A network of IPv4 has no more.
const NETWORK_BYTES: usize = 18;

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
    let bytes = Vec::with_capacity(COMMON_BYTES);
    let mut writer = Writer { bytes, start: expression.span.start };
    writer.expression(expression)?;
    Some(writer.bytes)
}

impl<'p> Packed<'p> {
    /// The expression again, where it starts at a place of its text. `pattern` is what its
    /// pattern was compiled to, if it has one.
    pub(crate) fn unpack(self, start: u32, pattern: Option<&Regex>) -> Expr {
        Reader { rest: self.0, start, pattern }.expression()
    }

    /// The field that is read first; None where something else comes first.
    pub(crate) fn first_field(self, start: u32) -> Option<FirstField> {
        let mut reader = Reader { rest: self.0, start, pattern: None };
        let mut entered = 0_u64;
        loop {
            let (tag, span) = reader.head()?;
            entered = entered.saturating_add(1);
            match tag {
                Tag::Field => {
                    return Some(FirstField {
                        slot: Slot::from_number(reader.u32()),
                        span,
                        entered,
                    });
                }
                Tag::Operation => reader.skip(1),
                Tag::Call => {
                    reader.number();
                    reader.number();
                }
                _ => return None,
            }
        }
    }

    /// The text of so many bytes that the expression ends with.
    #[inline]
    pub(crate) fn last_text(self, length: usize) -> &'p [u8] {
        self.0.get(self.0.len().saturating_sub(length)..).unwrap_or_default()
    }
}

struct Writer {
    bytes: Vec<u8>,
    start: u32,
}

impl Writer {
    fn expression(&mut self, expression: &Expr) -> Option<()> {
        let span = expression.span;
        match &expression.node {
            Node::Field(slot) => {
                self.head(Tag::Field, span);
                self.number(u64::from(slot.number()));
            }
            Node::SectionKey(section_key) => {
                self.head(Tag::SectionKey, span);
                self.number(u64::from(section_key.key.number()));
                self.number(section_key.entered.len() as u64);
                section_key.entered.iter().for_each(|span| self.span(*span));
            }
            Node::Literal(value) => match networks(value) {
                Some(networks) => {
                    self.head(Tag::Networks, span);
                    self.networks(&networks);
                }
                None => {
                    self.head(tag_of(value)?, span);
                    self.content(value)?;
                }
            },
            Node::Local(position) => {
                self.head(Tag::Local, span);
                self.number(*position as u64);
            }
            Node::Index(index) if !index.optional => {
                self.head(Tag::Index, span);
                self.expression(&index.operand)?;
                self.expression(&index.index)?;
            }
            Node::Call(call) => {
                self.head(Tag::Call, span);
                self.number(functions::number(call.function)? as u64);
                self.number(call.arguments.len() as u64);
                call.arguments.iter().try_for_each(|argument| self.expression(argument))?;
            }
            Node::Operator(operation) => {
                let [left, right] = &*operation.arguments else { return None };
                let known = OPERATORS.iter().position(|each| *each == operation.operator)?;
                self.head(Tag::Operation, span);
                self.bytes.push(u8::try_from(known).ok()?);
                self.expression(left)?;
                self.expression(right)?;
            }
            Node::Has(member) if !member.optional => {
                self.head(Tag::Has, span);
                self.text(&member.field);
                self.expression(&member.operand)?;
            }
            Node::Comprehension(comprehension)
                if comprehension.operation == Macro::Exists
                    && !comprehension.has_two_variables
                    && comprehension.condition.is_none() =>
            {
                self.head(Tag::Exists, span);
                self.number(comprehension.depth as u64);
                self.expression(&comprehension.range)?;
                self.expression(&comprehension.body)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// A value behind its tag.
    fn content(&mut self, value: &Value<'static>) -> Option<()> {
        match value {
            Value::String(text) => self.text(text),
            Value::Int(number) => self.number(number.cast_unsigned()),
            Value::Double(number) => self.number(number.to_bits().swap_bytes()),
            Value::List(values) => {
                self.number(values.len() as u64);
                for value in &**values {
                    self.bytes.push(tag_of(value)? as u8);
                    self.content(value)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn networks(&mut self, networks: &[(u32, u8)]) {
        self.number(networks.len() as u64);
        for (address, prefix) in networks {
            self.bytes.extend_from_slice(&address.to_be_bytes());
            self.bytes.push(*prefix);
        }
    }

    fn head(&mut self, tag: Tag, span: Span) {
        self.bytes.push(tag as u8);
        self.span(span);
    }

    fn span(&mut self, span: Span) {
        self.number(u64::from(span.start.wrapping_sub(self.start)));
        self.number(u64::from(span.end.wrapping_sub(span.start)));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Seven bits a byte, the lowest first; all but the last have the eighth set.
    fn number(&mut self, mut number: u64) {
        while number > 0x7F {
            self.bytes.push((number & 0x7F) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

/// What a value is written behind.
const fn tag_of(value: &Value<'static>) -> Option<Tag> {
    match value {
        Value::String(_) => Some(Tag::Text),
        Value::Int(_) => Some(Tag::Int),
        Value::Double(_) => Some(Tag::Double),
        Value::List(_) => Some(Tag::List),
        _ => None,
    }
}

/// Addresses and prefixes of a list of IPv4 networks whose texts say no more than these.
fn networks(value: &Value<'static>) -> Option<Vec<(u32, u8)>> {
    let Value::List(values) = value else { return None };
    let network = |value: &Value<'static>| {
        let text = value.as_str()?;
        let network = Network::parse(text)?;
        let Address::V4(address) = network.address else { return None };
        // There is one way to write one, apart from that of IPv6.
        (!text.contains(':')).then_some((address, network.prefix))
    };
    values.iter().map(network).collect()
}

/// Reads what a writer wrote. What is not there reads as nothing.
struct Reader<'p> {
    rest: &'p [u8],
    start: u32,
    pattern: Option<&'p Regex>,
}

impl<'p> Reader<'p> {
    fn expression(&mut self) -> Expr {
        let Some((tag, span)) = self.head() else {
            return Expr { span: Span::default(), node: Node::Undeclared };
        };
        let node = match tag {
            Tag::Field => Node::Field(Slot::from_number(self.u32())),
            Tag::SectionKey => {
                let key = KeySlot::from_number(self.u32());
                let entered = (0..self.count()).map(|_| self.span()).collect();
                Node::SectionKey(Box::new(SectionKey { key, entered }))
            }
            Tag::Text | Tag::Int | Tag::Double | Tag::List | Tag::Networks => {
                Node::Literal(Box::new(self.value(tag)))
            }
            Tag::Local => Node::Local(self.count()),
            Tag::Index => {
                let (operand, index) = (self.expression(), self.expression());
                Node::Index(Box::new(Index { operand, index, optional: false }))
            }
            Tag::Call => self.call(),
            Tag::Operation => self.operation(),
            Tag::Has => {
                let field = self.text().into();
                let operand = self.expression();
                Node::Has(Box::new(Member { operand, field, optional: false }))
            }
            Tag::Exists => Node::Comprehension(Box::new(Comprehension {
                operation: Macro::Exists,
                has_two_variables: false,
                depth: self.count(),
                range: self.expression(),
                condition: None,
                body: self.expression(),
            })),
        };
        Expr { span, node }
    }

    fn call(&mut self) -> Node {
        let function = functions::numbered(self.count()).unwrap_or(&functions::UNKNOWN);
        let arguments: Box<[Expr]> = (0..self.count()).map(|_| self.expression()).collect();
        let prepared = match self.pattern {
            Some(pattern) if function.shape == Shape::Matches => {
                Prepared::Patterns([pattern.clone()].into())
            }
            _ => prepare(function.shape, &arguments, &Lists::default()),
        };
        let literals = arguments.iter().map(|argument| literal(argument).is_some()).collect();
        Node::Call(Box::new(Call { function, arguments, literals, prepared }))
    }

    fn operation(&mut self) -> Node {
        let operator = OPERATORS.get(usize::from(self.byte())).copied().unwrap_or(Operator::Equal);
        let arguments = [self.expression(), self.expression()];
        let members = match (operator, literal(&arguments[1])) {
            (Operator::In, Some(Value::List(values))) => Some(Box::new(LiteralSet::new(values))),
            _ => None,
        };
        Node::Operator(Box::new(Operation { operator, arguments: arguments.into(), members }))
    }

    fn value(&mut self, tag: Tag) -> Value<'static> {
        match tag {
            Tag::Text => Value::String(Text::shared(self.text())),
            Tag::Double => Value::Double(f64::from_bits(self.number().swap_bytes())),
            Tag::List => {
                let values = (0..self.count())
                    .map(|_| self.tag().map_or(Value::Null, |tag| self.value(tag)));
                Value::List(values.collect::<Vec<_>>().into())
            }
            Tag::Networks => {
                let values = (0..self.count()).map(|_| self.network());
                Value::List(values.collect::<Vec<_>>().into())
            }
            _ => Value::Int(self.number().cast_signed()),
        }
    }

    fn network(&mut self) -> Value<'static> {
        let address = Address::V4(u32::from_be_bytes([0; 4].map(|_: u8| self.byte())));
        let network = Network::new(address, self.byte());
        let mut text = String::with_capacity(NETWORK_BYTES);
        match network.map(|network| write!(text, "{network}")) {
            Some(Ok(())) => Value::String(Text::shared(&text)),
            _ => Value::Null,
        }
    }

    fn head(&mut self) -> Option<(Tag, Span)> {
        Some((self.tag()?, self.span()))
    }

    fn tag(&mut self) -> Option<Tag> {
        let (tag, rest) = self.rest.split_first()?;
        self.rest = rest;
        TAGS.get(usize::from(*tag)).copied()
    }

    fn span(&mut self) -> Span {
        let start = self.start.wrapping_add(self.u32());
        Span { start, end: start.wrapping_add(self.u32()) }
    }

    fn text(&mut self) -> &'p str {
        let length = self.count();
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = rest;
        std::str::from_utf8(text).unwrap_or_default()
    }

    fn u32(&mut self) -> u32 {
        self.number() as u32
    }

    /// A number of parts or a position.
    fn count(&mut self) -> usize {
        self.number() as usize
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }

    fn byte(&mut self) -> u8 {
        let byte = self.rest.first().copied().unwrap_or_default();
        self.skip(1);
        byte
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use bumpalo::Bump;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::decode::Compiler;
    use crate::layout::Layout;
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
    fn an_expression_ends_with_its_constant() {
        for (root, constant) in
            expressions().iter().zip(["/admin", "", "é", "", "::/0", "", "", "a"])
        {
            let bytes = pack(&compile(root)).unwrap();
            assert_eq!(Packed(&bytes).last_text(constant.len()), constant.as_bytes());
        }
    }

    #[test]
    fn bytes_that_are_cut_short_are_read_all_the_same() {
        for root in expressions() {
            let bytes = pack(&compile(&root)).unwrap();
            for length in 0..bytes.len() {
                let cut = Packed(&bytes[..length]);
                assert!(cut.unpack(0, None).span.end <= 9 + 300);
                cut.first_field(0);
            }
        }
    }

    #[test]
    fn what_no_predicate_is_made_of_is_not_packed() {
        let flag = node("literal", 0, json!({"value": {"type": "bool", "value": true}}));
        assert_eq!(pack(&compile(&call("in", 0, &[flag, field("headers", 1)]))), None);
    }
}
