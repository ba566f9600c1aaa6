//! What can be said of an event before the state is looked at: the actions that match,
//! the entities it belongs to, the clauses that may fire. Threads do this side by side.

use std::collections::HashMap;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;

use crate::decision::Place;
use crate::decision::budget::{Budget, Ends, EntityStop, Spent, kept_units};
use crate::decision::outcomes::{Conditions, Outcome, Undecided};
use crate::definitions::candidates_index::{Concerns, Scope, Step};
use crate::definitions::document::MissingKey;
use crate::definitions::entity_key::{KeyWriter, Part};
use crate::definitions::stop::{Stop, reserve};
use crate::definitions::trigger::Trigger;
use crate::definitions::{Definitions, EntityDefinition, ExpressionId};
use crate::value::Text;
use crate::value::error::ErrorCode;
use crate::value::work::Work;

/// An entity that applies to the event.
#[derive(Debug)]
pub struct EventEntity {
    /// Position of its definition.
    pub definition: u32,
    pub key: String,
}

/// One event, as far as the state does not matter.
#[derive(Debug)]
pub struct Survey<'a> {
    definitions: &'a Definitions,
    /// Positions of the actions that matched.
    pub matched_actions: ArenaVec<'a, u32>,
    pub entities: ArenaVec<'a, EventEntity>,
    /// Of actions and entities.
    pub errors: Vec<(Place<'a>, ErrorCode)>,
    /// Positions of the triggers that hold, or may by the state, in order.
    pub triggers: ArenaVec<'a, u32>,
    /// Stops of the walk at which an error is reported, in any order.
    pub steps: ArenaVec<'a, Step>,
    /// What distinct windows are to count.
    counted: HashMap<ExpressionId, Result<Text<'a>, ErrorCode>, RandomState>,
    /// What is done to record clauses that fire and errors of policies.
    pub(crate) recording: Work,
    /// Where the budget ended.
    pub ends: Ends,
    /// What the search and the entities took.
    pub spent: Spent,
}

impl<'a> Survey<'a> {
    /// Looks at an event; `conditions` know the outcomes then.
    pub fn new(
        definitions: &'a Definitions,
        conditions: &mut Conditions<'a, '_>,
        concerns: &mut Concerns,
        budget: Budget,
        arena: &'a Bump,
    ) -> Self {
        conditions.search(concerns);
        let (ends, walk, reserved) = bounds(definitions, budget);
        let mut surveyor = Surveyor {
            definitions,
            conditions,
            survey: Self {
                definitions,
                matched_actions: ArenaVec::new_in(arena),
                entities: ArenaVec::with_capacity_in(definitions.entities.len(), arena),
                errors: Vec::new(),
                triggers: ArenaVec::with_capacity_in(concerns.triggers.len(), arena),
                steps: ArenaVec::new_in(arena),
                counted: HashMap::default(),
                recording: reserved,
                ends,
                spent: Spent { search: concerns.searched, ..Spent::default() },
            },
        };
        surveyor.conditions.exchange_work(walk);
        surveyor.actions(&concerns.actions);
        let walk = surveyor.conditions.exchange_work(reserved);
        surveyor.entities(&concerns.matches);
        surveyor.survey.spent.entities = surveyor.conditions.exchange_work(walk).done();
        surveyor.triggers(concerns);
        surveyor.survey
    }

    /// The text by which a distinct window counts the event.
    ///
    /// # Errors
    /// The code of the expression's error, or that the work is over.
    pub fn counted(
        &self,
        field: ExpressionId,
        conditions: &Conditions<'a, '_>,
    ) -> Result<Text<'a>, Undecided> {
        match self.counted.get(&field) {
            Some(known) => known.clone().map_err(Undecided::Error),
            None => count_text(self.definitions, field, conditions),
        }
    }

    /// The position of the event's entity of a definition.
    pub fn applied(&self, definition: u32) -> Option<usize> {
        self.entities.binary_search_by_key(&definition, |entity| entity.definition).ok()
    }

    /// Whether some actions have all matched.
    pub fn has_actions(&self, actions: &[u32]) -> bool {
        actions.iter().all(|action| self.matched_actions.binary_search(action).is_ok())
    }
}

