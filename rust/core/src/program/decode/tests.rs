use super::*;
use crate::ruleset::read_tree;
use bumpalo::Bump;
use serde_json::{Value as Json, json};

/// The fault of a tree and its place.
fn refusal(root: &Json) -> (String, String) {
    let mut layout = Layout::new([("x", "int")]).unwrap();
    let lists = Lists::default();
    let envelope = json!({"version": 1, "root": root});
    let text = envelope.to_string();
    let arena = Bump::new();
    let envelope = read_tree(text.as_bytes(), &arena).unwrap();
    let error = Compiler::new(&mut layout, &lists).compile(&envelope).unwrap_err();
    (error.message, error.pointer)
}

/// A node with a span.
fn node(mut members: Json) -> Json {
    members["span"] = json!([0, 1]);
    members
}

#[test]
fn a_refusal_points_to_the_place() {
    let bad = node(json!({"kind": "literal", "value": {"type": "int", "value": "x"}}));
    let call = node(json!({"kind": "call", "function": "!", "args": [bad]}));
    let (message, pointer) = refusal(&call);
    assert_eq!(pointer, "/root/args/0/value");
    assert_eq!(message, "a value of type `int` is malformed");
}

#[test]
fn what_is_no_tree_is_refused() {
    for (root, pointer) in [
        (json!(1), "/root"),
        (json!({}), "/root/span"),
        (json!({"span": [0, -1], "kind": "field"}), "/root/span"),
        (node(json!({"kind": "what"})), "/root/kind"),
        (node(json!({"kind": "local", "name": "x"})), "/root"),
        (node(json!({"kind": "and", "args": []})), "/root/args"),
        (
            node(json!({"kind": "select", "operand": node(json!({"kind": "field", "name": "x"}))})),
            "/root/field",
        ),
        (
            node(json!({"kind": "call", "function": "matches", "args": [], "regexes": ["("]})),
            "/root/regexes",
        ),
    ] {
        assert_eq!(refusal(&root).1, pointer, "{root}");
    }
}

#[test]
fn another_version_is_refused() {
    let mut layout = Layout::default();
    let lists = Lists::default();
    let mut compiler = Compiler::new(&mut layout, &lists);
    let arena = Bump::new();
    let envelope = read_tree(br#"{"version": 2}"#, &arena).unwrap();
    assert_eq!(compiler.compile(&envelope).unwrap_err().pointer, "/version");
}

#[test]
fn a_tree_deeper_than_any_author_can_nest_is_refused() {
    let mut root = node(json!({"kind": "literal", "value": {"type": "bool", "value": true}}));
    for _ in 0..MAX_TREE_DEPTH {
        root = node(json!({"kind": "call", "function": "!", "args": [root]}));
    }
    assert_eq!(refusal(&root).0, "the tree is too deep");
}
