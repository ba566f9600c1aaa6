//! Changing a few of many policies. Unchanged policies are shared in their compiled form. Changed
//! ones have an index of their own, the layer, until a rebuild makes one index of all.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::compile::{DefinitionsCompiler, References, refused, unique};
use super::{Definitions, ExpressionId, Policy};
use crate::definitions::candidates_index::DefinitionsIndex;
use crate::definitions::clause_group::ClauseGroups;
use crate::definitions::document::{Change, Piece};
use crate::definitions::names::Names;
use crate::definitions::overrides::Overrides;
use crate::index::layered::Built;
use crate::ruleset::{keep_variables, read_json};
use crate::value::error::ProgramError;

/// Unused expressions that are kept, beyond the number of those in use.
const STALE: usize = 1024;

impl Definitions {
    /// These definitions with the policies of a change. None if earlier changes left more unused
    /// expressions than [`STALE`] allows, so that compiling everything again is better.
    ///
    /// # Errors
    /// The change is for other definitions, or wasn't written by the compiler of this version.
    pub fn changed(&self, bytes: &[u8]) -> Result<Option<Self>, ProgramError> {
        let change: Change<'_> = read_json(bytes)?;
        if change.base_revision != self.revision {
            return Err(refused("the change is one of other definitions".into(), "/base_revision"));
        }
        let mut layout = self.layout.clone();
        let expressions = self.expressions.clone();
        let mut compiler = DefinitionsCompiler::new(&mut layout, &self.lists, expressions);
        let revision = change.revision;
        let overrides = Overrides::new(change.overrides)?;
        let policies = self.policies_of(change.policies, &mut compiler)?;
        let DefinitionsCompiler { expressions, clause_places, .. } = compiler;
        unique("/policies", policies.iter().map(|policy| &*policy.slug))?;
        let changed = Self {
            tenant: self.tenant,
            revision,
            max_keys: self.max_keys,
            limits: self.limits.clone(),
            layout,
            proof_slots: self.proof_slots,
            lists: Arc::clone(&self.lists),
            trusted_proxies: Arc::clone(&self.trusted_proxies),
            expressions,
            actions: self.actions.clone(),
            entities: Arc::clone(&self.entities),
            mitigations: Arc::clone(&self.mitigations),
            policies,
            overrides,
            on_budget_exceeded: Arc::clone(&self.on_budget_exceeded),
            clause_places,
            redactor: self.redactor.clone(),
            keeps_forwarded: self.keeps_forwarded,
            newest: Arc::clone(&self.newest),
            sample: Arc::clone(&self.sample),
            entity_slots: Default::default(),
            names: Names::default(),
            groups: ClauseGroups::default(),
            index: Built::default(),
        };
        Ok(changed.connected().layered(self))
    }

    /// The policies after a change: the kept ones in their compiled form, and the new ones.
    fn policies_of(
        &self,
        pieces: Vec<Piece<'_>>,
        compiler: &mut DefinitionsCompiler<'_>,
    ) -> Result<Vec<Policy>, ProgramError> {
        let references = References::to(&self.actions, &self.entities, &self.mitigations);
        let mut policies = Vec::with_capacity(self.policies.len());
        for piece in pieces {
            let (from, count) = piece.kept;
            let kept = from.checked_add(count).and_then(|end| self.policies.get(from..end));
            let at = format!("/policies/{}", policies.len());
            let leads_nowhere = || refused("a reference leads nowhere".into(), &at);
            for policy in kept.ok_or_else(leads_nowhere)? {
                policies.push(compiler.keep(policy, &at)?);
            }
            for form in piece.new {
                let at = format!("/policies/{}", policies.len());
                policies.push(compiler.policy(form, &at, references)?);
            }
        }
        Ok(policies)
    }

    /// The expressions in use, each once.
    fn stated(&self) -> HashSet<ExpressionId, RandomState> {
        let of_actions = self.actions.iter().map(|action| action.expression);
        let of_entities = self.entities.iter().flat_map(|entity| {
            entity.match_expression.into_iter().chain(entity.key_fields.iter().copied())
        });
        let of_policies = self.policies.iter().flat_map(|policy| {
            let of_clauses = policy.clauses.iter().flat_map(|clause| {
                let counted = clause.window.as_ref().and_then(|window| window.distinct);
                clause.condition.into_iter().chain(counted)
            });
            policy.scope.into_iter().chain(of_clauses)
        });
        let of_headers = self.mitigations.iter().flat_map(|mitigation| {
            mitigation.computed_headers.iter().map(|header| header.expression)
        });
        of_actions.chain(of_entities).chain(of_headers).chain(of_policies).collect()
    }

    /// These definitions with a layer over the index of earlier ones. None if too many expressions
    /// are unused.
    fn layered(mut self, before: &Self) -> Option<Self> {
        let stated = self.stated();
        let most = stated.len().saturating_mul(2).saturating_add(STALE);
        if self.expressions.programs.len() > most {
            return None;
        }
        let programs = stated.iter().filter_map(|id| self.expressions.program(*id));
        keep_variables(&mut self.layout, programs);
        let base = before.newest.get().unwrap_or_else(|| before.index().base());
        let index = DefinitionsIndex::over(base, &self.source());
        Some(Self { index: index.into(), ..self })
    }

    /// Builds one index of all rules, if there is a layer. Decisions do not wait for it.
    pub fn rebuild(&self) {
        if self.index().layered() == 0 {
            return;
        }
        let index = self.whole_index(&self.sample);
        self.newest.set(index.base());
        self.index.rebuild(index);
    }
}

#[cfg(test)]
mod tests;
