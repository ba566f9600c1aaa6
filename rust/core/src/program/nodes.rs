//! The nodes that a predicate replaces, rebuilt from its test, its constant and their places.
//!
//! They seldom run, so a rule doesn't keep them; errors and the index rebuild them when needed.

use std::slice::Iter;

use serde_json::Value as Json;

use crate::event::layout::{KeySlot, Slot, TextSlot};
use crate::functions::named_lists::Lists;
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::functions::{self, Place, Shape};
use crate::predicate::{EntryTest, Kind, Predicate, TextTest};
use crate::program::prepare::prepare;
use crate::program::{
    Call, Comprehension, Expr, Index, Macro, Member, Node, Operation, SectionKey,
};
use crate::value::error::Span;
use crate::value::{Text, Value};

/// The places of an expression's nodes; a node comes after those inside it.
pub(crate) fn spans(expression: &Expr, start: u32) -> Box<[Span]> {
    fn add(expression: &Expr, spans: &mut Vec<Span>) {
        expression.each_child(&mut |child| add(child, spans));
        match &expression.node {
            Node::SectionKey(section_key) => spans.extend(&section_key.entered),
            _ => spans.push(expression.span),
        }
    }
    let mut spans = Vec::new();
    add(expression, &mut spans);
    spans.into_iter().map(|span| moved(span, start.wrapping_neg())).collect()
}

/// The same span further on; a tree may state any place.
fn moved(Span { start, end }: Span, by: u32) -> Span {
    Span { start: start.wrapping_add(by), end: end.wrapping_add(by) }
}

/// A constant of texts as a predicate keeps it; None for any other.
pub(crate) fn texts_as_json(value: &Value<'_>) -> Option<Json> {
    match value {
        Value::String(text) => Some(Json::from(&**text)),
        Value::List(values) => values.iter().map(texts_as_json).collect(),
        _ => None,
    }
}

fn texts_of_json(json: &Json) -> Value<'static> {
    match json {
        Json::Array(values) => {
            Value::List(values.iter().map(texts_of_json).collect::<Vec<_>>().into())
        }
        text => Value::String(Text::shared(text.as_str().unwrap_or_default())),
    }
}

impl Predicate {
    /// The place of the first node that is evaluated to its end.
    pub(crate) fn first_span(&self, start: u32) -> Span {
        self.spans.first().map_or_else(Span::default, |span| moved(*span, start))
    }

    /// The nodes that a predicate replaces, at a place of its text.
    pub(crate) fn nodes(&self, start: u32) -> Expr {
        let mut make = Maker { start, spans: self.spans.iter() };
        match &self.kind {
            Kind::Text { subject, test } => {
                let is_lowered = subject.lowered.is_some();
                let mut on = match subject.text {
                    TextSlot::Field(slot) => make.field(slot),
                    // All places but those of the constant, the test and the call for lower case.
                    TextSlot::Key(key) => make.key(key, if is_lowered { 3 } else { 2 }),
                };
                if is_lowered {
                    on = make.call(Shape::Lower, [on]);
                }
                self.text_test(&mut make, on, test)
            }
            Kind::AnyEntry(EntryTest { map, depth, test, is_lowered }) => {
                let range = make.field(*map);
                let (operand, index) = (make.field(*map), make.local(*depth));
                let mut on =
                    make.node(Node::Index(Box::new(Index { operand, index, optional: false })));
                if *is_lowered {
                    on = make.call(Shape::Lower, [on]);
                }
                let body = self.text_test(&mut make, on, test);
                make.exists(*depth, range, body)
            }
            Kind::Number { text, operator, literal } => {
                let text = make.key(*text, 3);
                let number = make.call(Shape::Double, [text]);
                let literal = make.literal(Value::Double(f64::from_bits(*literal)));
                make.operation(*operator, [number, literal])
            }
            Kind::Integer { slot, operator, literal } => {
                let number = make.field(*slot);
                let literal = make.literal(Value::Int(*literal));
                make.operation(*operator, [number, literal])
            }
            Kind::Size { slot, operator, literal } => {
                let field = make.field(*slot);
                let size = make.call(Shape::Size, [field]);
                let literal = make.literal(Value::Int(*literal));
                make.operation(*operator, [size, literal])
            }
            Kind::HasKey { map, is_member: true, .. } => {
                let operand = make.field(*map);
                let field = Box::from(&*self.text());
                make.node(Node::Has(Box::new(Member { operand, field, optional: false })))
            }
            Kind::HasKey { map, is_member: false, .. } => {
                let operands = [make.literal(Value::String(self.text())), make.field(*map)];
                make.operation(Operator::In, operands)
            }
            Kind::Address(test) if test.otherwise.is_some() => {
                let arguments = [make.field(test.field.slot), make.literal(self.texts())];
                make.call(Shape::InNetworks, arguments)
            }
            Kind::Address(test) => {
                let text = make.literal(self.texts());
                make.has_address(text, test.field.slot)
            }
            Kind::FirstNetwork(test) => {
                let range = make.literal(self.texts());
                let text = make.local(test.depth);
                let body = make.has_address(text, test.field.slot);
                make.exists(test.depth, range, body)
            }
        }
    }

