//! A tenant's definitions, ready to decide by: validated, expressions compiled
//! and shared, references resolved to numbers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use bumpalo::Bump;
use foldhash::fast::RandomState;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::address::{Network, NetworkSet};
use crate::bundle::{
    ActionForm, BlockForm, Bundle, ChallengeForm, ClauseForm, EntityForm, Measure, MissingKey,
    MitigationForm, Mode, OnBudgetExceeded, PolicyForm, Reading, WindowForm,
};
use crate::decode::Compiler;
use crate::error::ProgramError;
use crate::key::Part;
use crate::layout::{Layout, Slot};
use crate::limits::{Limits, MAX_THRESHOLD};
use crate::lists::Lists;
use crate::names::Names;
use crate::plan::{Plan, Planned, Step};
use crate::program::Program;
use crate::redact::Redactor;
use crate::ruleset::{read_json, read_tree};
use crate::sample::Sample;
use crate::tree::Tree;
use crate::trigger::Triggers;
use crate::user_agent::UserAgents;
use crate::value::Text;
use crate::window::Rule;
use crate::wire;

/// The form of definitions that this version reads.
const VERSION: u32 = 1;
const NANOSECONDS: i64 = 1_000_000_000;
/// Of a challenge past the budget: what a mitigation has that does not say.
const FALLBACK_DIFFICULTY: u32 = 4;

/// The number of an expression. Equal expressions have one number, whoever
/// states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpressionId(u32);

impl ExpressionId {
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The distinct expressions of the definitions, by number.
#[derive(Debug, Default)]
pub struct Expressions {
    programs: Vec<Program>,
    /// Whether the value depends on the entity it is asked for.
    read_entity: Vec<bool>,
    /// Of key parts and counted values: under which name a redactor knows them.
    readings: HashMap<ExpressionId, Reading, RandomState>,
}

impl Expressions {
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    pub fn program(&self, id: ExpressionId) -> Option<&Program> {
        self.programs.get(id.index())
    }

    /// What the redactor of a tenant is told of the value of a key part.
    fn reading(&self, id: ExpressionId) -> &Reading {
        const OTHER: &Reading = &Reading { name: String::new(), is_secret: false };
        self.readings.get(&id).unwrap_or(OTHER)
    }

    pub fn reads_entity(&self, id: ExpressionId) -> bool {
        self.read_entity.get(id.index()).is_some_and(|reads_entity| *reads_entity)
    }
}

#[derive(Debug)]
pub struct Action {
    pub slug: Box<str>,
    pub expression: ExpressionId,
    /// Where `actions.SLUG` is read from, if any expression does.
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
}

/// The answer where no clause gives one.
#[derive(Debug)]
pub struct Fallback {
    /// None allows.
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

#[derive(Debug)]
pub struct Policy {
    pub slug: Box<str>,
    pub id: Box<str>,
    pub scope: Option<ExpressionId>,
    pub clauses: Box<[Clause]>,
}

#[derive(Debug)]
pub struct Clause {
    /// Counted through all policies: what the state knows its mitigation by.
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

#[derive(Debug)]
pub struct ClauseWindow {
    /// What the state knows it by. Those of one family are in a row.
    pub number: u32,
    pub rule: Rule,
    /// For a distinct window, what it counts the values of.
    pub distinct: Option<ExpressionId>,
}

/// Slots of `entity.*`, for those that some expression reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntitySlots {
    pub event_count: Option<Slot>,
    pub first_seen_at: Option<Slot>,
    pub last_seen_at: Option<Slot>,
}

/// Everything a decision depends on but the event and the state.
#[derive(Debug)]
pub struct Definitions {
    pub tenant: Uuid,
    pub revision: u64,
    pub max_keys: u32,
    pub limits: Limits,
    pub layout: Layout,
    pub lists: Lists,
    pub trusted_proxies: NetworkSet,
    pub expressions: Expressions,
    pub actions: Vec<Action>,
    pub entities: Vec<EntityDefinition>,
    pub mitigations: Vec<Mitigation>,
    pub policies: Vec<Policy>,
    pub entity_slots: EntitySlots,
    pub on_budget_exceeded: Fallback,
    /// Policy and position of each clause by its number.
    pub clause_places: Vec<(u32, u32)>,
    pub names: Names,
    /// What makes clauses fire.
    pub triggers: Triggers,
    /// Without one, keys and records have all texts in clear.
    redactor: Option<Arc<Redactor>>,
    /// Made when first asked for, or of a sample.
    plan: OnceLock<Plan>,
}

impl Definitions {
    /// Reads and compiles a bundle.
    ///
    /// # Errors
    /// The bundle is not one that the compiler of this version writes.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ProgramError> {
        let bundle: Bundle<'_> = read_json(bytes)?;
        if bundle.version != VERSION {
            let message = format!("definitions of version {} are not read here", bundle.version);
            return Err(refused(message, "/version"));
        }
        Self::compile(bundle)
    }

