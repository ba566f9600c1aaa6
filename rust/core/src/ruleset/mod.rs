//! A set of rules: many programs over one layout.

mod bundle;
mod change;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bumpalo::Bump;
use serde::Deserialize;

use crate::evaluate::{Evaluation, Meter};
use crate::event::encode::{Settings, encode};
use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::event::sample::Sample;
use crate::event::user_agent::UserAgents;
use crate::event::{self, RawEvent};
use crate::functions::named_lists::{ListDefinition, Lists};
use crate::index::layered::{Built, LayeredIndex, Newest, Part, Segment};
use crate::index::{Extractor, Index, IndexedRule, Report, Rules};
use crate::json::fault::{Fault, FaultKind};
use crate::json::tree;
use crate::json::tree::Tree;
use crate::program::Program;
use crate::program::decode::{Compiler, VERSION, refused};
use crate::value::Value;
use crate::value::address::{Network, NetworkSet};
use crate::value::error::{ErrorCode, EventError, Failure, ProgramError};
use crate::value::limits::Limits;

use bundle::Bundle;
pub use change::ChangeError;
pub(crate) use change::keep_variables;

/// Rules that are true of most events, at most.
const MATCHED: usize = 48;

/// Programs compiled together from a bundle. A set never changes: a change makes another set, which
/// shares the unchanged part ([`RuleSet::with_changes`]).
#[derive(Debug)]
pub struct RuleSet {
    context: Context,
    ids: Box<[Box<str>]>,
    /// The programs, in the order of the ids.
    programs: Arc<[Program]>,
    index: Arc<Built<RuleIndex>>,
    /// Whether a change made the first index.
    is_changed: bool,
    /// The base on which changes of this set build.
    newest: Arc<Newest<Program>>,
}

/// Programs, which lead to their positions.
type RuleIndex = LayeredIndex<Program, u32>;

/// The data that builds an index.
#[derive(Clone, Debug)]
struct Context {
    layout: Arc<Layout>,
    environment: Arc<Environment>,
    sample: Arc<Sample>,
}

/// Data that no change of rules changes.
#[derive(Debug)]
struct Environment {
    lists: Lists,
    limits: Limits,
    trusted_proxies: NetworkSet,
}

/// A program is the same only where it is shared.
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        triomphe::Arc::ptr_eq(&self.root, &other.root)
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.root.as_ptr().addr());
    }
}

/// The end of one evaluation.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub result: Result<Value<'a>, Failure>,
    pub cost: u64,
}

impl RuleSet {
    /// Compiles a bundle.
    ///
    /// # Errors
    /// The text isn't a bundle of this version, or something in it doesn't compile.
    pub fn from_json(bundle: &[u8]) -> Result<Self, ProgramError> {
        let bundle = Bundle::read(bundle)?;
        if bundle.part::<Option<u64>>("version")?.is_some_and(|version| version != VERSION) {
            return Err(refused("the version is not supported").within("version"));
        }
        let fields: BTreeMap<String, String> = bundle.part("fields")?;
        let declared = fields.iter().map(|(name, type_text)| (name.as_str(), type_text.as_str()));
        let mut layout =
            Layout::new(declared).map_err(|error| refused(&error.to_string()).within("fields"))?;
        let definitions: BTreeMap<String, ListDefinition> = bundle.part("lists")?;
        let lists = Lists::new(definitions)?;
        let rules = bundle.compile(Compiler::new(&mut layout, &lists))?;
        let trusted_proxies = proxies(&bundle.part::<Vec<String>>("trusted_proxies")?)?;
        let environment = Environment { limits: bundle.part("limits")?, lists, trusted_proxies };
        let (layout, environment, sample) =
            (Arc::new(layout), Arc::new(environment), Arc::default());
        let context = Context { layout, environment, sample };
        let (ids, programs): (Vec<_>, Vec<_>) = rules.into_iter().unzip();
        Ok(Self {
            context,
            ids: ids.into(),
            programs: programs.into(),
            index: Arc::default(),
            is_changed: false,
            newest: Arc::default(),
        })
    }

