//! The decoder from the canonical JSON of checked trees to programs.
//!
//! The JSON may be untrusted: anything but a tree of this version is rejected with a pointer to the
//! place, and the depth is bounded.

use crate::event::layout::Layout;
use crate::functions::named_lists::Lists;
use crate::functions::operators::Operator;
use crate::functions::prepared::Prepared;
use crate::functions::{self, Shape};
use crate::json::tree::{Members, Tree};
use crate::program::constant::read_value;
use crate::program::prepare::{Preparer, literal, prepare};
use crate::program::recognise::{Predicates, recognise};
use crate::program::{
    Bind, Call, Comprehension, Conditional, Element, Entry, Expr, Index, Macro, Member, Node,
    Operation, OptionalMap, Program, SectionKey,
};
use crate::value::Value;
use crate::value::error::{ProgramError, Span};
use crate::value::limits::MAX_TREE_DEPTH;

/// The version of the canonical form that is read.
pub const VERSION: u64 = 1;

type Result<T> = std::result::Result<T, ProgramError>;

/// A compiler of programs for one layout, which share equal parts.
pub struct Compiler<'c> {
    layout: &'c mut Layout,
    lists: &'c Lists,
    preparer: Preparer,
    predicates: Predicates,
}

impl<'c> Compiler<'c> {
    pub fn new(layout: &'c mut Layout, lists: &'c Lists) -> Self {
        let (preparer, predicates) = (Preparer::default(), Predicates::default());
        Self { layout, lists, preparer, predicates }
    }

    /// Compiles one expression from its envelope.
    ///
    /// # Errors
    /// The JSON isn't a checked tree of this version.
    pub fn compile(&mut self, envelope: &Tree<'_>) -> Result<Program> {
        let envelope = object(envelope)?;
        if envelope.get("version").and_then(Tree::as_u64) != Some(VERSION) {
            return Err(refused("the version is not supported").within("version"));
        }
        let mut decoder = Decoder { compiler: self, scope: Vec::new() };
        let root = decoder.child(envelope, "root", 0)?;
        Ok(Program::new(root))
    }
}

/// Decodes one tree; `scope` has the names of the variables on the stack.
struct Decoder<'d, 'c> {
    compiler: &'d mut Compiler<'c>,
    scope: Vec<String>,
}

impl Decoder<'_, '_> {
    fn child(&mut self, parent: &Members<'_>, name: &str, depth: usize) -> Result<Expr> {
        self.expression(member(parent, name)?, depth).map_err(|error| error.within(name))
    }

    fn children(&mut self, parent: &Members<'_>, name: &str, depth: usize) -> Result<Box<[Expr]>> {
        each(parent, name, |json| self.expression(json, depth))
    }

    fn expression(&mut self, json: &Tree<'_>, depth: usize) -> Result<Expr> {
        let depth = depth.saturating_add(1);
        if depth > MAX_TREE_DEPTH {
            return Err(refused("the tree is too deep"));
        }
        let object = object(json)?;
        let span = span(object)?;
        let node = self.node(object, depth)?;
        let expression = self.with_key_slot(object, Expr { span, node });
        let Compiler { layout, predicates, .. } = &mut *self.compiler;
        Ok(recognise(expression, layout, predicates))
    }

    fn node(&mut self, object: &Members<'_>, depth: usize) -> Result<Node> {
        Ok(match text(object, "kind")? {
            "literal" => {
                let value = read_value(member(object, "value")?);
                Node::Literal(Box::new(value.map_err(|message| refused(&message).within("value"))?))
            }
            "field" => match self.compiler.layout.slot(text(object, "name")?) {
                Some(slot) => Node::Field(slot),
                None => Node::Undeclared,
            },
            "has_field" => match self.compiler.layout.slot(text(object, "name")?) {
                Some(slot) => Node::HasField(slot),
                None => Node::Literal(Box::new(Value::Bool(false))),
            },
            "local" => {
                let name = text(object, "name")?;
                let position = self.scope.iter().rposition(|each| each == name);
                Node::Local(position.ok_or_else(|| refused("no macro binds the variable"))?)
            }
            "select" => Node::Select(self.member_of(object, depth)?),
            "has" => Node::Has(self.member_of(object, depth)?),
            "index" => Node::Index(Box::new(Index {
                operand: self.child(object, "operand", depth)?,
                index: self.child(object, "index", depth)?,
                optional: flag(object, "optional")?,
            })),
            "call" => self.call(object, depth)?,
            "and" => Node::And(self.operands(object, depth)?.into()),
            "or" => Node::Or(self.operands(object, depth)?.into()),
            "conditional" => {
                let arguments = self.children(object, "args", depth)?;
                let Ok(arguments) = <Box<[Expr; 3]>>::try_from(arguments) else {
                    return Err(refused("a conditional has three arguments").within("args"));
                };
                let [condition, then, otherwise] = *arguments;
                Node::Conditional(Box::new(Conditional { condition, then, otherwise }))
            }
            "list" => {
                Node::List(each(object, "elements", |json| self.element(json, depth))?.into())
            }
            "map" => Node::Map(each(object, "entries", |json| self.entry(json, depth))?.into()),
            "comprehension" => Node::Comprehension(Box::new(self.comprehension(object, depth)?)),
            "bind" => Node::Bind(Box::new(self.bind(object, depth)?)),
            "slot" => Node::Slot(Box::new(self.bind(object, depth)?)),
            "optional_map" => {
                let operand = self.child(object, "operand", depth)?;
                let body = self.body(object, &[text(object, "variable")?], depth)?;
                let is_flat = flag(object, "flat")?;
                Node::OptionalMap(Box::new(OptionalMap { operand, body, is_flat }))
            }
            _ => return Err(refused("there is no such kind of node").within("kind")),
        })
    }