    /// The same, with an index that knows how often conditions are true of events like
    /// these. A thousand are enough; of more some are taken. Those that are no events are passed
    /// over. Decisions stay what they are.
    #[must_use]
    pub fn trained(self, events: &[&[u8]], user_agents: Option<&'static UserAgents>) -> Self {
        let (sample, arena) = (Sample::of(events, user_agents), Bump::new());
        let samples = sample.records(&self.layout, &self.trusted_proxies, &self.limits, &arena);
        let plan = Plan::new(&self.planned(), &samples);
        Self { plan: plan.into(), ..self }
    }

    /// The same, with what keeps secrets out of keys and records.
    #[must_use]
    pub fn redacted_by(self, redactor: Option<Arc<Redactor>>) -> Self {
        Self { redactor, ..self }
    }

    /// A part of a key as it is kept: a secret is its hash, whatever its kind.
    pub fn kept_part<'a>(&self, field: ExpressionId, part: Part<'a>) -> Part<'a> {
        let Some(redactor) = &self.redactor else { return part };
        match part {
            Part::Text(text) => Part::Text(self.kept_text(field, text)),
            Part::Plain(_) | Part::Int(_) | Part::Uint(_) | Part::Bool(_) => {
                let Reading { name, is_secret } = self.expressions.reading(field);
                if !is_secret {
                    return part;
                }
                Part::Text(redactor.secret(name, &part.into_text()).into())
            }
        }
    }

    /// The text of a key part, or a counted value, as it is kept.
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

    /// A path or URL as it is kept.
    pub fn kept_link<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.link(text))
    }

    /// Whether what other definitions of the tenant keep is fit to be kept by these: nothing is
    /// a secret here that is none there.
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

    /// What an event can concern.
    pub fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| Plan::new(&self.planned(), &[]))
    }

    fn planned(&self) -> Planned<'_> {
        Planned {
            layout: &self.layout,
            lists: &self.lists,
            limits: &self.limits,
            expressions: &self.expressions,
            actions: &self.actions,
            entities: &self.entities,
            policies: &self.policies,
            triggers: &self.triggers,
        }
    }

    fn compile(bundle: Bundle<'_>) -> Result<Self, ProgramError> {
        let tenant = Uuid::parse_str(&bundle.tenant)
            .map_err(|_| refused(format!("`{}` is no UUID", bundle.tenant), "/tenant"))?;
        unique("/entities", bundle.entities.iter().map(|entity| &entity.slug))?;
        unique("/policies", bundle.policies.iter().map(|policy| &policy.slug))?;
        let references = References {
            actions: bundle.actions.len(),
            entities: bundle.entities.len(),
            mitigations: bundle.mitigations.len(),
        };
        let fields = bundle.fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let mut layout =
            Layout::new(fields).map_err(|error| refused(error.to_string(), "/fields"))?;
        let lists = Lists::new(bundle.lists)?;
        let mut compiler = DefinitionsCompiler::new(&mut layout, &lists);
        let mut actions = compiler.each("/actions", bundle.actions, DefinitionsCompiler::action)?;
        let entities = compiler.each("/entities", bundle.entities, DefinitionsCompiler::entity)?;
        let mitigations = compiler.each("/mitigations", bundle.mitigations, mitigation)?;
        let mut policies = compiler.each("/policies", bundle.policies, |compiler, form, at| {
            compiler.policy(form, at, references)
        })?;
        let DefinitionsCompiler { expressions, clause_places, .. } = compiler;
        for action in &mut actions {
            action.slot = layout.find(&format!("actions.{}", action.slug));
        }
        let entity_slots = EntitySlots {
            event_count: layout.find("entity.event_count"),
            first_seen_at: layout.find("entity.first_seen_at"),
            last_seen_at: layout.find("entity.last_seen_at"),
        };
        let triggers = Triggers::new(&mut policies);
        Ok(Self {
            plan: OnceLock::new(),
            redactor: None,
            triggers,
            tenant,
            revision: bundle.revision,
            max_keys: bundle.max_keys,
            limits: bundle.limits,
            layout,
            lists,
            trusted_proxies: trusted_proxies(&bundle.trusted_proxies)?,
            names: Names::new(&entities, &policies),
            expressions,
            actions,
            entities,
            mitigations,
            policies,
            entity_slots,
            on_budget_exceeded: fallback(bundle.on_budget_exceeded),
            clause_places,
        })
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

/// Compiles the objects of a bundle and collects the expressions met on the way.
struct DefinitionsCompiler<'c> {
    programs: Compiler<'c>,
    expressions: Expressions,
    known: HashMap<&'c str, ExpressionId, RandomState>,
    policies: u32,
    clause_places: Vec<(u32, u32)>,
}