    /// The same set with one index trained on events: it knows how often conditions are true of
    /// them. It takes a thousand at most and skips values that are not events. Answers stay the
    /// same.
    #[must_use]
    pub fn trained(self, events: &[&[u8]], user_agents: Option<&'static UserAgents>) -> Self {
        let sample = Sample::of(events, user_agents);
        let index = self.context.whole_index(&self.programs, &sample);
        let context = Context { sample: Arc::new(sample.thinned()), ..self.context };
        let (index, newest) = (Arc::new(index.into()), Arc::default());
        Self { context, index, is_changed: false, newest, ..self }
    }

    /// The index of the rules; a changed set may have a layer.
    #[inline]
    fn index(&self) -> &RuleIndex {
        self.index.get(|| self.context.whole_index(&self.programs, &self.context.sample))
    }

    /// The programs that are true of a record, in order. Programs that cannot be are
    /// not evaluated.
    pub fn matches<'a>(&'a self, record: &Record<'a>) -> Vec<u32> {
        let mut matched = Vec::with_capacity(MATCHED);
        for part in self.index().parts() {
            let index = &part.segment.index;
            let rules = self.context.rules(&part.segment.statements);
            let position = |rule: &u32| part.target(*rule);
            let passes = |rule: u32| position(&rule).is_some();
            let take = |rules: &[u32]| matched.extend(rules.iter().filter_map(position));
            index.with_scratch(|scratch| index.matches(scratch, rules, record, passes, take));
        }
        matched.sort_unstable();
        matched
    }

    /// The number of programs that the indexes find for a record.
    pub fn candidates<'a>(&'a self, record: &Record<'a>) -> usize {
        let count = |part: &Part<Program, u32>| {
            let Segment { index, statements } = &*part.segment;
            index.count_candidates(self.context.rules(statements), record)
        };
        self.index().parts().map(count).sum()
    }

    /// The report of an index of the whole set. If the set was changed, the index is built for it.
    pub fn report(&self) -> &Report {
        let whole = || self.context.whole_index(&self.programs, &self.context.sample);
        if self.is_changed { self.index.whole(whole).report() } else { self.index().report() }
    }

    /// The outcome of one program; None for an unknown number.
    pub fn outcome<'a>(&'a self, index: usize, record: &Record<'a>) -> Option<Outcome<'a>> {
        let mut meter = Meter::new(self.limits());
        let result =
            self.rule(index)?.1.evaluate(record, &self.context.environment.lists, &mut meter);
        Some(Outcome { result, cost: meter.spent() })
    }

    /// The programs that are true of a record, and those that are errors; all are evaluated.
    pub fn test_all<'a>(&'a self, record: &Record<'a>) -> (Vec<u32>, Vec<(u32, ErrorCode)>) {
        let (mut matched, mut failed) = (Vec::new(), Vec::new());
        let mut meter = Meter::new(self.limits());
        let mut evaluation = Evaluation::new(record, &self.context.environment.lists, &mut meter);
        for (index, (_, program)) in (0_u32..).zip(self.rules()) {
            evaluation.meter.reset();
            match evaluation.test(&program.root) {
                Ok(true) => matched.push(index),
                Ok(false) => {}
                Err(failure) => failed.push((index, failure.code)),
            }
        }
        (matched, failed)
    }

    pub fn len(&self) -> usize {
        self.programs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a program.
    pub fn id(&self, index: usize) -> Option<&str> {
        self.rule(index).map(|(id, _)| id)
    }

    pub(crate) fn rule(&self, index: usize) -> Option<(&str, &Program)> {
        Some((self.ids.get(index)?, self.programs.get(index)?))
    }

    /// The rules, in order.
    fn rules(&self) -> impl Iterator<Item = (&str, &Program)> {
        (0..self.len()).filter_map(|index| self.rule(index))
    }

    pub fn layout(&self) -> &Layout {
        &self.context.layout
    }

    pub fn limits(&self) -> &Limits {
        &self.context.environment.limits
    }

    pub fn trusted_proxies(&self) -> &NetworkSet {
        &self.context.environment.trusted_proxies
    }

    /// The record of an event in JSON.
    ///
    /// # Errors
    /// The event is rejected.
    pub fn read<'a>(
        &self,
        bytes: &'a [u8],
        user_agents: Option<&UserAgents>,
        arena: &'a Bump,
    ) -> Result<Record<'a>, EventError> {
        self.context.environment.read(bytes, &self.context.layout, user_agents, arena)
    }

    /// The record of an event that was read by the layout of this set.
    ///
    /// # Errors
    /// A declared variable has a value that its type does not hold.
    pub fn encode<'a>(
        &self,
        event: &RawEvent<'a>,
        user_agents: Option<&UserAgents>,
        arena: &'a Bump,
    ) -> Result<Record<'a>, EventError> {
        self.context.environment.encode(event, &self.context.layout, user_agents, arena)
    }
}

