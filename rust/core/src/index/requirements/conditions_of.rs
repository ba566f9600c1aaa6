//! The extraction of conditions from expressions.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::field::Field;
use crate::event::layout::{Layout, Slot, Source};
use crate::event::variable::VariableType;
use crate::functions::named_lists::ListIndex;
use crate::functions::operators::Operator;
use crate::functions::prepared::{LikePattern, Prepared};
use crate::functions::{Place, Shape};
use crate::index::requirements::compiled_pattern::{CompiledPattern, CompiledPatterns};
use crate::index::requirements::condition::{Condition, Pattern, TextSource, TextTest};
use crate::index::requirements::formula::{Necessary, Reason};
use crate::predicate::Kind;
use crate::program::{Call, Comprehension, Expr, Node, Operation};
use crate::value::Value;
use crate::value::address::Network;
use tidegate_regex::Regex;

/// No text of an event has a longer part.
const MAX_PART_BYTES: usize = 16 * 1024;

/// The meaning of a macro's variable.
#[derive(Clone, Debug)]
pub(crate) enum Local {
    Unknown,
    Text(Subject),
    /// A key of the map; the value under it is one of the map's.
    KeyOf(Slot),
    Constant(Value<'static>),
}

/// A text that conditions can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) source: TextSource,
    pub(crate) case: Case,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    AsIs,
    Lower,
    Upper,
}

/// A condition that is necessary for an expression to be true, or to be false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extracted {
    pub(crate) condition: u32,
    /// Whether it is sufficient as well, except for errors.
    pub(crate) is_exact: bool,
}

/// A condition with whether it is exact.
type Extraction = Option<(Condition, bool)>;

/// Finds the conditions of expressions and numbers them, equal ones once.
pub(crate) struct Extractor<'l> {
    layout: &'l Layout,
    numbers: HashMap<Condition, u32, RandomState>,
    /// All conditions, by number.
    pub(crate) conditions: Vec<Condition>,
    /// The patterns of conditions.
    pub(crate) patterns: CompiledPatterns,
    /// The meanings of the variables of the enclosing macros.
    pub(crate) locals: Vec<Local>,
    /// The necessary conditions of fields that say whether an action has matched.
    pub(crate) actions: HashMap<Slot, Necessary, RandomState>,
    /// Whether the index must pass over no error.
    pub(crate) judges_errors: bool,
}

impl<'l> Extractor<'l> {
    pub(crate) fn new(layout: &'l Layout) -> Self {
        Self {
            layout,
            numbers: HashMap::default(),
            conditions: Vec::new(),
            patterns: HashMap::default(),
            locals: Vec::new(),
            actions: HashMap::default(),
            judges_errors: false,
        }
    }

    /// The condition that is necessary for an expression to have a value.
    pub(crate) fn extract(&mut self, expression: &Expr, value: bool) -> Option<Extracted> {
        let (condition, is_exact) = self.find(expression, value)?;
        Some(Extracted { condition: self.number(condition), is_exact })
    }

    /// Why an expression has no condition.
    pub(crate) fn reason(&self, expression: &Expr) -> Reason {
        match &expression.node {
            Node::Field(slot) if self.is_late(*slot) => Reason::Decision,
            _ => Reason::Test,
        }
    }

    fn number(&mut self, condition: Condition) -> u32 {
        if let Some(number) = self.numbers.get(&condition) {
            return *number;
        }
        let number = u32::try_from(self.conditions.len()).unwrap_or(u32::MAX);
        self.conditions.push(condition.clone());
        self.numbers.insert(condition, number);
        number
    }

    fn find(&mut self, expression: &Expr, value: bool) -> Extraction {
        match &expression.node {
            Node::Predicate(predicate) => match predicate.kind {
                Kind::HasKey { key, .. } => value.then_some((Condition::Present(key), true)),
                _ => self.find(&predicate.nodes(expression.span.start), value),
            },
            Node::Field(slot) if value && !self.is_late(*slot) => {
                Some((Condition::True(*slot), true))
            }
            Node::Operator(operation) => self.of_operation(operation, value),
            Node::Call(call) if value => self.of_call(call),
            _ => None,
        }
    }