impl<'c> DefinitionsCompiler<'c> {
    fn new(layout: &'c mut Layout, lists: &'c Lists) -> Self {
        Self {
            programs: Compiler::new(layout, lists),
            expressions: Expressions::default(),
            known: HashMap::default(),
            policies: 0,
            clause_places: Vec::new(),
        }
    }

    /// Compiles objects of one kind, each with the pointer to it.
    fn each<F, T>(
        &mut self,
        at: &str,
        forms: Vec<F>,
        mut compile: impl FnMut(&mut Self, F, &str) -> Result<T, ProgramError>,
    ) -> Result<Vec<T>, ProgramError> {
        let forms = forms.into_iter().enumerate();
        forms.map(|(index, form)| compile(self, form, &format!("{at}/{index}"))).collect()
    }

    /// Compiles an expression, once for all that are equal to it.
    fn expression(
        &mut self,
        envelope: &'c RawValue,
        at: &str,
    ) -> Result<ExpressionId, ProgramError> {
        let text = envelope.get();
        if let Some(&id) = self.known.get(text) {
            return Ok(id);
        }
        let arena = Bump::new();
        let compiled = read_tree(text.as_bytes(), &arena)
            .and_then(|tree| Ok((self.programs.compile(&tree)?, reads_entity(&tree))));
        let (program, reads_entity) =
            compiled.map_err(|error| refused(error.message, &format!("{at}{}", error.pointer)))?;
        let id = number(self.expressions.programs.len(), at).map(ExpressionId)?;
        self.expressions.programs.push(program);
        self.expressions.read_entity.push(reads_entity);
        self.known.insert(text, id);
        Ok(id)
    }

    fn optional(
        &mut self,
        envelope: Option<&'c RawValue>,
        at: &str,
    ) -> Result<Option<ExpressionId>, ProgramError> {
        envelope.map(|envelope| self.expression(envelope, at)).transpose()
    }

    fn action(&mut self, form: ActionForm<'c>, at: &str) -> Result<Action, ProgramError> {
        let expression = self.expression(form.expression, &format!("{at}/expression"))?;
        Ok(Action { slug: form.slug.into(), expression, slot: None })
    }

