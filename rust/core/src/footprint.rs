//! What compiled rules occupy: each allocation once, however many rules share it.

use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::mem::size_of_val;
use triomphe::Arc;

use crate::predicate::{Kind, Predicate, TextTest};
use crate::prepare::Prepared;
use crate::program::{Call, Expr, Node, Program};
use crate::value::{Text, Value};
use tidegate_regex::Regex;

/// The count before what is shared, and both where it can be referred to weakly.
const COUNT: usize = size_of::<usize>();
const COUNTS: usize = 2 * COUNT;

/// Bytes on the heap, counted from rules.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    bytes: usize,
    /// Where what is shared lies.
    seen: HashSet<usize, RandomState>,
}

impl Footprint {
    /// The bytes of all that was added.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add_program(&mut self, program: &Program) {
        if self.is_new(Arc::as_ptr(&program.root).addr()) {
            self.add(COUNT.saturating_add(size_of::<Expr>()));
            self.add_parts(&program.root);
        }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn is_new(&mut self, address: usize) -> bool {
        self.seen.insert(address)
    }

    /// What an expression has beside itself.
    fn add_parts(&mut self, expression: &Expr) {
        match &expression.node {
            Node::Field(_) | Node::HasField(_) | Node::Undeclared | Node::Local(_) => {}
            Node::Literal(value) => {
                self.add(size_of_val(&**value));
                self.add_value(value);
            }
            Node::Select(member) | Node::Has(member) => {
                self.add(size_of_val(&**member).saturating_add(member.field.len()));
            }
            Node::Index(index) => self.add(size_of_val(&**index)),
            Node::Call(call) => self.add_call(call),
            Node::Operator(operation) => {
                self.add(size_of_val(&**operation));
                self.add(size_of_val(&*operation.arguments));
                self.add(operation.members.as_ref().map_or(0, |members| members.memory_bytes()));
            }
            Node::And(operands) | Node::Or(operands) => self.add(operands.memory_bytes()),
            Node::Not(operand) => self.add(size_of_val(&**operand)),
            Node::Conditional(conditional) => self.add(size_of_val(&**conditional)),
            Node::List(elements) => self.add(elements.memory_bytes()),
            Node::Map(entries) => self.add(entries.memory_bytes()),
            Node::Comprehension(comprehension) => self.add(size_of_val(&**comprehension)),
            Node::Bind(bind) => self.add(size_of_val(&**bind)),
            Node::OptionalMap(mapped) => self.add(size_of_val(&**mapped)),
            Node::SectionKey(section_key) => {
                self.add(size_of_val(&**section_key));
                self.add(size_of_val(&*section_key.entered));
            }
            Node::Predicate(predicate) => self.add_predicate(predicate),
        }
        expression.each_child(&mut |child| self.add_parts(child));
    }

    fn add_call(&mut self, call: &Call) {
        self.add(size_of_val(call));
        self.add(size_of_val(&*call.arguments));
        self.add(call.literals.len());
        match &call.prepared {
            Prepared::Parts(parts) => self.add(parts.memory_usage()),
            Prepared::Patterns(patterns) => {
                self.add(size_of_val(&**patterns));
                patterns.iter().for_each(|pattern| self.add_pattern(pattern));
            }
            Prepared::Part(part) => self.add(part.memory_bytes()),
            Prepared::Like(pattern) => self.add(pattern.memory_bytes()),
            Prepared::Networks(networks) => self.add(networks.memory_bytes()),
            Prepared::Nothing
            | Prepared::Address(_)
            | Prepared::Network(_)
            | Prepared::List(_)
            | Prepared::Zone(_) => {}
        }
    }

    fn add_predicate(&mut self, predicate: &Predicate) {
        if !self.is_new(predicate.address()) {
            return;
        }
        self.add(predicate.memory_bytes());
        match &predicate.kind {
            Kind::Text { test, .. } => self.add_test(test),
            Kind::AnyEntry(entry) => self.add_test(&entry.test),
            Kind::Address(test) => {
                self.add(size_of_val(&**test));
                self.add(test.networks.memory_bytes());
            }
            Kind::FirstNetwork(test) => {
                self.add(size_of_val(&**test));
                self.add(test.networks.memory_bytes());
                self.add(size_of_val(&*test.walks));
            }
            Kind::Number { .. } | Kind::Integer { .. } | Kind::Size { .. } | Kind::HasKey(_) => {}
        }
    }

    fn add_test(&mut self, test: &TextTest) {
        match test {
            TextTest::Matches { pattern, .. } => self.add_pattern(pattern),
            TextTest::In(members) => self.add(members.memory_bytes()),
            TextTest::Equals(_)
            | TextTest::Differs(_)
            | TextTest::Contains { .. }
            | TextTest::StartsWith(_)
            | TextTest::EndsWith(_) => {}
        }
    }

    fn add_pattern(&mut self, pattern: &Regex) {
        if self.is_new(pattern.address()) {
            self.add(COUNTS.saturating_add(pattern.memory_bytes()));
        }
    }

    fn add_value(&mut self, value: &Value<'static>) {
        match value {
            Value::String(Text::Shared(text)) => self.add(COUNTS.saturating_add(text.len())),
            Value::Bytes(bytes) => self.add(COUNTS.saturating_add(bytes.len())),
            Value::List(values) => {
                self.add(COUNTS.saturating_add(size_of_val(&**values)));
                values.iter().for_each(|value| self.add_value(value));
            }
            _ => {}
        }
    }
}
