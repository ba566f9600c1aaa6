//! A set of rules: many programs over one layout.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bumpalo::Bump;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::address::{Network, NetworkSet};
use crate::decode::{Compiler, each, member, object, refused, text};
use crate::encode::{Settings, encode};
use crate::error::{Failure, ProgramError};
use crate::evaluate::{Evaluation, Meter};
use crate::event;
use crate::index::{Index, Report, Rules};
use crate::limits::Limits;
use crate::lists::{ListDefinition, Lists};
use crate::program::Program;
use crate::record::{Layout, Record};
use crate::user_agent::UserAgents;
use crate::value::Value;

/// Deepest JSON that is decoded. A level of a tree is at most three of JSON.
const MAX_JSON_DEPTH: usize = 512;

/// Programs compiled together from a bundle.
#[derive(Debug)]
pub struct RuleSet {
    ids: Vec<String>,
    programs: Vec<Program>,
    layout: Layout,
    lists: Lists,
    limits: Limits,
    trusted_proxies: NetworkSet,
    /// Made when the set is first matched as a whole.
    index: OnceLock<Index>,
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
    /// The text is no bundle of this version, or something in it does not compile.
    pub fn from_json(bundle: &[u8]) -> Result<Self, ProgramError> {
        Self::decode(&parse_json(bundle)?, true)
    }

    /// The same without nodes for common shapes, to hold those to account.
    ///
    /// # Errors
    /// As [`RuleSet::from_json`].
    pub fn plain_from_json(bundle: &[u8]) -> Result<Self, ProgramError> {
        Self::decode(&parse_json(bundle)?, false)
    }

    fn decode(bundle: &Json, specialises: bool) -> Result<Self, ProgramError> {
        let bundle = object(bundle)?;
        let fields: BTreeMap<String, String> = part(bundle, "fields")?;
        let declared = fields.iter().map(|(name, type_text)| (name.as_str(), type_text.as_str()));
        let mut layout =
            Layout::new(declared).map_err(|error| refused(&error.to_string()).within("fields"))?;
        let definitions: BTreeMap<String, ListDefinition> = part(bundle, "lists")?;
        let lists = Lists::new(definitions)?;
        let mut compiler = Compiler::new(&mut layout, &lists);
        if !specialises {
            compiler = compiler.plain();
        }
        let programs = each(bundle, "programs", |envelope| compiler.compile(envelope))?;
        let ids =
            each(bundle, "programs", |envelope| text(object(envelope)?, "id").map(str::to_owned))?;
        Ok(Self {
            index: OnceLock::new(),
            ids: ids.into_vec(),
            programs: programs.into_vec(),
            trusted_proxies: proxies(&part::<Vec<String>>(bundle, "trusted_proxies")?)?,
            limits: part(bundle, "limits")?,
            layout,
            lists,
        })
    }

    /// The same set, whose index knows how often conditions are true of events like
    /// these. Those that are no events are passed over. Answers stay what they are.
    #[must_use]
    pub fn trained(self, events: &[&[u8]], user_agents: Option<&UserAgents>) -> Self {
        let arena = Bump::new();
        let settings = Settings {
            trusted_proxies: &self.trusted_proxies,
            databases: None,
            user_agents,
            limits: &self.limits,
        };
        let mut samples: Vec<Record<'_>> = Vec::with_capacity(events.len());
        for bytes in events {
            let event = event::read(bytes, &self.layout, &arena, &self.limits);
            let record = event.and_then(|event| encode(&event, &self.layout, &arena, settings));
            samples.extend(record.ok());
        }
        let index = Index::new(self.rules(), &self.layout, &samples).into();
        Self { index, ..self }
    }