    fn entity(&mut self, form: EntityForm<'c>, at: &str) -> Result<EntityDefinition, ProgramError> {
        if form.key_fields.is_empty() {
            return Err(refused("an entity needs a key field".into(), at));
        }
        let match_expression =
            self.optional(form.match_expression, &format!("{at}/match_expression"))?;
        let key_fields =
            self.each(&format!("{at}/key_fields"), form.key_fields, |compiler, field, at| {
                compiler.expression(field, at)
            })?;
        for (field, reading) in key_fields.iter().zip(form.key_readings) {
            self.expressions.readings.insert(*field, reading);
        }
        Ok(EntityDefinition {
            slug: form.slug.into(),
            id: form.id.into(),
            on_missing_key: form.on_missing_key,
            match_expression,
            key_fields: key_fields.into(),
        })
    }

    fn policy(
        &mut self,
        form: PolicyForm<'c>,
        at: &str,
        references: References,
    ) -> Result<Policy, ProgramError> {
        unique(at, form.clauses.iter().map(|clause| &clause.name))?;
        let scope = self.optional(form.expression, &format!("{at}/expression"))?;
        let mut position = 0;
        let clauses = self.each(&format!("{at}/clauses"), form.clauses, |compiler, form, at| {
            let clause = compiler.clause(form, at, references)?;
            compiler.clause_places.push((compiler.policies, position));
            position = position.saturating_add(1);
            Ok(clause)
        })?;
        self.policies = self.policies.saturating_add(1);
        Ok(Policy { slug: form.slug.into(), id: form.id.into(), scope, clauses: clauses.into() })
    }

    fn clause(
        &mut self,
        form: ClauseForm<'c>,
        at: &str,
        references: References,
    ) -> Result<Clause, ProgramError> {
        references.check(&form, at)?;
        if form.window.is_some() && form.entity.is_none() && form.enabled {
            return Err(refused("a window needs an entity".into(), at));
        }
        let condition = self.optional(form.expression, &format!("{at}/expression"))?;
        let window = form.window.map(|window| self.window(window, at)).transpose()?;
        Ok(Clause {
            number: number(self.clause_places.len(), at)?,
            name: form.name.into(),
            is_enabled: form.enabled,
            is_final: form.is_final,
            condition,
            actions: form.actions.into(),
            entity: form.entity,
            mitigation: form.mitigation,
            window,
        })
    }

    fn window(&mut self, form: WindowForm<'c>, at: &str) -> Result<ClauseWindow, ProgramError> {
        let duration = nanoseconds(form.duration_seconds)
            .filter(|duration| (1..=Rule::LONGEST).contains(duration))
            .ok_or_else(|| refused("a window is at most one day".into(), at))?;
        if !(1..=MAX_THRESHOLD).contains(&form.threshold) {
            let message = format!("a threshold is between 1 and {MAX_THRESHOLD}");
            return Err(refused(message, at));
        }
        let distinct = match (form.measure, form.field) {
            (Measure::Count, _) => None,
            (Measure::Distinct, Some(field)) => {
                let field = self.expression(field, &format!("{at}/window/field"))?;
                if let Some(reading) = form.field_reading {
                    self.expressions.readings.insert(field, reading);
                }
                Some(field)
            }
            (Measure::Distinct, None) => {
                return Err(refused("a distinct window needs a field".into(), at));
            }
        };
        let rule = Rule { duration, threshold: form.threshold };
        Ok(ClauseWindow { number: 0, rule, distinct })
    }
}

/// How many objects there are to refer to.
#[derive(Clone, Copy)]
struct References {
    actions: usize,
    entities: usize,
    mitigations: usize,
}

impl References {
    fn check(self, clause: &ClauseForm<'_>, at: &str) -> Result<(), ProgramError> {
        let inside = |position: &u32, len: usize| {
            usize::try_from(*position).is_ok_and(|position| position < len)
        };
        let is_valid = clause.actions.iter().all(|position| inside(position, self.actions))
            && clause.entity.iter().all(|position| inside(position, self.entities))
            && clause.mitigation.iter().all(|position| inside(position, self.mitigations));
        if is_valid { Ok(()) } else { Err(refused("a reference leads nowhere".into(), at)) }
    }
}

