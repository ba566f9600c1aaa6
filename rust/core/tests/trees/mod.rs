//! Checked trees as JSON (docs/canonical-tree.md), written by hand.

use serde_json::{Value as Json, json};

pub(crate) fn node(kind: &str, parts: Json) -> Json {
    let mut node = json!({"kind": kind, "span": [0, 9]});
    node.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    node
}

pub(crate) fn field(name: &str) -> Json {
    node("field", json!({"name": name}))
}

pub(crate) fn text(text: &str) -> Json {
    node("literal", json!({"value": {"type": "string", "value": text}}))
}