    fn text_test(&self, make: &mut Maker<'_>, on: Expr, test: &TextTest) -> Expr {
        let constant = match test {
            TextTest::In(_) => self.texts(),
            _ => Value::String(self.text()),
        };
        let operands = [on, make.literal(constant)];
        match test {
            TextTest::Equals => make.operation(Operator::Equal, operands),
            TextTest::Differs => make.operation(Operator::NotEqual, operands),
            TextTest::In(_) => make.operation(Operator::In, operands),
            TextTest::Contains(_) => make.call(Shape::Has(Place::Anywhere), operands),
            TextTest::StartsWith => make.call(Shape::Has(Place::Start), operands),
            TextTest::EndsWith => make.call(Shape::Has(Place::End), operands),
            TextTest::Matches(pattern) => {
                let function = functions::of_shape(Shape::Matches);
                let prepared = Prepared::Patterns([pattern.clone()].into());
                make.node(Node::Call(Box::new(Call::new(function, operands.into(), prepared))))
            }
        }
    }

    /// The constant, where it is one text.
    fn text(&self) -> Text<'static> {
        Text::shared(std::str::from_utf8(self.constant()).unwrap_or_default())
    }

    /// The constant, where it may be a list.
    fn texts(&self) -> Value<'static> {
        serde_json::from_slice(self.constant()).map_or(Value::Null, |json| texts_of_json(&json))
    }
}

/// Makes nodes, those inside a node before it.
struct Maker<'p> {
    start: u32,
    spans: Iter<'p, Span>,
}

impl Maker<'_> {
    /// A node at the next place.
    fn node(&mut self, node: Node) -> Expr {
        Expr { span: self.span(), node }
    }

    fn span(&mut self) -> Span {
        self.spans.next().map_or_else(Span::default, |span| moved(*span, self.start))
    }

    fn field(&mut self, slot: Slot) -> Expr {
        self.node(Node::Field(slot))
    }

    fn local(&mut self, depth: u32) -> Expr {
        self.node(Node::Local(depth as usize))
    }

    fn literal(&mut self, value: Value<'static>) -> Expr {
        self.node(Node::Literal(Box::new(value)))
    }

    /// The node of a key, which has all places except those of the nodes after it.
    fn key(&mut self, key: KeySlot, after: usize) -> Expr {
        let entered = self.spans.len().saturating_sub(after);
        let entered: Box<[Span]> = (0..entered).map(|_| self.span()).collect();
        let span = entered.first().copied().unwrap_or_default();
        Expr { span, node: Node::SectionKey(Box::new(SectionKey { key, entered })) }
    }

    fn call<const N: usize>(&mut self, shape: Shape, arguments: [Expr; N]) -> Expr {
        let prepared = prepare(shape, &arguments, &Lists::default());
        let call = Call::new(functions::of_shape(shape), arguments.into(), prepared);
        self.node(Node::Call(Box::new(call)))
    }

    fn operation(&mut self, operator: Operator, operands: [Expr; 2]) -> Expr {
        self.node(Node::Operator(Box::new(Operation::new(operator, operands.into()))))
    }

    /// `cidr(text).containsIP(field)`.
    fn has_address(&mut self, text: Expr, field: Slot) -> Expr {
        let arguments = [self.call(Shape::Network, [text]), self.field(field)];
        self.call(Shape::HasAddress, arguments)
    }

    fn exists(&mut self, depth: u32, range: Expr, body: Expr) -> Expr {
        self.node(Node::Comprehension(Box::new(Comprehension {
            operation: Macro::Exists,
            has_two_variables: false,
            depth: depth as usize,
            range,
            condition: None,
            body,
        })))
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