fn trusted_proxies(entries: &[String]) -> Result<NetworkSet, ProgramError> {
    let read = |entry: &String| {
        Network::parse_entry(entry).ok_or_else(|| {
            refused(format!("`{entry}` is no address or network"), "/trusted_proxies")
        })
    };
    entries.iter().map(read).collect()
}

fn mitigation(
    _: &mut DefinitionsCompiler<'_>,
    form: MitigationForm,
    at: &str,
) -> Result<Mitigation, ProgramError> {
    let response = match (form.mode, form.challenge, form.block) {
        (Mode::Monitor, ..) => Response::None,
        (Mode::Challenge, Some(challenge), _) => Response::Challenge {
            until_return_url: wire::challenge_start(&challenge).into(),
            default_return_url: challenge.default_return_url_template.map(Into::into),
        },
        (Mode::Block, _, Some(block)) => {
            if !block.headers.values().all(Json::is_string) {
                return Err(refused("a header must be a string".into(), at));
            }
            Response::Block(wire::block_action(&block).into())
        }
        (mode, ..) => {
            let message = format!("`{}` needs its own part", mode.as_str());
            return Err(refused(message, at));
        }
    };
    let ttl = i64::try_from(form.ttl_seconds).unwrap_or(i64::MAX).saturating_mul(NANOSECONDS);
    Ok(Mitigation { slug: form.slug.into(), mode: form.mode, ttl, response })
}

/// What is answered past the budget: nobody has written a mitigation for it.
fn fallback(on_budget_exceeded: OnBudgetExceeded) -> Fallback {
    match on_budget_exceeded {
        OnBudgetExceeded::Allow => Fallback { mode: None, response: Response::None },
        OnBudgetExceeded::Challenge => {
            let form = ChallengeForm {
                provider: "pow".into(),
                difficulty: FALLBACK_DIFFICULTY,
                default_return_url_template: None,
            };
            let until_return_url = wire::challenge_start(&form).into();
            let response = Response::Challenge { until_return_url, default_return_url: None };
            Fallback { mode: Some(Mode::Challenge), response }
        }
        OnBudgetExceeded::Block => {
            let form =
                BlockForm { status_code: 403, body: String::new(), headers: Default::default() };
            let response = Response::Block(wire::block_action(&form).into());
            Fallback { mode: Some(Mode::Block), response }
        }
    }
}

/// Seconds as nanoseconds, rounded half to even.
fn nanoseconds(seconds: f64) -> Option<i64> {
    let nanoseconds = (seconds * 1e9).round_ties_even();
    // Exact in both directions up to 2^53, 104 days.
    (nanoseconds.abs() < 9e15).then_some(nanoseconds as i64)
}

/// Whether a tree reads the state of the clause's entity.
fn reads_entity(tree: &Tree<'_>) -> bool {
    match tree {
        Tree::Object(members) => {
            let text = |name| members.get(name).and_then(Tree::as_str).unwrap_or_default();
            let is_field = matches!(text("kind"), "field" | "has_field");
            (is_field && text("name").starts_with("entity.")) || members.values().any(reads_entity)
        }
        Tree::Array(elements) => elements.iter().any(reads_entity),
        _ => false,
    }
}

fn unique<'n>(at: &str, names: impl Iterator<Item = &'n String>) -> Result<(), ProgramError> {
    let mut seen: HashSet<&str, RandomState> = HashSet::default();
    for name in names {
        if !seen.insert(name) {
            return Err(refused(format!("the name `{name}` is there twice"), at));
        }
    }
    Ok(())
}

fn number(index: usize, at: &str) -> Result<u32, ProgramError> {
    u32::try_from(index).map_err(|_| refused("too many objects".into(), at))
}

fn refused(message: String, pointer: &str) -> ProgramError {
    ProgramError { message, pointer: pointer.to_owned() }
}
