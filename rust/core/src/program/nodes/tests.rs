use std::path::Path;

use bumpalo::Bump;
use serde_json::{Value as Json, json};

use super::*;
use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::program::Program;
use crate::program::recognise::{Predicates, recognise};
use crate::ruleset::RuleSet;
use crate::value::error::Failure;
use crate::value::limits::Limits;
use crate::value::meter::Meter;

/// Passes on the predicates of the corpus, each with its record and the layout.
fn each_predicate(mut take: impl FnMut(&Expr, &Predicate, &Record<'_>, &Layout)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/trees.jsonl");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let rules = RuleSet::from_json(case["bundle"].to_string().as_bytes()).unwrap();
        let arena = Bump::new();
        let event = case["event"].as_str().unwrap();
        let Ok(record) = rules.read(event.as_bytes(), None, &arena) else { continue };
        let (_, program) = rules.rule(0).unwrap();
        each(&program.root, &mut |expression, predicate| {
            take(expression, predicate, &record, rules.layout());
        });
    }
}

/// Predicates outside every macro.
fn each<'e>(expression: &'e Expr, take: &mut dyn FnMut(&'e Expr, &'e Predicate)) {
    match &expression.node {
        Node::Predicate(predicate) => take(expression, predicate),
        Node::Comprehension(_) | Node::Bind(_) | Node::Slot(_) | Node::OptionalMap(_) => {}
        _ => expression.each_child(&mut |child| each(child, take)),
    }
}

/// The outcome of a part of a program at a limit, and its cost.
fn run(part: &Expr, record: &Record<'_>, cost: u64) -> (Result<bool, Failure>, u64) {
    let lists = Lists::default();
    let mut meter = Meter::new(&Limits { cost, ..Limits::default() });
    (Program::test_part(part, record, &lists, &mut meter), meter.spent())
}

#[test]
fn predicates_behave_as_the_nodes_they_stand_for_at_every_limit() {
    let mut compared = 0;
    each_predicate(|expression, predicate, record, _| {
        let nodes = predicate.nodes(expression.span.start);
        let (_, cost) = run(&nodes, record, 20_000);
        for limit in (0..=cost.min(150)).chain([20_000]) {
            let found = run(expression, record, limit);
            assert_eq!(found, run(&nodes, record, limit), "{predicate:?} {limit}");
            compared += 1;
        }
    });
    assert!(compared > 300, "{compared}");
}

#[test]
fn the_nodes_of_a_predicate_are_recognised_as_it_wherever_they_stand() {
    let mut kinds = std::collections::HashSet::new();
    each_predicate(|_, predicate, _, layout| {
        let nodes = predicate.nodes(7);
        let again = recognise(nodes, &mut layout.clone(), &mut Predicates::default());
        assert!(matches!(&again.node, Node::Predicate(again) if again == predicate));
        kinds.insert(std::mem::discriminant(&predicate.kind));
    });
    assert!(kinds.len() > 5, "{}", kinds.len());
}

#[test]
fn constants_that_are_no_texts_are_not_kept() {
    let mixed = Value::List(vec![Value::text("a"), Value::Int(1)].into());
    assert_eq!(texts_as_json(&mixed), None);
    let texts = Value::List(vec![Value::text("\"a"), Value::text("")].into());
    let kept = texts_as_json(&texts).unwrap();
    assert_eq!(kept, json!(["\"a", ""]));
    assert_eq!(texts_as_json(&texts_of_json(&kept)).unwrap(), kept);
}
