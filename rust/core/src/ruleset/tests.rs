use serde_json::{Value as Json, json};

use super::*;
use crate::json::tree::MAX_DEPTH;

#[test]
fn json_that_nests_without_end_is_refused() {
    for text in ["[".repeat(100_000), "[".repeat(100_000) + &"]".repeat(100_000)] {
        assert_eq!(
            read_tree(text.as_bytes(), &Bump::new()).unwrap_err().message,
            "the JSON nests too deep"
        );
    }
    let deep = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert!(read_tree(deep.as_bytes(), &Bump::new()).is_ok());
}

/// `request.path.contains(part) && flag`
fn flagged(part: &str) -> Json {
    let place = json!([0, 1]);
    let field = |name: &str| json!({"kind": "field", "span": place, "name": name});
    let value = json!({"type": "string", "value": part});
    let part = json!({"kind": "literal", "span": place, "value": value});
    let contains = json!({
        "kind": "call", "span": place, "function": "contains", "member": true,
        "args": [field("request.path"), part],
    });
    let root = json!({"kind": "and", "span": place, "args": [contains, field("flag")]});
    json!({"id": "", "version": 1, "text": "", "type": "bool", "root": root})
}

#[test]
fn every_candidate_of_a_large_set_is_evaluated() {
    let programs: Vec<Json> = (0..100).map(|number| flagged(&format!("<{number}>"))).collect();
    let fields = json!({"request.path": "string", "flag": "bool"});
    let bundle = json!({"version": 1, "fields": fields, "programs": programs}).to_string();
    let set = RuleSet::from_json(bundle.as_bytes()).unwrap();
    let path: String = (0..100).step_by(3).map(|number| format!("<{number}>")).collect();
    for (flag, expected) in [(true, (0..100).step_by(3).collect()), (false, Vec::new())] {
        let event = json!({"flag": flag, "request": {"path": path}}).to_string();
        let arena = Bump::new();
        let record = set.read(event.as_bytes(), None, &arena).unwrap();
        assert_eq!(set.matches(&record), expected);
    }
}

#[test]
fn a_bundle_needs_its_programs_and_has_this_version() {
    assert_eq!(RuleSet::from_json(b"{}").unwrap_err().pointer, "/programs");
    for (text, pointer) in [("1", ""), ("2", "/version"), ("\"1\"", "/version"), ("-", "")] {
        let bundle = format!(r#"{{"version": {text}, "programs": []}}"#);
        let refused = RuleSet::from_json(bundle.as_bytes()).err();
        assert_eq!(refused.is_none(), text == "1", "{text}");
        assert_eq!(refused.map_or(String::new(), |error| error.pointer), pointer, "{text}");
    }
    assert!(RuleSet::from_json(b"").unwrap_err().message.starts_with("not JSON"));
    let list = br#"{"lists": {"bad": {"kind": "ip", "entries": ["x"]}}, "programs": []}"#;
    assert_eq!(RuleSet::from_json(list).unwrap_err().pointer, "/lists/bad");
}
