//! The evaluation loop: runs a program over a record, as docs/canonical-tree.md defines.
//!
//! Recursion is bounded because decoding bounds the depth of a tree.

pub(crate) mod comprehension;
pub mod run;

use smallvec::SmallVec;

use crate::event::record::Record;
use crate::functions;
use crate::functions::named_lists::Lists;
use crate::functions::operators;
use crate::functions::operators::{Applied, find_key};
use crate::predicate::Predicate;
use crate::program::{
    Bind, Call, Conditional, Element, Entry, Expr, Index, Member, Node, Operation, OptionalMap,
    SectionKey,
};
use crate::value::error::{ErrorCode, Failure, Span};
use crate::value::map::{KeyError, Map, integral};
pub use crate::value::meter::Meter;
use crate::value::{Text, Value};

/// A value, or the reason why it is missing.
pub(crate) type Evaluated<'a> = Result<Value<'a>, Failure>;

/// One evaluation: the data it may see, and the units it has spent.
pub(crate) struct Evaluation<'a, 'e> {
    pub(crate) record: &'e Record<'a>,
    lists: &'a Lists,
    pub(crate) meter: &'e mut Meter,
    /// The variables of the enclosing macros, the innermost last.
    pub(crate) locals: SmallVec<[Value<'a>; 2]>,
    /// The positions of locals whose values are errors.
    failed: Vec<(usize, Failure)>,
}

impl<'a, 'e> Evaluation<'a, 'e> {
    #[inline]
    pub(crate) fn new(record: &'e Record<'a>, lists: &'a Lists, meter: &'e mut Meter) -> Self {
        Self { record, lists, meter, locals: SmallVec::new(), failed: Vec::new() }
    }

    /// The same evaluation, for nodes with a shorter lifetime.
    fn again(&mut self) -> Evaluation<'_, '_> {
        Evaluation {
            record: self.record,
            lists: self.lists,
            meter: self.meter,
            locals: self.locals.iter().cloned().collect(),
            failed: self.failed.clone(),
        }
    }

    /// Spends units on account of a node.
    #[inline]
    pub(crate) fn charge(&mut self, units: u64, span: Span) -> Result<(), Failure> {
        self.meter.charge(units).map_err(|code| Failure { code, span })
    }

