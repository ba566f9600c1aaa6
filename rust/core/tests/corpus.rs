//! The corpus of every evaluator, without Python: `tests/corpus/trees.jsonl`,
//! which `python -m tests.generators.trees` makes with the reference evaluator.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at whatever is unexpected"
)]

use std::path::Path;

use bumpalo::Bump;
use serde::Deserialize;
use serde_json::Value as Json;
use tidegate_core::program::constant::write_value;
use tidegate_core::ruleset::RuleSet;

#[derive(Deserialize)]
struct Case {
    id: String,
    bundle: Json,
    event: String,
    expected: Expected,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
struct Expected {
    value: Option<Json>,
    code: Option<String>,
    span: Option<(u32, u32)>,
    cost: Option<u64>,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/trees.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The outcome of a set's only program on an event.
fn observe(rules: &RuleSet, event: &str) -> Expected {
    let arena = Bump::new();
    let Ok(record) = rules.read(event.as_bytes(), None, &arena) else {
        return Expected { code: Some("invalid-event".into()), ..Expected::default() };
    };
    let outcome = rules.outcome(0, &record).unwrap();
    let cost = Some(outcome.cost);
    match outcome.result {
        Ok(value) => {
            let text = write_value(&value).unwrap();
            Expected { value: serde_json::from_str(&text).unwrap(), cost, ..Expected::default() }
        }
        Err(failure) => Expected {
            code: Some(failure.code.as_str().into()),
            span: Some((failure.span.start, failure.span.end)),
            cost,
            ..Expected::default()
        },
    }
}

#[test]
fn every_case_has_its_value_or_error_its_place_and_its_cost() {
    let cases = cases();
    assert!(cases.len() > 100);
    for case in cases {
        let rules = RuleSet::from_json(case.bundle.to_string().as_bytes()).unwrap();
        assert_eq!(observe(&rules, &case.event), case.expected, "{}", case.id);
    }
}

#[test]
fn a_changed_bundle_is_refused_or_runs_but_never_panics() {
    let strange = [
        Json::Null,
        true.into(),
        (-1).into(),
        u64::MAX.into(),
        "".into(),
        "in".into(),
        Json::Array(vec![]),
        serde_json::json!({}),
    ];
    for case in cases().into_iter().step_by(5) {
        for place in places(&case.bundle, String::new()) {
            for value in &strange {
                let mut bundle = case.bundle.clone();
                *bundle.pointer_mut(&place).unwrap() = value.clone();
                if let Ok(rules) = RuleSet::from_json(bundle.to_string().as_bytes())
                    && !rules.is_empty()
                {
                    observe(&rules, &case.event);
                }
            }
        }
    }
}

/// Pointers to every part of a JSON value.
fn places(json: &Json, at: String) -> Vec<String> {
    let inside: Vec<(String, &Json)> = match json {
        Json::Array(parts) => parts.iter().enumerate().map(|(n, p)| (n.to_string(), p)).collect(),
        Json::Object(parts) => {
            parts.iter().map(|(n, p)| (n.replace('~', "~0").replace('/', "~1"), p)).collect()
        }
        _ => Vec::new(),
    };
    let deeper = inside.into_iter().flat_map(|(step, part)| places(part, format!("{at}/{step}")));
    let mut all: Vec<String> = deeper.collect();
    all.push(at);
    all
}
