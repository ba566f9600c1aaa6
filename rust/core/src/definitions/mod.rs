//! A tenant's definitions, ready for decisions: validated, expressions compiled and shared,
//! references resolved to numbers.

pub mod answers;
pub mod candidates_index;
mod change;
pub mod clause_group;
mod compile;
pub mod document;
pub mod entity_key;
pub mod names;
pub mod overrides;
pub mod stop;
pub mod window_rule;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use blake2b_simd::Params;
use bumpalo::Bump;
use foldhash::fast::RandomState;
use uuid::Uuid;

use crate::definitions::candidates_index::{DefinitionsIndex, IndexSource, Statement, Step};
use crate::definitions::clause_group::ClauseGroups;
use crate::definitions::document::{MissingKey, Mode, Reading};
use crate::definitions::entity_key::Part;
use crate::definitions::names::Names;
use crate::definitions::overrides::Overrides;
use crate::definitions::window_rule::Rule;
use crate::event::encode::is_plain_v4;
use crate::event::layout::{Layout, Slot};
use crate::event::sample::Sample;
use crate::event::user_agent::UserAgents;
use crate::functions::named_lists::Lists;
use crate::index::layered::{Built, Newest};
use crate::program::Program;
use crate::proofs::Slots;
use crate::redact::Redactor;
use crate::value::Text;
use crate::value::address::{Address, NetworkSet};
use crate::value::limits::Limits;

/// The smallest number that may be that of a payment card, of 13 digits.
const SHORTEST_CARD: i64 = 1_000_000_000_000;

/// The number of an expression. Equal expressions share a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpressionId(u32);

impl ExpressionId {
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The digest of an expression's text: 128 bits of its BLAKE2b hash.
type Digest = [u8; 16];

/// The distinct expressions of the definitions, by number.
#[derive(Clone, Debug, Default)]
pub struct Expressions {
    /// The number of each expression by its digest, so that a change finds it.
    known: HashMap<Digest, ExpressionId, RandomState>,
    programs: Vec<Program>,
    /// Whether the value depends on the entity of the clause.
    read_entity: Vec<bool>,
    /// The names by which a redactor knows key parts and counted values.
    readings: HashMap<ExpressionId, Reading, RandomState>,
}

impl Expressions {
    fn find(&self, text: &str) -> Option<ExpressionId> {
        self.known.get(&digest(text)).copied()
    }

    fn add(&mut self, id: ExpressionId, text: &str, program: Program, reads_entity: bool) {
        self.programs.push(program);
        self.read_entity.push(reads_entity);
        self.known.insert(digest(text), id);
    }

    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    pub fn program(&self, id: ExpressionId) -> Option<&Program> {
        self.programs.get(id.index())
    }

    /// The name by which the tenant's redactor knows a key part, and whether it is a secret.
    fn reading(&self, id: ExpressionId) -> &Reading {
        const OTHER: &Reading = &Reading { name: String::new(), is_secret: false };
        self.readings.get(&id).unwrap_or(OTHER)
    }

    pub fn reads_entity(&self, id: ExpressionId) -> bool {
        self.read_entity.get(id.index()).is_some_and(|reads_entity| *reads_entity)
    }
}

fn digest(text: &str) -> Digest {
    let mut digest = Digest::default();
    let hash = Params::new().hash_length(digest.len()).hash(text.as_bytes());
    digest.copy_from_slice(hash.as_bytes());
    digest
}

#[derive(Clone, Debug)]
pub struct Action {
    pub slug: Box<str>,
    pub expression: ExpressionId,
    /// The slot of `actions.SLUG`, if any expression reads it.
    pub slot: Option<Slot>,
}

#[derive(Debug)]
pub struct EntityDefinition {
    pub slug: Box<str>,
    pub id: Box<str>,
    pub on_missing_key: MissingKey,
    pub match_expression: Option<ExpressionId>,
    pub key_fields: Box<[ExpressionId]>,
}

#[derive(Debug)]
pub struct Mitigation {
    pub slug: Box<str>,
    pub mode: Mode,
    /// Nanoseconds; 0 is this event only.
    pub ttl: i64,
    pub response: Response,
    pub computed_headers: Box<[ComputedHeader]>,
}

/// A header of a block with the value of an expression.
#[derive(Debug)]
pub struct ComputedHeader {
    pub name: Box<str>,
    pub expression: ExpressionId,
}

/// The answer where no clause gives one.
#[derive(Debug)]
pub struct Fallback {
    /// `None` allows.
    pub mode: Option<Mode>,
    pub response: Response,
}

/// The JSON of an answer, as far as it is known beforehand.
#[derive(Debug)]
pub enum Response {
    /// Monitor: nothing is answered.
    None,
    /// The whole `action` object.
    Block(Box<str>),
    /// The `action` object up to its return URL, and the URL used when the event
    /// has none.
    Challenge { until_return_url: Box<str>, default_return_url: Option<Box<str>> },
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub slug: Box<str>,
    pub id: Box<str>,
    pub scope: Option<ExpressionId>,
    pub clauses: Box<[Clause]>,
}

#[derive(Clone, Debug)]
pub struct Clause {
    /// The number by which the state knows its mitigation, counted through all policies.
    pub number: u32,
    pub name: Box<str>,
    pub is_enabled: bool,
    pub is_final: bool,
    pub condition: Option<ExpressionId>,
    /// Positions in [`Definitions::actions`].
    pub actions: Box<[u32]>,
    /// Position in [`Definitions::entities`].
    pub entity: Option<u32>,
    /// Position in [`Definitions::mitigations`].
    pub mitigation: Option<u32>,
    pub window: Option<ClauseWindow>,
}

#[derive(Clone, Debug)]
pub struct ClauseWindow {
    /// The number by which the state knows it. The windows of a family have consecutive numbers.
    pub number: u32,
    pub rule: Rule,
    /// The values that a distinct window counts.
    pub distinct: Option<ExpressionId>,
}

/// The slots of `entity.*` that some expression reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntitySlots {
    pub event_count: Option<Slot>,
    pub first_seen_at: Option<Slot>,
    pub last_seen_at: Option<Slot>,
}