    fn of_operation(&self, operation: &Operation, value: bool) -> Extraction {
        let [left, right] = &*operation.arguments else { return None };
        match (operation.operator, value) {
            (Operator::Equal, true) | (Operator::NotEqual, false) => self
                .equality(left, right)
                .or_else(|| self.equality(right, left))
                .or_else(|| self.comparison(operation.operator, left, right, value)),
            (Operator::In, true) => self.membership(left, right),
            _ => self.comparison(operation.operator, left, right, value),
        }
    }

    fn equality(&self, side: &Expr, other: &Expr) -> Extraction {
        let text = self.constant(other)?.as_str()?;
        self.text_condition(self.subject(side)?, TextTest::Equals, &[text])
    }

    fn membership(&self, element: &Expr, range: &Expr) -> Extraction {
        if let (Some(constant), Node::Field(slot)) = (self.constant(element), &range.node) {
            let subject = Subject { source: self.list_elements(*slot)?, case: Case::AsIs };
            return self.text_condition(subject, TextTest::Equals, &[constant.as_str()?]);
        }
        let Value::List(members) = self.constant(range)? else { return None };
        if let Some(texts) = texts(members) {
            return self.text_condition(self.subject(element)?, TextTest::Equals, &texts);
        }
        self.one_of(element, members)
    }

    fn of_call(&mut self, call: &Call) -> Extraction {
        let [first, second] = &*call.arguments else { return None };
        match call.function.shape {
            Shape::Has(place) => self.one_part(first, second, test_at(place)),
            Shape::HasAny(place) => match call.prepared {
                Prepared::List(list) => self.phrases(first, list, place),
                _ => self.any_part(first, second, test_at(place)),
            },
            Shape::Like => self.like(self.subject(first)?, self.constant(second)?.as_str()?),
            Shape::LikeLower => {
                let subject = Subject { case: Case::Lower, ..self.subject(first)? };
                self.like(subject, &self.constant(second)?.as_str()?.to_ascii_lowercase())
            }
            Shape::Matches => self.patterns(self.subject(first)?, &call.prepared),
            Shape::InList => match (self.subject(first)?, &call.prepared) {
                (Subject { source, case: Case::AsIs }, Prepared::List(list))
                    if self.is_text(source) =>
                {
                    let test = TextTest::InList(*list);
                    Some((Condition::Text { source, is_folded: false, test }, true))
                }
                _ => None,
            },
            Shape::HasAddress => self.network_condition(second, vec![self.network(first)?]),
            Shape::InNetworks => {
                let networks = match self.constant(second)? {
                    Value::List(members) => texts(members)?,
                    other => vec![other.as_str()?],
                };
                let networks: Option<_> =
                    networks.iter().map(|text| Network::parse_entry(text)).collect();
                self.network_condition(first, networks?)
            }
            _ => None,
        }
    }

    fn one_part(&self, on: &Expr, part: &Expr, test: fn(Vec<Box<str>>) -> TextTest) -> Extraction {
        self.text_condition(self.subject(on)?, test, &[self.constant(part)?.as_str()?])
    }

    fn any_part(&self, on: &Expr, parts: &Expr, test: fn(Vec<Box<str>>) -> TextTest) -> Extraction {
        let Value::List(members) = self.constant(parts)? else { return None };
        self.text_condition(self.subject(on)?, test, &texts(members)?)
    }

    /// A test of a text, or of it in lower case, for the phrases of a named list.
    fn phrases(&self, on: &Expr, list: ListIndex, place: Place) -> Extraction {
        let Subject { source, case } = self.subject(on)?;
        let is_folded = case == Case::Lower;
        (case != Case::Upper).then(|| {
            let test = TextTest::HasPhrase(list, place);
            (Condition::Text { source, is_folded, test }, true)
        })
    }

    /// A test of a text for parts; None where an empty part makes it always true.
    fn text_condition(
        &self,
        subject: Subject,
        test: fn(Vec<Box<str>>) -> TextTest,
        parts: &[&str],
    ) -> Extraction {
        let mut is_exact = true;
        let mut folded = Vec::with_capacity(parts.len());
        for part in parts {
            let has_other_case = match subject.case {
                Case::AsIs => false,
                Case::Lower => part.bytes().any(|byte| byte.is_ascii_uppercase()),
                Case::Upper => part.bytes().any(|byte| byte.is_ascii_lowercase()),
            };
            is_exact &= !has_other_case;
            if part.len() > MAX_PART_BYTES {
                return None;
            }
            folded.push(match subject.case {
                Case::AsIs => Box::from(*part),
                Case::Lower | Case::Upper => part.to_ascii_lowercase().into_boxed_str(),
            });
        }
        folded.sort_unstable();
        folded.dedup();
        let test = test(folded);
        if test.is_always_true() {
            return None;
        }
        let is_folded = subject.case != Case::AsIs;
        Some((Condition::Text { source: subject.source, is_folded, test }, is_exact))
    }