    /// The programs that are true of a record, in order. Programs that cannot be are
    /// not evaluated.
    pub fn matches<'a>(&'a self, record: &Record<'a>) -> Vec<u32> {
        self.index().matches(self.rules(), record)
    }

    /// How many programs the index lets through for a record.
    pub fn candidates<'a>(&'a self, record: &Record<'a>) -> usize {
        self.index().count_candidates(self.rules(), record)
    }

    /// What the index is made of.
    pub fn report(&self) -> &Report {
        self.index().report()
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self.rules(), &self.layout, &[]))
    }

    fn rules(&self) -> Rules<'_> {
        Rules { programs: &self.programs, lists: &self.lists, limits: &self.limits }
    }

    /// The outcome of one program, None when there is none of this number.
    pub fn outcome<'a>(&'a self, index: usize, record: &Record<'a>) -> Option<Outcome<'a>> {
        let mut meter = Meter::new(&self.limits);
        let result = self.programs.get(index)?.evaluate(record, &self.lists, &mut meter);
        Some(Outcome { result, cost: meter.spent() })
    }

    /// Tests all programs in order and hands each outcome to `take`.
    pub fn test_all<'a>(
        &'a self,
        record: &Record<'a>,
        mut take: impl FnMut(u32, Result<bool, Failure>),
    ) {
        let mut meter = Meter::new(&self.limits);
        let mut evaluation = Evaluation::new(record, &self.lists, &mut meter);
        for (index, program) in (0_u32..).zip(&self.programs) {
            evaluation.meter.reset();
            take(index, evaluation.test(&program.root));
        }
    }

    /// The ids of the programs, in order.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub const fn trusted_proxies(&self) -> &NetworkSet {
        &self.trusted_proxies
    }
}

fn proxies(texts: &[String]) -> Result<NetworkSet, ProgramError> {
    let read = |text: &String| {
        Network::parse_entry(text).ok_or_else(|| {
            refused(&format!("`{text}` is no address or network")).within("trusted_proxies")
        })
    };
    texts.iter().map(read).collect()
}

/// A member of the bundle by its type; its default when it is left out.
fn part<T: for<'de> Deserialize<'de> + Default>(
    bundle: &serde_json::Map<String, Json>,
    name: &str,
) -> Result<T, ProgramError> {
    match member(bundle, name) {
        Ok(json) => T::deserialize(json).map_err(|error| refused(&error.to_string()).within(name)),
        Err(_) => Ok(T::default()),
    }
}

/// Parses JSON of bounded depth, past the depth that the library allows.
///
/// # Errors
/// The text is no JSON, or nests deeper than any tree.
pub fn parse_json(text: &[u8]) -> Result<Json, ProgramError> {
    if depth(text) > MAX_JSON_DEPTH {
        return Err(refused("the JSON nests too deep"));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let json = Json::deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    json.map_err(|error| refused(&format!("not JSON: {error}")))
}

/// How deep the brackets of a JSON text nest; at least as deep as it is read.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings() {
        assert_eq!(depth(br#"{"a": "[[[\"[", "b": [1, [2]]}"#), 3);
    }

    #[test]
    fn json_that_nests_without_end_is_refused() {
        for text in ["[".repeat(100_000), "[".repeat(100_000) + &"]".repeat(100_000)] {
            assert_eq!(parse_json(text.as_bytes()).unwrap_err().message, "the JSON nests too deep");
        }
        let deep = "[".repeat(MAX_JSON_DEPTH) + &"]".repeat(MAX_JSON_DEPTH);
        assert!(parse_json(deep.as_bytes()).is_ok());
    }

    #[test]
    fn a_bundle_needs_its_programs() {
        assert_eq!(RuleSet::from_json(b"{}").unwrap_err().pointer, "/programs");
        assert!(RuleSet::from_json(b"").unwrap_err().message.starts_with("not JSON"));
        let list = br#"{"lists": {"bad": {"kind": "ip", "entries": ["x"]}}, "programs": []}"#;
        assert_eq!(RuleSet::from_json(list).unwrap_err().pointer, "/lists/bad");
    }
}