    fn bind(&mut self, object: &Members<'_>, depth: usize) -> Result<Bind> {
        let value = self.child(object, "value", depth)?;
        let body = self.body(object, &[text(object, "variable")?], depth)?;
        Ok(Bind { value, body })
    }

    fn member_of(&mut self, object: &Members<'_>, depth: usize) -> Result<Box<Member>> {
        Ok(Box::new(Member {
            operand: self.child(object, "operand", depth)?,
            field: text(object, "field")?.into(),
            optional: flag(object, "optional")?,
        }))
    }

    fn operands(&mut self, object: &Members<'_>, depth: usize) -> Result<Box<[Expr]>> {
        let operands = self.children(object, "args", depth)?;
        if operands.len() < 2 {
            return Err(refused("a chain has two operands or more").within("args"));
        }
        Ok(operands)
    }

    fn call(&mut self, object: &Members<'_>, depth: usize) -> Result<Node> {
        let name = text(object, "function")?;
        let is_member = flag(object, "member")?;
        let arguments = self.children(object, "args", depth)?;
        let arguments = match <Box<[Expr; 1]>>::try_from(arguments) {
            Ok(operand) if name == "!" => {
                let [operand] = *operand;
                return Ok(Node::Not(Box::new(operand)));
            }
            Ok(operand) => operand,
            Err(arguments) => arguments,
        };
        if let Some(operator) = Operator::from_sign(name, arguments.len()) {
            return Ok(Node::Operator(Box::new(Operation::new(operator, arguments))));
        }
        // An option of the checker lets unknown functions pass; calling one is an error.
        let function = functions::find(name, is_member).unwrap_or(&functions::UNKNOWN);
        let prepared = match object.get("regexes") {
            None => prepare(function.shape, &arguments, self.compiler.lists),
            Some(_) => self.patterns(object, function.shape != Shape::Matches)?,
        };
        Ok(Node::Call(Box::new(Call::new(function, arguments, prepared))))
    }

    fn patterns(&mut self, object: &Members<'_>, finds: bool) -> Result<Prepared> {
        let texts = each(object, "regexes", |json| {
            json.as_str().ok_or_else(|| refused("a pattern must be a string"))
        })?;
        let prepared = self.compiler.preparer.patterns(&texts, finds);
        prepared.map_err(|message| refused(&message).within("regexes"))
    }

    fn element(&mut self, json: &Tree<'_>, depth: usize) -> Result<Element> {
        let object = object(json)?;
        let value = self.child(object, "value", depth)?;
        Ok(Element { value, optional: flag(object, "optional")? })
    }

    fn entry(&mut self, json: &Tree<'_>, depth: usize) -> Result<Entry> {
        let object = object(json)?;
        Ok(Entry {
            key: self.child(object, "key", depth)?,
            value: self.child(object, "value", depth)?,
            optional: flag(object, "optional")?,
        })
    }

    fn comprehension(&mut self, object: &Members<'_>, depth: usize) -> Result<Comprehension> {
        let operation = match text(object, "macro")? {
            "all" => Macro::All,
            "exists" => Macro::Exists,
            "exists_one" => Macro::ExistsOne,
            "map" => Macro::Map,
            "filter" => Macro::Filter,
            "sortBy" => Macro::SortBy,
            "transformList" => Macro::TransformList,
            "transformMap" => Macro::TransformMap,
            "transformMapEntry" => Macro::TransformMapEntry,
            _ => return Err(refused("there is no such macro").within("macro")),
        };
        let variables = each(object, "variables", |json| {
            json.as_str().ok_or_else(|| refused("a variable must be a string"))
        })?;
        if !matches!(variables.len(), 1 | 2) {
            return Err(refused("a macro has one or two variables").within("variables"));
        }
        let range = self.child(object, "range", depth)?;
        let depth_of_locals = self.scope.len();
        self.scope.extend(variables.iter().map(|name| (*name).to_owned()));
        let condition = match object.get("condition") {
            None | Some(Tree::Null) => None,
            Some(_) => Some(self.child(object, "condition", depth)?),
        };
        let body = self.child(object, "body", depth)?;
        self.scope.truncate(depth_of_locals);
        Ok(Comprehension {
            operation,
            has_two_variables: variables.len() == 2,
            depth: depth_of_locals,
            range,
            condition,
            body,
        })
    }

