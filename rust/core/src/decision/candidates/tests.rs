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

/// The number of clause groups found by the search, then of those kept, and the steps for errors.
fn surveyed(definitions: &Definitions, path: Option<&str>) -> (usize, Vec<u32>, Vec<Step>) {
    let mut known = KnownOutcomes::default();
    let mut record = Record::empty(&definitions.layout);
    if let (Some(slot), Some(path)) = (definitions.layout.find("path"), path) {
        record.set(slot, Some(Value::text(path.to_owned())));
    }
    let mut from_index = IndexCandidates::default();
    let mut conditions = Conditions::new(definitions, record, &mut known);
    let arena = Bump::new();
    let candidates =
        Candidates::new(definitions, &mut conditions, &mut from_index, Budget::Own, &arena);
    (from_index.groups.len(), candidates.groups.to_vec(), candidates.steps.to_vec())
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
        let (mut known, mut from_index) = (KnownOutcomes::default(), IndexCandidates::default());
        let mut record = Record::empty(&definitions.layout);
        let slot = |name| definitions.layout.find(name).unwrap();
        record.set(slot("path"), Some(Value::text("/a".to_owned())));
        record.set(slot("flag"), flag.map(Value::Bool));
        let mut conditions = Conditions::new(&definitions, record, &mut known);
        conditions.search(&mut from_index);
        let mut proven: Vec<usize> = from_index.proven.iter().map(|id| id.index()).collect();
        proven.sort_unstable();
        assert_eq!(proven, expected, "{cost} {flag:?}");
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