    /// A pattern with stars, by the longest text in it.
    fn like(&self, subject: Subject, pattern: &str) -> Extraction {
        let pattern = LikePattern::new(pattern);
        let (first, inside, last) = pattern.parts();
        let Some(last) = last else {
            return self.text_condition(subject, TextTest::Equals, &[first]);
        };
        let inside = inside.iter().map(|part| &**part).max_by_key(|part| part.len()).unwrap_or("");
        let longest = first.len().max(inside.len()).max(last.len());
        let found = if first.len() == longest {
            self.text_condition(subject, TextTest::StartsWith, &[first])
        } else if last.len() == longest {
            self.text_condition(subject, TextTest::EndsWith, &[last])
        } else {
            self.text_condition(subject, TextTest::Contains, &[inside])
        };
        found.map(|(condition, _)| (condition, false))
    }

    fn patterns(&mut self, subject: Subject, prepared: &Prepared) -> Extraction {
        let Prepared::Patterns(patterns) = prepared else { return None };
        let patterns: Vec<Pattern> = patterns.iter().map(|each| self.pattern(each)).collect();
        let source = subject.source;
        let is_folded = match subject.case {
            Case::AsIs => false,
            Case::Lower => true,
            Case::Upper => {
                let required = patterns.into_iter().map(|pattern| pattern.required);
                let mut parts = required.collect::<Option<Vec<_>>>()?.concat();
                parts.sort_unstable();
                parts.dedup();
                let test = TextTest::Contains(parts);
                return Some((Condition::Text { source, is_folded: true, test }, false));
            }
        };
        Some((Condition::Text { source, is_folded, test: TextTest::Matches(patterns) }, true))
    }

    /// A pattern with the texts it requires, which are found once.
    fn pattern(&mut self, regex: &Regex) -> Pattern {
        let text = regex.as_str();
        let known = self.patterns.entry(text.into()).or_insert_with(|| CompiledPattern::new(regex));
        Pattern { text: text.into(), required: known.required.first().cloned() }
    }

    /// `[...].exists(c, cidr(c).containsIP(text))` as one condition, for lists of any length.
    pub(crate) fn network_search(&mut self, comprehension: &Comprehension) -> Option<u32> {
        let Value::List(members) = self.constant(&comprehension.range)? else { return None };
        let nodes;
        let body = match &comprehension.body.node {
            Node::Predicate(predicate) => {
                nodes = predicate.nodes(comprehension.body.span.start);
                &nodes.node
            }
            other => other,
        };
        let Node::Call(contains) = body else { return None };
        let (Shape::HasAddress, [network, address]) =
            (contains.function.shape, &*contains.arguments)
        else {
            return None;
        };
        let Node::Call(cidr) = &network.node else { return None };
        let (Shape::Network, [Expr { node: Node::Local(variable), .. }]) =
            (cidr.function.shape, &*cidr.arguments)
        else {
            return None;
        };
        if *variable != comprehension.depth || comprehension.has_two_variables {
            return None;
        }
        // Text that isn't a network is an error, which never holds.
        let networks = texts(members)?.into_iter().filter_map(Network::parse).collect();
        let (condition, _) = self.network_condition(address, networks)?;
        Some(self.number(condition))
    }

    fn network_condition(&self, address: &Expr, mut networks: Vec<Network>) -> Extraction {
        let text = match &address.node {
            Node::Call(call) if call.function.shape == Shape::Address => call.arguments.first()?,
            _ => address,
        };
        let Subject { source, case: Case::AsIs } = self.subject(text)? else { return None };
        networks = networks.into_iter().map(Network::masked).collect();
        networks.sort_unstable_by_key(|network| (network.address, network.prefix));
        networks.dedup();
        Some((Condition::Network { source, networks }, false))
    }