fn count_text<'a>(
    definitions: &Definitions,
    field: ExpressionId,
    conditions: &Conditions<'a, '_>,
) -> Result<Text<'a>, Undecided> {
    let value = conditions.value(field);
    if conditions.is_over() {
        return Err(Undecided::BudgetEnded);
    }
    let part = value.and_then(Part::from_value).map_err(Undecided::Error)?;
    Ok(definitions.kept_part(field, part).into_text())
}

/// Where a budget ends beforehand, and what it leaves for actions and policies; then for entities,
/// and as much for the record.
const fn bounds(definitions: &Definitions, budget: Budget) -> (Ends, Work, Work) {
    let most = definitions.limits.decision_work;
    match budget {
        Budget::Own => {
            let none = Ends { walk: None, entities: None };
            (none, Work::up_to(most), Work::up_to(reserve(most)))
        }
        Budget::Known(ends) => (ends, Work::unlimited(), Work::unlimited()),
    }
}

struct Surveyor<'a, 'c, 'k> {
    definitions: &'a Definitions,
    conditions: &'c mut Conditions<'a, 'k>,
    survey: Survey<'a>,
}

impl<'a> Surveyor<'a, '_, '_> {
    /// Tests the actions that may match; of those that some expression reads, all others
    /// have not.
    fn actions(&mut self, candidates: &[u32]) {
        let definitions = self.definitions;
        let mut candidates = candidates.iter().copied().peekable();
        let mut read = definitions.plan().read_actions().iter().copied().peekable();
        while let Some(position) = candidates.peek().into_iter().chain(read.peek()).copied().min() {
            let is_candidate = candidates.next_if_eq(&position).is_some();
            read.next_if_eq(&position);
            let Some(action) = definitions.action(position) else { continue };
            let stop = Stop::Action(position);
            let has_matched = is_candidate && !self.survey.ends.are_before(stop) && {
                let outcome = self.conditions.test(action.expression);
                if outcome == Err(Undecided::BudgetEnded) {
                    self.survey.ends.stop(stop);
                }
                self.note(outcome, || Place::Action { slug: &action.slug })
            };
            self.conditions.set_action(action.slot, has_matched);
            if has_matched {
                self.survey.matched_actions.push(position);
            }
        }
    }

    fn entities(&mut self, candidates: &[u32]) {
        let definitions = self.definitions;
        for (position, definition) in (0..).zip(&*definitions.entities) {
            let stop = EntityStop::matching(position);
            if self.survey.ends.are_before_entity(stop) {
                break;
            }
            let applies = definition.match_expression.is_none_or(|expression| {
                candidates.binary_search(&position).is_ok() && {
                    let outcome = self.conditions.test(expression);
                    if outcome == Err(Undecided::BudgetEnded) {
                        self.survey.ends.stop_entities(stop);
                    }
                    self.note(outcome, || Place::Match { entity: &definition.slug })
                }
            });
            if applies && let Some(key) = self.key(position, definition) {
                self.survey.entities.push(EventEntity { definition: position, key });
            }
        }
    }

    /// The key of the event's entity of a definition, if it has one.
    fn key(&mut self, position: u32, definition: &'a EntityDefinition) -> Option<String> {
        let mut key = KeyWriter::new(position);
        for (index, &field) in definition.key_fields.iter().enumerate() {
            let stop = EntityStop::key_field(position, index);
            if self.survey.ends.are_before_entity(stop) {
                return None;
            }
            let part = self.key_part(field);
            if self.conditions.is_over() {
                self.survey.ends.stop_entities(stop);
                return None;
            }
            match part {
                Ok(Some(part)) => key.push(&self.definitions.kept_part(field, part)),
                Ok(None) if definition.on_missing_key == MissingKey::Blank => {
                    key.push(&Part::Text("".into()));
                }
                Ok(None) => return None,
                Err(code) => {
                    let place = Place::KeyField { entity: &definition.slug, index };
                    self.survey.errors.push((place, code));
                    return None;
                }
            }
        }
        let key = key.finish();
        self.conditions.add_work(kept_units(key.len()));
        if self.conditions.is_over() {
            let last = definition.key_fields.len().saturating_sub(1);
            self.survey.ends.stop_entities(EntityStop::key_field(position, last));
            return None;
        }
        Some(key)
    }

