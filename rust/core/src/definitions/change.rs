//! Changing a few of many policies. Unchanged policies are shared in their compiled form. Changed
//! ones have an index of their own, the layer, until a rebuild makes one index of all.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::compile::{DefinitionsCompiler, References, refused, unique};
use super::{Definitions, ExpressionId, Policy};
use crate::definitions::candidates_index::Plan;
use crate::definitions::document::{Change, Piece};
use crate::definitions::names::Names;
use crate::definitions::trigger::Triggers;
use crate::index::layered::Built;
use crate::ruleset::{keep_variables, read_json};
use crate::value::error::ProgramError;

/// Unused expressions that are kept, beyond the number of those in use.
const STALE: usize = 1024;

impl Definitions {
    /// These definitions with the policies of a change. None when earlier changes left more unused
    /// expressions than [`STALE`] allows: compiling all of them anew is better then.
    ///
    /// # Errors
    /// The change is not one of these definitions, or not one that the compiler of this version
    /// writes.
    pub fn changed(&self, bytes: &[u8]) -> Result<Option<Self>, ProgramError> {
        let change: Change<'_> = read_json(bytes)?;
        if change.base_revision != self.revision {
            return Err(refused("the change is one of other definitions".into(), "/base_revision"));
        }
        let mut layout = self.layout.clone();
        let expressions = self.expressions.clone();
        let mut compiler = DefinitionsCompiler::new(&mut layout, &self.lists, expressions);
        let revision = change.revision;
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
            on_budget_exceeded: Arc::clone(&self.on_budget_exceeded),
            clause_places,
            redactor: self.redactor.clone(),
            newest: Arc::clone(&self.newest),
            sample: Arc::clone(&self.sample),
            entity_slots: Default::default(),
            names: Names::default(),
            triggers: Triggers::default(),
            plan: Built::default(),
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
        of_actions.chain(of_entities).chain(of_policies).collect()
    }

    /// These definitions with a layer over the index of earlier ones. None when too many expressions
    /// are unused.
    fn layered(mut self, before: &Self) -> Option<Self> {
        let stated = self.stated();
        let most = stated.len().saturating_mul(2).saturating_add(STALE);
        if self.expressions.programs.len() > most {
            return None;
        }
        let programs = stated.iter().filter_map(|id| self.expressions.program(*id));
        keep_variables(&mut self.layout, programs);
        let base = before.newest.get().unwrap_or_else(|| before.plan().base());
        let plan = Plan::over(base, &self.planned());
        Some(Self { plan: plan.into(), ..self })
    }

    /// Builds one index of all rules, if there is a layer. Decisions do not wait for it.
    pub fn rebuild(&self) {
        if self.plan().layered() == 0 {
            return;
        }
        let plan = self.whole_plan(&self.sample);
        self.newest.set(plan.base());
        self.plan.rebuild(plan);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::engine::Given;
    use crate::engine::{Engine, ReferenceData};

    /// A policy that holds where a flag is set.
    fn policy(flag: &str) -> Json {
        let root = json!({"kind": "field", "span": [0, 1], "name": flag});
        let condition = json!({"version": 1, "text": "", "type": "bool", "root": root});
        json!({"slug": flag, "id": "", "expression": null, "clauses": [
            {"name": "c", "expression": condition, "actions": [], "entity": null,
             "mitigation": 0, "window": null, "final": false}]})
    }

    fn definitions(policies: &[Json]) -> Definitions {
        let bundle = json!({
            "version": 1, "tenant": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "revision": 1,
            "max_keys": 10, "policies": policies,
            "mitigations": [{"slug": "m", "mode": "Monitor", "ttl_seconds": 0,
                             "challenge": null, "block": null}],
            "fields": {"a": "bool", "b": "bool", "c": "bool"},
        });
        Definitions::from_json(bundle.to_string().as_bytes()).unwrap()
    }

    fn changed(definitions: &Definitions, revision: u64, pieces: &Json) -> Definitions {
        let base = definitions.revision;
        let change = json!({"base_revision": base, "revision": revision, "policies": pieces});
        definitions.changed(change.to_string().as_bytes()).unwrap().unwrap()
    }

    /// The policies that fire on an event; None where it is refused.
    fn fired(definitions: Definitions, event: &Json) -> Option<Vec<String>> {
        let engine = Engine::new(definitions, ReferenceData::default());
        let record = engine.record(event.to_string().as_bytes(), 0, Given::default()).ok()?;
        let record: Json = serde_json::from_str(&record).unwrap();
        let fired = record["fired"].as_array().unwrap().iter();
        Some(fired.map(|each| each["policy"].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn a_policy_is_put_between_those_that_are_kept() {
        let first = definitions(&[policy("a"), policy("b")]);
        let pieces = json!([{"kept": [0, 1], "new": [policy("c")]}, {"kept": [1, 1], "new": []}]);
        let second = changed(&first, 2, &pieces);
        assert_eq!((second.revision, second.plan().layered()), (2, 1));
        let event = json!({"a": true, "b": true, "c": true});
        assert_eq!(fired(second, &event).unwrap(), ["a", "c", "b"]);
        assert_eq!(fired(first, &event).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_variable_that_no_policy_reads_any_more_refuses_no_event() {
        let first = definitions(&[policy("a"), policy("b")]);
        let second = changed(&first, 2, &json!([{"kept": [1, 1], "new": []}]));
        let event = json!({"a": "no bool", "b": true});
        assert_eq!(fired(second, &event).unwrap(), ["b"]);
        assert_eq!(fired(first, &event), None);
    }

    #[test]
    fn a_rebuilt_index_is_what_later_changes_build_on() {
        let first = definitions(&[policy("a")]);
        let second = changed(&first, 2, &json!([{"kept": [0, 1], "new": [policy("b")]}]));
        // One that is made before the index is ready builds on the next.
        let third = changed(&second, 3, &json!([{"kept": [1, 1], "new": [policy("c")]}]));
        second.rebuild();
        assert_eq!((second.plan().layered(), third.plan().layered()), (0, 3));
        let fourth = changed(&third, 4, &json!([{"kept": [0, 1], "new": []}]));
        assert_eq!(fourth.plan().layered(), 1);
        let event = json!({"a": true, "b": true, "c": true});
        assert_eq!(fired(fourth, &event).unwrap(), ["b"]);
        assert_eq!(fired(second, &event).unwrap(), ["a", "b"]);
    }

    #[test]
    fn positions_that_are_not_there_are_refused() {
        let first = definitions(&[policy("a")]);
        for kept in [[0_u64, 2], [1, 1], [1, u64::MAX]] {
            let change = json!({"base_revision": 1, "revision": 2,
                                "policies": [{"kept": kept, "new": []}]});
            let error = first.changed(change.to_string().as_bytes()).unwrap_err();
            assert_eq!(error.pointer, "/policies/0");
        }
    }
}
