//! A compiled expression: the checked tree with names turned into numbers, functions into pointers
//! and constants into the data their function works with.
//!
//! [`crate::program::decode`] makes it from JSON, [`crate::evaluate`] runs it. Nodes of common
//! shapes become a [`Predicate`], and are rebuilt when needed.

pub mod constant;
pub mod decode;
mod nodes;
pub(crate) mod prepare;
mod recognise;

use std::ops::Deref;

use triomphe::{Arc, ThinArc};

use crate::event::layout::{KeySlot, Slot};
use crate::functions::Function;
use crate::functions::named_lists::LiteralSet;
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::predicate::Predicate;
use crate::program::prepare::literal;
use crate::value::Value;
use crate::value::error::Span;

/// One expression, ready to run; shared freely between threads and sets.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) root: Arc<Expr>,
}

impl Program {
    pub(crate) fn new(root: Expr) -> Self {
        Self { root: Arc::new(root) }
    }

    /// Passes on the fields that nodes read or test for presence.
    pub(crate) fn fields(&self, take: &mut dyn FnMut(Slot)) {
        fields(&self.root, take);
    }
}

/// A node and its place in the text.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) node: Node,
}

fn fields(expression: &Expr, take: &mut dyn FnMut(Slot)) {
    match &expression.node {
        Node::Field(slot) | Node::HasField(slot) => take(*slot),
        Node::Predicate(predicate) => fields(&predicate.nodes(expression.span.start), take),
        _ => expression.each_child(&mut |child| fields(child, take)),
    }
}

impl Expr {
    /// Passes on the parts of this expression; a predicate is not split.
    pub(crate) fn each_child<'e>(&'e self, take: &mut dyn FnMut(&'e Expr)) {
        match &self.node {
            Node::Literal(_)
            | Node::Field(_)
            | Node::HasField(_)
            | Node::Undeclared
            | Node::Local(_)
            | Node::SectionKey(_)
            | Node::Predicate(_) => {}
            Node::Select(member) | Node::Has(member) => take(&member.operand),
            Node::Index(index) => {
                take(&index.operand);
                take(&index.index);
            }
            Node::Call(call) => call.arguments.iter().for_each(take),
            Node::Operator(operation) => operation.arguments.iter().for_each(take),
            Node::And(operands) | Node::Or(operands) => operands.iter().for_each(take),
            Node::Not(operand) => take(operand),
            Node::Conditional(conditional) => {
                take(&conditional.condition);
                take(&conditional.then);
                take(&conditional.otherwise);
            }
            Node::List(elements) => elements.iter().for_each(|element| take(&element.value)),
            Node::Map(entries) => {
                for entry in &**entries {
                    take(&entry.key);
                    take(&entry.value);
                }
            }
            Node::Comprehension(comprehension) => {
                take(&comprehension.range);
                comprehension.condition.iter().for_each(&mut *take);
                take(&comprehension.body);
            }
            Node::Bind(bind) | Node::Slot(bind) => {
                take(&bind.value);
                take(&bind.body);
            }
            Node::OptionalMap(mapped) => {
                take(&mapped.operand);
                take(&mapped.body);
            }
        }
    }
}

/// The nodes of docs/canonical-tree.md, and two that replace common shapes of them at the same
/// cost: `SectionKey` and `Predicate`.
#[derive(Debug)]
pub(crate) enum Node {
    Literal(Box<Value<'static>>),
    Field(Slot),
    HasField(Slot),
    /// A field that no schema of the bundle declares: every event lacks it.
    Undeclared,
    /// The position of a variable on the stack of locals.
    Local(usize),
    Select(Box<Member>),
    Has(Box<Member>),
    Index(Box<Index>),
    Call(Box<Call>),
    Operator(Box<Operation>),
    And(Parts<Expr>),
    Or(Parts<Expr>),
    Not(Box<Expr>),
    Conditional(Box<Conditional>),
    List(Parts<Element>),
    Map(Parts<Entry>),
    Comprehension(Box<Comprehension>),
    Bind(Box<Bind>),
    /// One value of a block: its error is one where the variable is read.
    Slot(Box<Bind>),
    OptionalMap(Box<OptionalMap>),
    /// `request.headers["host"]` and its like.
    SectionKey(Box<SectionKey>),
    Predicate(Predicate),
}

/// Parts of a node, behind one word. Their number is stored with them, which keeps nodes small.
#[derive(Debug)]
pub(crate) struct Parts<T>(ThinArc<(), T>);

impl<T> From<Box<[T]>> for Parts<T> {
    fn from(parts: Box<[T]>) -> Self {
        Self(ThinArc::from_header_and_iter((), parts.into_iter()))
    }
}

impl<T> Deref for Parts<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0.slice
    }
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) operand: Expr,
    pub(crate) field: Box<str>,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) operand: Expr,
    pub(crate) index: Expr,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: &'static Function,
    pub(crate) arguments: Box<[Expr]>,
    /// Whether each argument is a literal node, which matters to the cost.
    pub(crate) literals: Box<[bool]>,
    pub(crate) prepared: Prepared,
}

impl Call {
    fn new(function: &'static Function, arguments: Box<[Expr]>, prepared: Prepared) -> Self {
        let literals = arguments.iter().map(|argument| literal(argument).is_some()).collect();
        Self { function, arguments, literals, prepared }
    }
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) operator: Operator,
    pub(crate) arguments: Box<[Expr]>,
    /// Members of a literal list on the right of `in`; apart, since most have none.
    pub(crate) members: Option<Box<LiteralSet>>,
}

impl Operation {
    fn new(operator: Operator, arguments: Box<[Expr]>) -> Self {
        let members = match (operator, arguments.get(1).and_then(literal)) {
            (Operator::In, Some(Value::List(values))) => Some(Box::new(LiteralSet::new(values))),
            _ => None,
        };
        Self { operator, arguments, members }
    }
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Expr,
    pub(crate) then: Expr,
    pub(crate) otherwise: Expr,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Macro {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    SortBy,
    TransformList,
    TransformMap,
    TransformMapEntry,
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) operation: Macro,
    /// One name (element, or key of a map) or two (index or key, and value).
    pub(crate) has_two_variables: bool,
    /// The position of the first of them on the stack of locals.
    pub(crate) depth: usize,
    pub(crate) range: Expr,
    pub(crate) condition: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Debug)]
pub(crate) struct Bind {
    pub(crate) value: Expr,
    pub(crate) body: Expr,
}

#[derive(Debug)]
pub(crate) struct OptionalMap {
    pub(crate) operand: Expr,
    pub(crate) body: Expr,
    pub(crate) is_flat: bool,
}

/// A literal key of a map of the event. The spans are those of the nodes it replaces, in evaluation
/// order.
#[derive(Debug)]
pub(crate) struct SectionKey {
    pub(crate) key: KeySlot,
    pub(crate) entered: Box<[Span]>,
}