    /// One part of a key, `None` when it is missing.
    fn key_part(&self, field: ExpressionId) -> Result<Option<Part<'a>>, ErrorCode> {
        match self.conditions.value(field) {
            Ok(value) => Part::from_value(value).map(|part| (!part.is_blank()).then_some(part)),
            Err(ErrorCode::NoSuchKey | ErrorCode::NoSuchField) => Ok(None),
            Err(code) => Err(code),
        }
    }

    /// Keeps the triggers that may hold, and the steps at which an error is reported.
    fn triggers(&mut self, concerns: &Concerns) {
        let definitions = self.definitions;
        let scopes = concerns.scopes.iter().filter_map(|scope| definitions.plan().scope(*scope));
        let mut scopes = scopes.peekable();
        for &position in &concerns.triggers {
            let Some(trigger) = definitions.triggers.get(position) else { continue };
            if scopes.peek().is_some() || self.survey.ends.walk.is_some() {
                let first = Stop::expression(trigger.first());
                while let Some(scope) = scopes.next_if(|scope| scope.first() < first) {
                    self.scope(scope);
                }
                if self.survey.ends.are_before(first) {
                    return;
                }
            }
            match self.may_hold(trigger) {
                Ok(true) => {
                    self.values(trigger);
                    self.survey.triggers.push(position);
                }
                Ok(false) | Err(Undecided::BudgetEnded) => {}
                Err(Undecided::Error(_)) => self.survey.steps.extend_from_slice(&trigger.steps),
            }
        }
        scopes.for_each(|scope| self.scope(scope));
    }

    /// Notes the policies at which the error of a scope is reported.
    fn scope(&mut self, scope: &Scope) {
        if self.survey.ends.are_before(scope.first()) {
            return;
        }
        match self.conditions.test(scope.expression) {
            Ok(_) => {}
            Err(Undecided::BudgetEnded) => self.survey.ends.stop(scope.first()),
            Err(Undecided::Error(_)) => {
                self.survey.steps.extend(scope.policies.iter().copied().map(Step::scope));
            }
        }
    }

    fn may_hold(&mut self, trigger: &Trigger) -> Outcome {
        let applies = |entity| self.survey.applied(entity).is_some();
        if !trigger.entity.is_none_or(applies) || !self.survey.has_actions(&trigger.actions) {
            return Ok(false);
        }
        match trigger.scope.map_or(Ok(true), |scope| self.conditions.test(scope)) {
            Ok(true) => {}
            Ok(false) | Err(Undecided::Error(_)) => return Ok(false),
            Err(Undecided::BudgetEnded) => {
                self.survey.ends.stop(Stop::scope(trigger.first().policy()));
                return Err(Undecided::BudgetEnded);
            }
        }
        let outcome = match trigger.condition {
            Some(condition) if self.conditions.is_free_of_state(condition) => {
                self.conditions.test(condition)
            }
            _ => Ok(true),
        };
        if outcome == Err(Undecided::BudgetEnded) {
            self.survey.ends.stop(Stop::expression(trigger.first()));
        }
        outcome
    }

    /// Works out what the distinct windows of a trigger count.
    fn values(&mut self, trigger: &Trigger) {
        for family in self.definitions.triggers.families_of(trigger) {
            let Some(field) = family.distinct else { continue };
            if self.survey.counted.contains_key(&field)
                || self.survey.ends.are_before(family.first())
            {
                continue;
            }
            let text = match count_text(self.definitions, field, self.conditions) {
                Ok(text) => Ok(text),
                Err(Undecided::Error(code)) => Err(code),
                Err(Undecided::BudgetEnded) => {
                    self.survey.ends.stop(family.first());
                    continue;
                }
            };
            self.survey.counted.insert(field, text);
        }
    }

    /// An outcome as a bool; an error is noted and false, and so is none.
    fn note(&mut self, outcome: Outcome, place: impl FnOnce() -> Place<'a>) -> bool {
        if let Err(Undecided::Error(code)) = outcome {
            self.survey.errors.push((place(), code));
        }
        outcome == Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::decision::outcomes::KnownOutcomes;
    use crate::event::record::Record;
    use crate::value::Value;

    fn expression(root: &Json) -> Json {
        json!({"version": 1, "text": "", "type": "bool", "root": root})
    }

    fn field(name: &str) -> Json {
        json!({"kind": "field", "name": name, "span": [0, 1]})
    }

    fn is_path(path: &str) -> Json {
        let literal = json!({"kind": "literal", "span": [0, 1],
                             "value": {"type": "string", "value": path}});
        json!({"kind": "call", "function": "==", "span": [0, 1],
               "args": [field("path"), literal]})
    }

    fn policy(number: usize, scope: &Json, condition: &Json) -> Json {
        json!({"slug": format!("p{number}"), "id": "", "expression": scope, "clauses": [
            {"name": "c", "expression": condition, "actions": [], "entity": null,
             "mitigation": null, "window": null, "final": false}]})
    }

    fn definitions(cost: u64, policies: &[Json]) -> Definitions {
        let bundle = json!({
            "version": 1, "tenant": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "revision": 1,
            "max_keys": 10, "limits": {"cost": cost}, "policies": policies,
            "fields": {"path": "string", "flag": "bool"},
        });
        Definitions::from_json(bundle.to_string().as_bytes()).unwrap()
    }

    /// How many triggers the search leads to, those that are left, and the steps to tell errors.
    fn surveyed(definitions: &Definitions, path: Option<&str>) -> (usize, Vec<u32>, Vec<Step>) {
        let mut known = KnownOutcomes::default();
        let mut record = Record::empty(&definitions.layout);
        if let (Some(slot), Some(path)) = (definitions.layout.find("path"), path) {
            record.set(slot, Some(Value::text(path.to_owned())));
        }
        let mut concerns = Concerns::default();
        let mut conditions = Conditions::new(definitions, record, &mut known);
        let arena = Bump::new();
        let survey = Survey::new(definitions, &mut conditions, &mut concerns, Budget::Own, &arena);
        (concerns.triggers.len(), survey.triggers.to_vec(), survey.steps.to_vec())
    }

    #[test]
    fn only_clauses_that_may_fire_are_looked_at() {
        let policies: Vec<Json> = (0..100)
            .map(|number| policy(number, &Json::Null, &expression(&is_path(&format!("/{number}")))))
            .collect();
        let definitions = definitions(1_000, &policies);
        assert_eq!(surveyed(&definitions, Some("/42")), (1, vec![42], vec![]));
        assert_eq!(surveyed(&definitions, Some("/")), (0, vec![], vec![]));
    }

    #[test]
    fn what_the_search_says_is_true_is_not_evaluated() {
        let with_flag =
            |path| json!({"kind": "and", "span": [0, 1], "args": [is_path(path), field("flag")]});
        let policies = [
            policy(0, &expression(&is_path("/a")), &Json::Null),
            policy(1, &Json::Null, &expression(&with_flag("/a"))),
            policy(2, &Json::Null, &expression(&with_flag("/b"))),
        ];
        for (cost, flag, expected) in [
            (1_000, Some(true), &[0, 1][..]),
            (1_000, Some(false), &[0]),
            (1_000, None, &[0]),
            (1, Some(true), &[]),
        ] {
            let definitions = definitions(cost, &policies);
            let (mut known, mut concerns) = (KnownOutcomes::default(), Concerns::default());
            let mut record = Record::empty(&definitions.layout);
            let slot = |name| definitions.layout.find(name).unwrap();
            record.set(slot("path"), Some(Value::text("/a".to_owned())));
            record.set(slot("flag"), flag.map(Value::Bool));
            let mut conditions = Conditions::new(&definitions, record, &mut known);
            conditions.search(&mut concerns);
            let mut held: Vec<usize> = concerns.held.iter().map(|id| id.index()).collect();
            held.sort_unstable();
            assert_eq!(held, expected, "{cost} {flag:?}");
        }
    }

    #[test]
    fn clauses_that_ask_for_the_same_are_looked_at_once() {
        let condition = expression(&is_path("/a"));
        let policies: Vec<Json> =
            (0..100).map(|number| policy(number, &Json::Null, &condition)).collect();
        let definitions = definitions(1_000, &policies);
        assert_eq!(surveyed(&definitions, Some("/a")), (1, vec![0], vec![]));
        assert_eq!(surveyed(&definitions, None).2.len(), 100);
    }

    #[test]
    fn what_may_be_an_error_is_looked_at() {
        let condition = expression(&is_path("/a"));
        let flag = expression(&field("flag"));
        let definitions =
            definitions(12, &[policy(0, &Json::Null, &condition), policy(1, &flag, &condition)]);
        let first = Step::clause(0, 0);
        let scope = Step::scope(1);
        // The flag is absent; so is the path at first, and then it is too long.
        assert_eq!(surveyed(&definitions, None).2, [first, scope]);
        assert_eq!(surveyed(&definitions, Some("/b")).2, [scope]);
        assert_eq!(surveyed(&definitions, Some(&"/".repeat(200))).0, 2);
    }
}
