use serde_json::{Value as Json, json};

use super::*;
use crate::engine::{Engine, Given, ReferenceData};

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

/// The policies that fire on an event; None if it is rejected.
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
    assert_eq!((second.revision, second.index().layered()), (2, 1));
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
    assert_eq!((second.index().layered(), third.index().layered()), (0, 3));
    let fourth = changed(&third, 4, &json!([{"kept": [0, 1], "new": []}]));
    assert_eq!(fourth.index().layered(), 1);
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