    /// The value of a node.
    pub(crate) fn evaluate(&mut self, expression: &'a Expr) -> Evaluated<'a> {
        let span = expression.span;
        match &expression.node {
            Node::Predicate(predicate) => {
                return self.predicate(predicate, span.start).map(Value::Bool);
            }
            Node::SectionKey(section_key) => return self.section_key(section_key),
            _ => self.charge(1, span)?,
        }
        match &expression.node {
            Node::Literal(value) => Ok(value.borrow()),
            Node::Field(slot) => self.record.get(*slot).cloned().ok_or(ErrorCode::NoSuchField),
            Node::HasField(slot) => Ok(Value::Bool(self.record.get(*slot).is_some())),
            Node::Local(position) => return self.local(*position, span),
            Node::And(operands) => return self.and(operands).map(Value::Bool),
            Node::Or(operands) => return self.or(operands).map(Value::Bool),
            Node::Not(operand) => return self.not(operand, span).map(Value::Bool),
            Node::Operator(operation) => return self.operation(operation, span),
            Node::Call(call) => return self.call(call, span),
            Node::Select(member) => return self.select(member, span),
            Node::Has(member) => return self.has(member, span).map(Value::Bool),
            Node::Index(index) => return self.index(index, span),
            Node::Conditional(conditional) => return self.conditional(conditional),
            Node::List(elements) => return self.list(elements, span),
            Node::Map(entries) => return self.map(entries, span),
            Node::Comprehension(comprehension) => return self.comprehend(comprehension, span),
            Node::Bind(bind) => return self.bind(bind),
            Node::Slot(bind) => return self.slot(bind),
            Node::OptionalMap(mapped) => return self.optional_map(mapped, span),
            Node::Undeclared | Node::Predicate(_) | Node::SectionKey(_) => {
                Err(ErrorCode::NoSuchField)
            }
        }
        .map_err(|code| Failure { code, span })
    }

    /// The value of a node that must be a bool.
    #[inline]
    pub(crate) fn test(&mut self, expression: &'a Expr) -> Result<bool, Failure> {
        match &expression.node {
            Node::Predicate(predicate) => self.predicate(predicate, expression.span.start),
            Node::And(operands) => {
                self.charge(1, expression.span)?;
                self.and(operands)
            }
            Node::Or(operands) => {
                self.charge(1, expression.span)?;
                self.or(operands)
            }
            Node::Not(operand) => {
                self.charge(1, expression.span)?;
                self.not(operand, expression.span)
            }
            _ => match self.evaluate(expression)? {
                Value::Bool(value) => Ok(value),
                _ => Err(Failure { code: ErrorCode::NoSuchOverload, span: expression.span }),
            },
        }
    }

    /// Whether a predicate holds, by its own test or by its nodes; `start` is its place in its
    /// text.
    #[inline]
    fn predicate(&mut self, predicate: &Predicate, start: u32) -> Result<bool, Failure> {
        match predicate.holds(self.record, self.meter) {
            Some(holds) => Ok(holds),
            None => self.nodes_of(predicate, start),
        }
    }

    #[cold]
    fn nodes_of(&mut self, predicate: &Predicate, start: u32) -> Result<bool, Failure> {
        if let Some((slot, entered)) = predicate.first_field()
            && self.record.get(slot).is_none()
            && self.meter.try_charge(entered)
        {
            let span = predicate.first_span(start);
            return Err(Failure { code: ErrorCode::NoSuchField, span });
        }
        let nodes = predicate.nodes(start);
        self.again().test(&nodes)
    }

    fn and(&mut self, operands: &'a [Expr]) -> Result<bool, Failure> {
        let mut absorbed = Absorbed::new(false);
        for operand in operands {
            let outcome = self.test(operand);
            if let Some(decided) = absorbed.take(outcome) {
                return decided;
            }
        }
        absorbed.end()
    }

    fn or(&mut self, operands: &'a [Expr]) -> Result<bool, Failure> {
        let mut absorbed = Absorbed::new(true);
        for operand in operands {
            let outcome = self.test(operand);
            if let Some(decided) = absorbed.take(outcome) {
                return decided;
            }
        }
        absorbed.end()
    }

    fn not(&mut self, operand: &'a Expr, span: Span) -> Result<bool, Failure> {
        match self.evaluate(operand)? {
            Value::Bool(value) => Ok(!value),
            _ => Err(Failure { code: ErrorCode::NoSuchOverload, span }),
        }
    }

    fn conditional(&mut self, conditional: &'a Conditional) -> Evaluated<'a> {
        if self.test(&conditional.condition)? {
            self.evaluate(&conditional.then)
        } else {
            self.evaluate(&conditional.otherwise)
        }
    }

    fn operation(&mut self, operation: &'a Operation, span: Span) -> Evaluated<'a> {
        let applied = match &*operation.arguments {
            [operand] => operators::negate(&self.evaluate(operand)?),
            [left, right] => {
                let left = self.evaluate(left)?;
                let right = self.evaluate(right)?;
                match &operation.members {
                    Some(members) => {
                        self.charge(1, span)?;
                        Ok(Value::Bool(members.contains(&left)))
                    }
                    None => operators::apply_binary(operation.operator, &left, &right, self.meter),
                }
            }
            _ => Err(ErrorCode::NoSuchOverload),
        };
        applied.map_err(|code| Failure { code, span })
    }

    fn call(&mut self, call: &'a Call, span: Span) -> Evaluated<'a> {
        let mut arguments: SmallVec<[Value<'a>; 3]> = SmallVec::new();
        for argument in &call.arguments {
            arguments.push(self.evaluate(argument)?);
        }
        let context = functions::Call {
            meter: self.meter,
            prepared: &call.prepared,
            lists: self.lists,
            pricing: call.function.pricing,
            literals: &call.literals,
        };
        functions::apply(call.function, context, &arguments).map_err(|code| Failure { code, span })
    }

    /// A literal key of a map of the event: `""` when the event lacks it.
    fn section_key(&mut self, section_key: &SectionKey) -> Evaluated<'a> {
        for span in &section_key.entered {
            self.charge(1, *span)?;
        }
        let text = self.record.key(section_key.key).unwrap_or_default();
        Ok(Value::String(Text::Borrowed(text)))
    }

    fn select(&mut self, member: &'a Member, span: Span) -> Evaluated<'a> {
        let operand = self.evaluate(&member.operand)?;
        let key = Value::String(Text::Borrowed(&member.field));
        reach(&operand, &key, member.optional, member_of).map_err(|code| Failure { code, span })
    }

    fn index(&mut self, index: &'a Index, span: Span) -> Evaluated<'a> {
        let operand = self.evaluate(&index.operand)?;
        let key = self.evaluate(&index.index)?;
        reach(&operand, &key, index.optional, element_of).map_err(|code| Failure { code, span })
    }

    fn has(&mut self, member: &'a Member, span: Span) -> Result<bool, Failure> {
        let operand = self.evaluate(&member.operand)?;
        let map = match &operand {
            Value::Optional(None) => return Ok(false),
            Value::Optional(Some(content)) => content,
            other => other,
        };
        match map {
            Value::Map(map) => Ok(map.get_text(&member.field).is_some()),
            Value::TotalMap(map) => Ok(map.find(&member.field).is_some()),
            _ => Err(Failure { code: ErrorCode::NoSuchOverload, span }),
        }
    }

    fn list(&mut self, elements: &'a [Element], span: Span) -> Evaluated<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.evaluate(&element.value)?;
            values.extend(given(value, element.optional, span)?);
        }
        Ok(Value::List(values.into()))
    }

    fn map(&mut self, entries: &'a [Entry], span: Span) -> Evaluated<'a> {
        let mut map = Map::default();
        for entry in entries {
            let key = self.evaluate(&entry.key)?;
            let value = self.evaluate(&entry.value)?;
            if let Some(value) = given(value, entry.optional, span)? {
                insert(&mut map, key, value).map_err(|code| Failure { code, span })?;
            }
        }
        Ok(Value::Map(map.into()))
    }

    fn bind(&mut self, bind: &'a Bind) -> Evaluated<'a> {
        let value = self.evaluate(&bind.value)?;
        self.with_local(value, &bind.body)
    }

    fn local(&self, position: usize, span: Span) -> Evaluated<'a> {
        match self.failed.iter().find(|(failed, _)| *failed == position) {
            Some((_, failure)) => Err(*failure),
            None => {
                let value = self.locals.get(position).cloned();
                value.ok_or(Failure { code: ErrorCode::NoSuchField, span })
            }
        }
    }

    fn slot(&mut self, slot: &'a Bind) -> Evaluated<'a> {
        let failed = self.failed.len();
        let value = match self.evaluate(&slot.value) {
            Err(failure) if failure.code != ErrorCode::CostExceeded => {
                self.failed.push((self.locals.len(), failure));
                Value::Null
            }
            value => value?,
        };
        let result = self.with_local(value, &slot.body);
        self.failed.truncate(failed);
        result
    }

    fn optional_map(&mut self, mapped: &'a OptionalMap, span: Span) -> Evaluated<'a> {
        let no_overload = Failure { code: ErrorCode::NoSuchOverload, span };
        let content = match self.evaluate(&mapped.operand)? {
            Value::Optional(Some(content)) => Value::clone(&content),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            _ => return Err(no_overload),
        };
        let value = self.with_local(content, &mapped.body)?;
        match value {
            value if !mapped.is_flat => Ok(Value::some(value)),
            Value::Optional(_) => Ok(value),
            _ => Err(no_overload),
        }
    }

    /// The value of a body that sees one more variable.
    fn with_local(&mut self, value: Value<'a>, body: &'a Expr) -> Evaluated<'a> {
        self.locals.push(value);
        let result = self.evaluate(body);
        self.locals.pop();
        result
    }
}

/// The outcome of `&&`, `||`, `all` and `exists` while their parts are evaluated.
pub(crate) struct Absorbed {
    deciding: bool,
    first: Option<Failure>,
}

impl Absorbed {
    #[inline]
    pub(crate) const fn new(deciding: bool) -> Self {
        Self { deciding, first: None }
    }

    /// Takes the outcome of one part; the whole outcome if that decides it.
    #[inline]
    pub(crate) fn take(&mut self, outcome: Result<bool, Failure>) -> Option<Result<bool, Failure>> {
        match outcome {
            Ok(value) if value == self.deciding => Some(Ok(value)),
            Ok(_) => None,
            Err(failure) if failure.code == ErrorCode::CostExceeded => Some(Err(failure)),
            Err(failure) => {
                self.first.get_or_insert(failure);
                None
            }
        }
    }

    /// The outcome when no part has decided it.
    #[inline]
    pub(crate) fn end(self) -> Result<bool, Failure> {
        self.first.map_or(Ok(!self.deciding), Err)
    }
}

/// The value of an element or entry; None for an optional one that is empty.
fn given(value: Value<'_>, optional: bool, span: Span) -> Result<Option<Value<'_>>, Failure> {
    match value {
        value if !optional => Ok(Some(value)),
        Value::Optional(content) => Ok(content.map(|content| Value::clone(&content))),
        _ => Err(Failure { code: ErrorCode::NoSuchOverload, span }),
    }
}

/// Adds an entry to a map, with the code of why it cannot be added.
pub(crate) fn insert<'a>(
    map: &mut Map<'a>,
    key: Value<'a>,
    value: Value<'a>,
) -> Result<(), ErrorCode> {
    map.insert(key, value).map_err(|error| match error {
        KeyError::Kind => ErrorCode::NoSuchOverload,
        KeyError::Repeated => ErrorCode::InvalidArgument,
    })
}

/// Gets the value under a key. None if an optional form gives an empty optional.
type Step<'a> = fn(&Value<'a>, &Value<'_>, bool) -> Result<Option<Value<'a>>, ErrorCode>;

/// Takes a member or element, looking into an optional operand.
fn reach<'a>(operand: &Value<'a>, key: &Value<'_>, optional: bool, step: Step<'a>) -> Applied<'a> {
    let (whole, optional) = match operand {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(content)) => (&**content, true),
        other => (other, optional),
    };
    match step(whole, key, optional)? {
        Some(value) if optional => Ok(Value::some(value)),
        Some(value) => Ok(value),
        None => Ok(Value::Optional(None)),
    }
}

fn member_of<'a>(
    map: &Value<'a>,
    key: &Value<'_>,
    optional: bool,
) -> Result<Option<Value<'a>>, ErrorCode> {
    let is_total = match map {
        Value::Map(_) => false,
        Value::TotalMap(_) => true,
        _ => return Err(ErrorCode::NoSuchOverload),
    };
    match find_key(map, key) {
        Some(value) => Ok(Some(value)),
        None if optional => Ok(None),
        None if is_total => Ok(Some(Value::String(Text::Borrowed("")))),
        None => Err(ErrorCode::NoSuchKey),
    }
}

fn element_of<'a>(
    whole: &Value<'a>,
    key: &Value<'_>,
    optional: bool,
) -> Result<Option<Value<'a>>, ErrorCode> {
    match (whole, key) {
        (
            Value::Map(_) | Value::TotalMap(_),
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_),
        ) => member_of(whole, key, optional),
        (Value::List(values), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            match values.get(list_index(key)?) {
                Some(value) => Ok(Some(value.clone())),
                None if optional => Ok(None),
                None => Err(ErrorCode::IndexOutOfRange),
            }
        }
        _ => Err(ErrorCode::NoSuchOverload),
    }
}

/// A number as an index; out of range, an index beyond any list.
fn list_index(key: &Value<'_>) -> Result<usize, ErrorCode> {
    let index = match key {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::Uint(index) => usize::try_from(*index).ok(),
        Value::Double(index) if index.trunc() != *index || index.is_infinite() => {
            return Err(ErrorCode::InvalidArgument);
        }
        Value::Double(index) => integral(*index).and_then(|index| usize::try_from(index).ok()),
        _ => None,
    };
    Ok(index.unwrap_or(usize::MAX))
}