/// All that a decision depends on, except the event and the state.
#[derive(Debug)]
pub struct Definitions {
    pub tenant: Uuid,
    pub revision: u64,
    pub max_keys: u32,
    pub limits: Limits,
    pub layout: Layout,
    /// The places of challenge proofs; `None` if their fields are not declared.
    pub proof_slots: Option<Slots>,
    pub lists: Arc<Lists>,
    pub trusted_proxies: Arc<NetworkSet>,
    pub expressions: Expressions,
    pub actions: Vec<Action>,
    pub entities: Arc<[EntityDefinition]>,
    pub mitigations: Arc<[Mitigation]>,
    pub policies: Vec<Policy>,
    /// `None` if there aren't any.
    pub overrides: Option<Overrides>,
    pub entity_slots: EntitySlots,
    pub on_budget_exceeded: Arc<Fallback>,
    /// Policy and position of each clause by its number.
    pub clause_places: Vec<(u32, u32)>,
    pub names: Names,
    /// The clause groups and their windows.
    pub groups: ClauseGroups,
    /// Without it, keys and records have all texts in clear.
    redactor: Option<Arc<Redactor>>,
    /// Whether stored events have the addresses of proxies' headers in clear.
    keeps_forwarded: bool,
    index: Built<DefinitionsIndex>,
    /// The base on which changes of these definitions build.
    newest: Arc<Newest<Statement>>,
    /// Sample events for training an index.
    sample: Arc<Sample>,
}

/// An event whose client a proxy names, to find out whether the redactor keeps the address.
const FORWARDED: &[u8] = br#"{"request":{"headers":{"x-forwarded-for":"192.0.2.1"}}}"#;
const FORWARDED_ADDRESS: &str = "192.0.2.1";

impl Definitions {
    /// The same, with an index trained on events: it knows how often conditions are true of them.
    /// It takes a thousand at most and skips values that are not events. Decisions stay the same.
    #[must_use]
    pub fn trained(self, events: &[&[u8]], user_agents: Option<&'static UserAgents>) -> Self {
        let sample = Sample::of(events, user_agents);
        let index = self.whole_index(&sample);
        Self { index: index.into(), sample: Arc::new(sample.thinned()), ..self }
    }

    /// The same, with a redactor that keeps secrets out of keys and records.
    #[must_use]
    pub fn redacted_by(self, redactor: Option<Arc<Redactor>>) -> Self {
        let keeps_forwarded = redactor.as_ref().is_none_or(|redactor| {
            redactor.redact(FORWARDED).is_ok_and(|kept| kept.contains(FORWARDED_ADDRESS))
        });
        Self { redactor, keeps_forwarded, ..self }
    }

    /// The client's address as a record has it: only where the stored event doesn't have this text.
    pub(crate) fn kept_client(&self, member: Option<&str>, address: Address) -> Option<Address> {
        let is_new = match (member, address) {
            (None, _) => self.keeps_forwarded,
            (Some(text), Address::V4(_)) if is_plain_v4(text) => false,
            (Some(text), _) => text != address.to_string(),
        };
        is_new.then_some(address)
    }

