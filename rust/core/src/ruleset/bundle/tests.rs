use std::collections::BTreeMap;

use super::*;
use crate::event::layout::Layout;
use crate::functions::named_lists::Lists;

type Fields = BTreeMap<String, String>;

fn refusal(text: &str) -> (String, String) {
    let bundle = Bundle::read(text.as_bytes()).unwrap();
    let (mut layout, lists) = (Layout::default(), Lists::default());
    let error = bundle.compile(Compiler::new(&mut layout, &lists)).unwrap_err();
    (error.pointer, error.message)
}

#[test]
fn members_come_in_any_order_and_the_last_of_a_name_counts() {
    let text = r#"{"programs": [{}], "fields": 1, "programs": [], "fields": {"y": "int"}}"#;
    let bundle = Bundle::read(text.as_bytes()).unwrap();
    let (mut layout, lists) = (Layout::default(), Lists::default());
    assert!(bundle.compile(Compiler::new(&mut layout, &lists)).unwrap().is_empty());
    let fields: Fields = bundle.part("fields").unwrap();
    assert_eq!(fields, [("y".to_owned(), "int".to_owned())].into());
}

#[test]
fn a_refusal_points_to_the_program() {
    let good = r#"{"version": 1, "id": "a", "root": {"kind": "literal", "span": [0, 1],
        "value": {"type": "bool", "value": true}}}"#;
    for (second, pointer, message) in [
        ("1", "/programs/1", "an object is needed"),
        (&*good.replace("\"id\"", "\"no\""), "/programs/1/id", "the member is missing"),
    ] {
        let text = format!(r#"{{"programs": [{good}, {second}]}}"#);
        assert_eq!(refusal(&text), (pointer.to_owned(), message.to_owned()));
    }
}

#[test]
fn what_is_no_bundle_is_refused() {
    for text in ["[]", "{", r#"{"programs": [}"#, "{} 1"] {
        let error = Bundle::read(text.as_bytes()).unwrap_err();
        assert!(error.message.starts_with("not JSON") && error.pointer.is_empty(), "{text}");
    }
    assert_eq!(refusal(r#"{"programs": {}}"#).0, "/programs");
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    let (pointer, message) = refusal(&format!(r#"{{"programs": [{deep}]}}"#));
    assert_eq!((&*pointer, &*message), ("/programs/0", "the JSON nests too deep"));
    assert!(Bundle::read(br#"{"fields": 1}"#).unwrap().part::<Fields>("fields").is_err());
}
