//! The compiler from a bundle to definitions: it validates objects and compiles each expression
//! once.

use crate::definitions::answers;
use std::collections::HashSet;
use std::sync::Arc;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    Action, Clause, ClauseWindow, ComputedHeader, Definitions, EntityDefinition, EntitySlots,
    ExpressionId, Expressions, Fallback, Mitigation, Policy, Response,
};
use crate::definitions::clause_group::ClauseGroups;
use crate::definitions::document::{
    ActionForm, BlockForm, Bundle, ChallengeForm, ClauseForm, EntityForm, HeaderForm, Measure,
    MitigationForm, Mode, OnBudgetExceeded, PolicyForm, WindowForm,
};
use crate::definitions::names::Names;
use crate::definitions::overrides::Overrides;
use crate::definitions::window_rule::Rule;
use crate::event::layout::Layout;
use crate::functions::named_lists::Lists;
use crate::index::layered::Built;
use crate::json::tree::Tree;
use crate::program::decode::Compiler;
use crate::proofs::Slots;
use crate::ruleset::{read_json, read_tree};
use crate::value::address::{Network, NetworkSet};
use crate::value::error::ProgramError;
use crate::value::limits::MAX_THRESHOLD;

/// The form of definitions that this version reads.
const VERSION: u32 = 1;
const NANOSECONDS: i64 = 1_000_000_000;
/// The difficulty of a challenge past the budget, the same as a mitigation's default.
const FALLBACK_DIFFICULTY: u32 = 4;

impl Definitions {
    /// Reads and compiles a bundle.
    ///
    /// # Errors
    /// The bundle wasn't written by the compiler of this version.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ProgramError> {
        let bundle: Bundle<'_> = read_json(bytes)?;
        if bundle.version != VERSION {
            let message = format!("definitions of version {} are not read here", bundle.version);
            return Err(refused(message, "/version"));
        }
        Self::compile(bundle)
    }

    fn compile(bundle: Bundle<'_>) -> Result<Self, ProgramError> {
        let tenant = Uuid::parse_str(&bundle.tenant)
            .map_err(|_| refused(format!("`{}` is no UUID", bundle.tenant), "/tenant"))?;
        unique("/entities", bundle.entities.iter().map(|entity| &*entity.slug))?;
        unique("/policies", bundle.policies.iter().map(|policy| &*policy.slug))?;
        let fields = bundle.fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let mut layout =
            Layout::new(fields).map_err(|error| refused(error.to_string(), "/fields"))?;
        let lists = Lists::new(bundle.lists)?;
        let mut compiler = DefinitionsCompiler::new(&mut layout, &lists, Expressions::default());
        let actions = compiler.each("/actions", bundle.actions, DefinitionsCompiler::action)?;
        let entities = compiler.each("/entities", bundle.entities, DefinitionsCompiler::entity)?;
        let mitigations =
            compiler.each("/mitigations", bundle.mitigations, DefinitionsCompiler::mitigation)?;
        let references = References::to(&actions, &entities, &mitigations);
        let policies = compiler.each("/policies", bundle.policies, |compiler, form, at| {
            compiler.policy(form, at, references)
        })?;
        let DefinitionsCompiler { expressions, clause_places, .. } = compiler;
        let proof_slots = Slots::new(&mut layout);
        let definitions = Self {
            index: Built::default(),
            newest: Arc::default(),
            sample: Arc::default(),
            redactor: None,
            keeps_forwarded: true,
            groups: ClauseGroups::default(),
            tenant,
            revision: bundle.revision,
            max_keys: bundle.max_keys,
            limits: bundle.limits,
            layout,
            proof_slots,
            lists: Arc::new(lists),
            trusted_proxies: trusted_proxies(&bundle.trusted_proxies)?.into(),
            names: Names::default(),
            expressions,
            actions,
            entities: entities.into(),
            mitigations: mitigations.into(),
            policies,
            overrides: Overrides::new(bundle.overrides)?,
            entity_slots: EntitySlots::default(),
            on_budget_exceeded: fallback(bundle.on_budget_exceeded).into(),
            clause_places,
        };
        Ok(definitions.connected())
    }

    /// The same definitions with slots, windows and names, which follow from policies and
    /// expressions.
    pub(super) fn connected(mut self) -> Self {
        for action in &mut self.actions {
            action.slot = self.layout.find(&format!("actions.{}", action.slug));
        }
        self.entity_slots = EntitySlots {
            event_count: self.layout.find("entity.event_count"),
            first_seen_at: self.layout.find("entity.first_seen_at"),
            last_seen_at: self.layout.find("entity.last_seen_at"),
        };
        self.groups = ClauseGroups::new(&mut self.policies);
        self.names = Names::new(&self.entities, &self.policies);
        self
    }
}