    /// A part of a key as it is stored; secrets of any kind are stored as hashes.
    pub fn kept_part<'a>(&self, field: ExpressionId, part: Part<'a>) -> Part<'a> {
        let Some(redactor) = &self.redactor else { return part };
        match part {
            Part::Text(text) => Part::Text(self.kept_text(field, text)),
            Part::Plain(_) | Part::Int(_) | Part::Uint(_) | Part::Bool(_) => {
                let Reading { name, is_secret } = self.expressions.reading(field);
                let text = || part.clone().into_text();
                if *is_secret {
                    return Part::Text(redactor.secret(name, &text()).into());
                }
                if !matches!(part, Part::Int(SHORTEST_CARD..) | Part::Uint(_)) {
                    return part;
                }
                match redactor.text(name, &text()) {
                    Cow::Owned(kept) => Part::Text(kept.into()),
                    Cow::Borrowed(_) => part,
                }
            }
        }
    }

    /// The text of a key part or a counted value as it is stored.
    pub fn kept_text<'a>(&self, field: ExpressionId, text: Text<'a>) -> Text<'a> {
        let Some(redactor) = &self.redactor else { return text };
        let Reading { name, is_secret } = self.expressions.reading(field);
        if text.is_empty() {
            return text;
        }
        if *is_secret {
            return redactor.secret(name, &text).into();
        }
        match redactor.text(name, &text) {
            Cow::Owned(kept) => kept.into(),
            Cow::Borrowed(_) => text,
        }
    }

    /// A path or URL as it is stored.
    pub fn kept_link<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.link(text))
    }

    /// Whether these definitions may keep what other definitions of the tenant stored: each of
    /// their secrets is a secret of the others too.
    pub(crate) fn keeps_as(&self, other: &Self) -> bool {
        let patterns =
            |of: &Self| of.redactor.as_ref().map(|redactor| redactor.patterns().to_vec());
        self.redactor.is_none()
            || (patterns(self) == patterns(other)
                && self.secret_places().is_subset(&other.secret_places()))
    }

    /// The key parts and counted values that are secrets.
    fn secret_places(&self) -> HashSet<(&str, &str, usize, &str), RandomState> {
        let parts = self.entities.iter().flat_map(|entity| {
            let fields = entity.key_fields.iter().enumerate();
            fields.map(|(at, field)| (&*entity.slug, "", at, *field))
        });
        let counted = self.policies.iter().flat_map(|policy| {
            policy.clauses.iter().filter_map(|clause| {
                let field = clause.window.as_ref()?.distinct?;
                Some((&*policy.slug, &*clause.name, usize::MAX, field))
            })
        });
        let named = parts.chain(counted).filter_map(|(slug, clause, at, field)| {
            let Reading { name, is_secret } = self.expressions.reading(field);
            is_secret.then_some((slug, clause, at, &**name))
        });
        named.collect()
    }

    /// The index that finds the candidates of an event.
    pub fn index(&self) -> &DefinitionsIndex {
        self.index.get(|| self.whole_index(&self.sample))
    }

    fn whole_index(&self, sample: &Sample) -> DefinitionsIndex {
        let arena = Bump::new();
        let samples = sample.records(&self.layout, &self.trusted_proxies, &self.limits, &arena);
        DefinitionsIndex::new(&self.source(), &samples)
    }

    fn source(&self) -> IndexSource<'_> {
        IndexSource {
            layout: &self.layout,
            lists: &self.lists,
            limits: &self.limits,
            expressions: &self.expressions,
            actions: &self.actions,
            entities: &self.entities,
            policies: &self.policies,
            groups: &self.groups,
        }
    }

    /// A clause by its number.
    pub fn clause(&self, number: u32) -> Option<(&Policy, &Clause)> {
        let &(policy, clause) = self.clause_places.get(usize::try_from(number).ok()?)?;
        let policy = self.policies.get(usize::try_from(policy).ok()?)?;
        Some((policy, policy.clauses.get(usize::try_from(clause).ok()?)?))
    }

    /// The clause at a step of the walk.
    pub fn at(&self, step: Step) -> Option<(&Policy, &Clause)> {
        let policy = self.policy(step.policy())?;
        Some((policy, policy.clauses.get(usize::try_from(step.clause_position()?).ok()?)?))
    }

    pub fn action(&self, position: u32) -> Option<&Action> {
        self.actions.get(usize::try_from(position).ok()?)
    }

    pub fn entity(&self, position: u32) -> Option<&EntityDefinition> {
        self.entities.get(usize::try_from(position).ok()?)
    }

    pub fn mitigation(&self, clause: &Clause) -> Option<&Mitigation> {
        self.mitigations.get(usize::try_from(clause.mitigation?).ok()?)
    }

    pub fn policy(&self, position: u32) -> Option<&Policy> {
        self.policies.get(usize::try_from(position).ok()?)
    }
}