    fn network(&self, expression: &Expr) -> Option<Network> {
        match &expression.node {
            Node::Call(call) if call.function.shape == Shape::Network => {
                Network::parse(self.constant(call.arguments.first()?)?.as_str()?)
            }
            _ => None,
        }
    }

    /// The source of an expression that is a text.
    pub(crate) fn subject(&self, expression: &Expr) -> Option<Subject> {
        let source = match &expression.node {
            Node::Field(slot) if self.is_late(*slot) => return None,
            Node::Field(slot) => TextSource::Field(*slot),
            Node::SectionKey(section_key) => TextSource::Key(section_key.key),
            Node::Local(position) => match self.locals.get(*position)? {
                Local::Text(subject) => return Some(*subject),
                Local::KeyOf(slot) => TextSource::Keys(*slot),
                Local::Unknown | Local::Constant(_) => return None,
            },
            Node::Index(index) if !index.optional => match (&index.operand.node, &index.index.node)
            {
                (Node::Field(map), Node::Local(position)) => match self.locals.get(*position)? {
                    Local::KeyOf(slot) if slot == map => TextSource::Values(*map),
                    _ => return None,
                },
                _ => return None,
            },
            Node::Call(call) => {
                let case = match call.function.shape {
                    Shape::Lower => Case::Lower,
                    Shape::Upper => Case::Upper,
                    _ => return None,
                };
                return Some(Subject { case, ..self.subject(call.arguments.first()?)? });
            }
            _ => return None,
        };
        Some(Subject { source, case: Case::AsIs })
    }

    /// The meaning of a variable bound to a value.
    pub(crate) fn meaning(&self, value: &Expr) -> Local {
        match (self.constant(value), self.subject(value)) {
            (Some(constant), _) => Local::Constant(constant.clone()),
            (None, Some(subject)) => Local::Text(subject),
            (None, None) => Local::Unknown,
        }
    }

    /// The meanings of the variables of a loop over a range.
    pub(crate) fn elements(&self, range: &Expr, has_two_variables: bool) -> Vec<Local> {
        let text = |source| Local::Text(Subject { source, case: Case::AsIs });
        let (first, second) = match range.node {
            Node::Field(slot) if self.is_section(slot) => {
                (Local::KeyOf(slot), text(TextSource::Values(slot)))
            }
            Node::Field(slot) => match self.list_elements(slot) {
                Some(source) if has_two_variables => (Local::Unknown, text(source)),
                Some(source) => (text(source), Local::Unknown),
                None => (Local::Unknown, Local::Unknown),
            },
            _ => (Local::Unknown, Local::Unknown),
        };
        if has_two_variables { vec![first, second] } else { vec![first] }
    }

    pub(crate) fn constant<'e>(&'e self, expression: &'e Expr) -> Option<&'e Value<'static>> {
        match &expression.node {
            Node::Literal(value) => Some(value),
            Node::Local(position) => match self.locals.get(*position)? {
                Local::Constant(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The elements of a field that is a list of strings.
    fn list_elements(&self, slot: Slot) -> Option<TextSource> {
        match self.source(slot)? {
            Source::Field(Field::PathSegments) => Some(TextSource::Elements(slot)),
            Source::Variable(VariableType::List(element)) if **element == VariableType::String => {
                Some(TextSource::Elements(slot))
            }
            _ => None,
        }
    }

    fn is_section(&self, slot: Slot) -> bool {
        matches!(self.source(slot), Some(Source::Field(Field::Section(_))))
    }

    /// Whether the decision sets the field after the search.
    fn is_late(&self, slot: Slot) -> bool {
        matches!(self.source(slot), Some(Source::Decision) | None)
    }

    pub(crate) const fn layout(&self) -> &'l Layout {
        self.layout
    }

    pub(in crate::index) fn source(&self, slot: Slot) -> Option<&Source> {
        self.layout.source(slot)
    }
}

const fn test_at(place: Place) -> fn(Vec<Box<str>>) -> TextTest {
    match place {
        Place::Anywhere => TextTest::Contains,
        Place::Start => TextTest::StartsWith,
        Place::End => TextTest::EndsWith,
    }
}

pub(in crate::index) fn texts<'v>(values: &'v [Value<'static>]) -> Option<Vec<&'v str>> {
    values.iter().map(Value::as_str).collect()
}