/// Compiles the objects of a bundle and collects the expressions met on the way.
pub(super) struct DefinitionsCompiler<'c> {
    programs: Compiler<'c>,
    pub(super) expressions: Expressions,
    policies: u32,
    pub(super) clause_places: Vec<(u32, u32)>,
}

impl<'c> DefinitionsCompiler<'c> {
    /// A compiler that goes on from some expressions; `layout` has their slots.
    pub(super) fn new(layout: &'c mut Layout, lists: &'c Lists, expressions: Expressions) -> Self {
        let programs = Compiler::new(layout, lists);
        Self { programs, expressions, policies: 0, clause_places: Vec::new() }
    }

    /// A compiled policy, in its new place.
    pub(super) fn keep(&mut self, policy: &Policy, at: &str) -> Result<Policy, ProgramError> {
        let mut kept = policy.clone();
        for (position, clause) in (0..).zip(&mut kept.clauses) {
            clause.number = self.place(position, at)?;
        }
        self.policies = self.policies.saturating_add(1);
        Ok(kept)
    }

    /// The number of the next clause, which is at a position of the next policy.
    fn place(&mut self, position: u32, at: &str) -> Result<u32, ProgramError> {
        let number = number(self.clause_places.len(), at)?;
        self.clause_places.push((self.policies, position));
        Ok(number)
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
    fn expression(&mut self, envelope: &RawValue, at: &str) -> Result<ExpressionId, ProgramError> {
        let text = envelope.get();
        if let Some(id) = self.expressions.find(text) {
            return Ok(id);
        }
        let arena = Bump::new();
        let compiled = read_tree(text.as_bytes(), &arena)
            .and_then(|tree| Ok((self.programs.compile(&tree)?, reads_entity(&tree))));
        let (program, reads_entity) =
            compiled.map_err(|error| refused(error.message, &format!("{at}{}", error.pointer)))?;
        let id = number(self.expressions.programs.len(), at).map(ExpressionId)?;
        self.expressions.add(id, text, program, reads_entity);
        Ok(id)
    }

    fn optional(
        &mut self,
        envelope: Option<&RawValue>,
        at: &str,
    ) -> Result<Option<ExpressionId>, ProgramError> {
        envelope.map(|envelope| self.expression(envelope, at)).transpose()
    }

    fn action(&mut self, form: ActionForm<'_>, at: &str) -> Result<Action, ProgramError> {
        let expression = self.expression(form.expression, &format!("{at}/expression"))?;
        Ok(Action { slug: form.slug.into(), expression, slot: None })
    }

    fn entity(&mut self, form: EntityForm<'_>, at: &str) -> Result<EntityDefinition, ProgramError> {
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

    fn mitigation(
        &mut self,
        form: MitigationForm<'_>,
        at: &str,
    ) -> Result<Mitigation, ProgramError> {
        let mut computed_headers = Vec::new();
        let response = match (form.mode, form.challenge, form.block) {
            (Mode::Monitor, ..) => Response::None,
            (Mode::Challenge, Some(challenge), _) => Response::Challenge {
                until_return_url: answers::challenge_start(&challenge).into(),
                default_return_url: challenge.default_return_url_template.map(Into::into),
            },
            (Mode::Block, _, Some(mut block)) => {
                if !block.headers.values().all(Json::is_string) {
                    return Err(refused("a header must be a string".into(), at));
                }
                let forms = std::mem::take(&mut block.computed_headers);
                let at = format!("{at}/block/computed_headers");
                computed_headers = self.each(&at, forms, Self::computed_header)?;
                Response::Block(answers::block_action(&block).into())
            }
            (mode, ..) => {
                let message = format!("`{}` needs its own part", mode.as_str());
                return Err(refused(message, at));
            }
        };
        let ttl = i64::try_from(form.ttl_seconds).unwrap_or(i64::MAX).saturating_mul(NANOSECONDS);
        let (slug, mode, computed_headers) = (form.slug.into(), form.mode, computed_headers.into());
        Ok(Mitigation { slug, mode, ttl, response, computed_headers })
    }

    fn computed_header(
        &mut self,
        form: HeaderForm<'_>,
        at: &str,
    ) -> Result<ComputedHeader, ProgramError> {
        let expression = self.expression(form.expression, at)?;
        self.expressions.readings.insert(expression, form.reading);
        Ok(ComputedHeader { name: form.name.into(), expression })
    }

    pub(super) fn policy(
        &mut self,
        form: PolicyForm<'_>,
        at: &str,
        references: References,
    ) -> Result<Policy, ProgramError> {
        unique(at, form.clauses.iter().map(|clause| &*clause.name))?;
        let scope = self.optional(form.expression, &format!("{at}/expression"))?;
        let mut position = 0;
        let clauses = self.each(&format!("{at}/clauses"), form.clauses, |compiler, form, at| {
            let clause = compiler.clause(form, position, at, references)?;
            position = position.saturating_add(1);
            Ok(clause)
        })?;
        self.policies = self.policies.saturating_add(1);
        Ok(Policy { slug: form.slug.into(), id: form.id.into(), scope, clauses: clauses.into() })
    }

    fn clause(
        &mut self,
        form: ClauseForm<'_>,
        position: u32,
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
            number: self.place(position, at)?,
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

    fn window(&mut self, form: WindowForm<'_>, at: &str) -> Result<ClauseWindow, ProgramError> {
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

/// The number of objects that can be referred to.
#[derive(Clone, Copy)]
pub(super) struct References {
    actions: usize,
    entities: usize,
    mitigations: usize,
}

impl References {
    pub(super) fn to(
        actions: &[Action],
        entities: &[EntityDefinition],
        mitigations: &[Mitigation],
    ) -> Self {
        let (actions, entities) = (actions.len(), entities.len());
        Self { actions, entities, mitigations: mitigations.len() }
    }

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

/// The answer past the budget, which has no mitigation of its own.
fn fallback(on_budget_exceeded: OnBudgetExceeded) -> Fallback {
    match on_budget_exceeded {
        OnBudgetExceeded::Allow => Fallback { mode: None, response: Response::None },
        OnBudgetExceeded::Challenge => {
            let form = ChallengeForm {
                provider: "pow".into(),
                difficulty: FALLBACK_DIFFICULTY,
                default_return_url_template: None,
            };
            let until_return_url = answers::challenge_start(&form).into();
            let response = Response::Challenge { until_return_url, default_return_url: None };
            Fallback { mode: Some(Mode::Challenge), response }
        }
        OnBudgetExceeded::Block => {
            let form = BlockForm {
                status_code: 403,
                body: String::new(),
                headers: Default::default(),
                computed_headers: Vec::new(),
            };
            let response = Response::Block(answers::block_action(&form).into());
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

pub(super) fn unique<'n>(
    at: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<(), ProgramError> {
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

pub(super) fn refused(message: String, pointer: &str) -> ProgramError {
    ProgramError { message, pointer: pointer.to_owned() }
}