    fn body(&mut self, object: &Members<'_>, variables: &[&str], depth: usize) -> Result<Expr> {
        let bound = self.scope.len();
        self.scope.extend(variables.iter().map(|name| (*name).to_owned()));
        let body = self.child(object, "body", depth)?;
        self.scope.truncate(bound);
        Ok(body)
    }

    /// A literal key of a map of the event becomes one node, so that the map
    /// itself need not be built for it.
    fn with_key_slot(&mut self, object: &Members<'_>, expression: Expr) -> Expr {
        let Some((map, key, entered)) = section_key(object, &expression) else {
            return expression;
        };
        let Some(key) = self.compiler.layout.key_slot(map, &key) else { return expression };
        let section_key = SectionKey { key, entered: entered.into() };
        Expr { node: Node::SectionKey(Box::new(section_key)), ..expression }
    }
}

/// The map, the key, and the spans of the nodes entered, of `map[key]` and `map.key`.
fn section_key<'j>(
    object: &'j Members<'j>,
    expression: &Expr,
) -> Option<(&'j str, String, Vec<Span>)> {
    let operand = object.get("operand")?.as_object()?;
    let map = operand.get("name")?.as_str()?;
    let span = expression.span;
    match &expression.node {
        Node::Select(member) if !member.optional => match member.operand.node {
            Node::Field(_) => {
                Some((map, member.field.to_string(), vec![span, member.operand.span]))
            }
            _ => None,
        },
        Node::Index(index) if !index.optional => match (&index.operand.node, literal(&index.index))
        {
            (Node::Field(_), Some(Value::String(key))) => {
                Some((map, key.to_string(), vec![span, index.operand.span, index.index.span]))
            }
            _ => None,
        },
        _ => None,
    }
}

impl ProgramError {
    /// The same error, with a member's step before its pointer.
    pub(crate) fn within(self, step: impl std::fmt::Display) -> Self {
        Self { pointer: format!("/{step}{}", self.pointer), ..self }
    }
}

pub(crate) fn refused(message: &str) -> ProgramError {
    ProgramError { message: message.to_owned(), pointer: String::new() }
}

#[inline]
pub(crate) fn object<'j>(json: &'j Tree<'j>) -> Result<&'j Members<'j>> {
    json.as_object().ok_or_else(|| refused("an object is needed"))
}

#[inline]
pub(crate) fn member<'j>(object: &'j Members<'j>, name: &str) -> Result<&'j Tree<'j>> {
    object.get(name).ok_or_else(|| refused("the member is missing").within(name))
}

#[inline]
pub(crate) fn text<'j>(object: &'j Members<'j>, name: &str) -> Result<&'j str> {
    let text = member(object, name)?.as_str();
    text.ok_or_else(|| refused("a string is needed").within(name))
}

#[inline]
fn flag(object: &Members<'_>, name: &str) -> Result<bool> {
    match object.get(name) {
        None | Some(Tree::Null) => Ok(false),
        Some(json) => json.as_bool().ok_or_else(|| refused("a bool is needed").within(name)),
    }
}

/// Decodes each part of an array.
pub(crate) fn each<'j, T>(
    object: &'j Members<'j>,
    name: &str,
    mut decode: impl FnMut(&'j Tree<'j>) -> Result<T>,
) -> Result<Box<[T]>> {
    let parts = member(object, name)?.as_array();
    let parts = parts.ok_or_else(|| refused("an array is needed").within(name))?;
    let mut decoded = Vec::with_capacity(parts.len());
    for (position, part) in parts.iter().enumerate() {
        decoded.push(decode(part).map_err(|error| error.within(position).within(name))?);
    }
    Ok(decoded.into())
}

fn span(object: &Members<'_>) -> Result<Span> {
    let bound = |json: &Tree<'_>| json.as_u64().and_then(|bound| u32::try_from(bound).ok());
    match member(object, "span")? {
        Tree::Span(start, end) => Some((*start, *end)),
        Tree::Array([start, end]) => bound(start).zip(bound(end)),
        _ => None,
    }
    .map(|(start, end)| Span { start, end })
    .ok_or_else(|| refused("a span is two positions").within("span"))
}

#[cfg(test)]
mod tests;