impl Context {
    fn rules<'a>(&'a self, programs: &'a [Program]) -> Rules<'a> {
        Rules { programs, lists: &self.environment.lists, limits: &self.environment.limits }
    }

    fn whole_index(&self, programs: &[Program], sample: &Sample) -> RuleIndex {
        LayeredIndex::new(self.stated(programs), |programs| self.index(programs, sample))
    }

    /// An index of programs; the layout has all their slots.
    fn index(&self, programs: &[Program], sample: &Sample) -> Index {
        let (arena, Environment { trusted_proxies, limits, .. }) =
            (Bump::new(), &*self.environment);
        let records = sample.records(&self.layout, trusted_proxies, limits, &arena);
        let mut extractor = Extractor::new(&self.layout);
        let rule =
            |(number, program)| IndexedRule::of_program(number, program, limits, &mut extractor);
        let rules: Vec<IndexedRule> = (0..).zip(programs).map(rule).collect();
        Index::new(&extractor, &rules, self.rules(programs), &records)
    }

    fn stated(&self, programs: &[Program]) -> Vec<(Program, u32)> {
        programs.iter().cloned().zip(0..).collect()
    }
}

impl Environment {
    fn read<'a>(
        &self,
        bytes: &'a [u8],
        layout: &Layout,
        user_agents: Option<&UserAgents>,
        arena: &'a Bump,
    ) -> Result<Record<'a>, EventError> {
        let event = event::read(bytes, layout, arena, &self.limits)?;
        self.encode(&event, layout, user_agents, arena)
    }

    fn encode<'a>(
        &self,
        event: &RawEvent<'a>,
        layout: &Layout,
        user_agents: Option<&UserAgents>,
        arena: &'a Bump,
    ) -> Result<Record<'a>, EventError> {
        let (trusted_proxies, limits) = (&self.trusted_proxies, &self.limits);
        let settings = Settings { trusted_proxies, databases: None, user_agents, limits };
        encode(event, layout, arena, settings)
    }
}

type Rule = (Box<str>, Program);

fn proxies(texts: &[String]) -> Result<NetworkSet, ProgramError> {
    let read = |text: &String| {
        Network::parse_entry(text).ok_or_else(|| {
            refused(&format!("`{text}` is no address or network")).within("trusted_proxies")
        })
    };
    texts.iter().map(read).collect()
}

/// Reads a tree of bounded depth into an arena.
///
/// # Errors
/// The text isn't JSON, or nests deeper than any tree.
pub fn read_tree<'t>(text: &'t [u8], arena: &'t Bump) -> Result<Tree<'t>, ProgramError> {
    tree::read(utf8(text)?, arena).map_err(|fault| unread(&fault))
}

/// The error for a text that isn't JSON or nests too deep.
fn unread(fault: &Fault) -> ProgramError {
    match fault.kind {
        FaultKind::Limit => refused("the JSON nests too deep"),
        _ => refused(&format!("not JSON: {} at byte {}", fault.message, fault.offset)),
    }
}

/// Reads JSON; trees in it stay text at any depth.
///
/// # Errors
/// The text isn't JSON of the type.
pub(crate) fn read_json<'t, T: Deserialize<'t>>(text: &'t [u8]) -> Result<T, ProgramError> {
    serde_json::from_slice(text).map_err(|error| refused(&format!("not JSON: {error}")))
}

fn utf8(text: &[u8]) -> Result<&str, ProgramError> {
    simdutf8::basic::from_utf8(text).map_err(|_| refused("not JSON: not UTF-8"))
}

#[cfg(test)]
mod tests;
