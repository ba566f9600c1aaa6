use serde_json::{Value as Json, json};

use super::*;

fn line(received_at: i64, event: &Json) -> String {
    json!({"received_at": received_at, "endpoint": "beacon", "event": event}).to_string()
}

/// Rows by name, without their sketches.
fn rows(learned: &LearnedNames) -> Vec<Json> {
    let mut rows: Vec<Vec<Json>> = serde_json::from_str(&learned.rows([]).unwrap()).unwrap();
    rows.sort_by_key(|row| row[0].to_string());
    rows.into_iter()
        .map(|mut row| {
            row.remove(4);
            row.into()
        })
        .collect()
}

fn sketch_of(learned: &LearnedNames, name: &str, stored: &[(&str, &[u8])]) -> Vec<u8> {
    let text = learned.rows(stored.iter().copied()).unwrap();
    let rows: Vec<Row<'_>> = serde_json::from_str(&text).unwrap();
    let row = rows.iter().find(|row| row.0 == name).unwrap();
    (0..row.4.len() / 2)
        .map(|at| u8::from_str_radix(&row.4[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

fn learned(lines: &[String]) -> LearnedNames {
    let mut learned = LearnedNames::new(&[], 1_000);
    learned.learn(&lines.join("\n"));
    learned
}

#[test]
fn names_are_counted_with_the_newest_example() {
    let found = learned(&[
        line(1, &json!({"fields": {"a": "x", "n": 1, "none": null, "blank": ""}})),
        line(
            2,
            &json!({"fields": {"a": "a\"\u{e4}", "n": 1.5}, "request": {
            "headers": {"X-App": "s", "x-app": "t"}, "cookies": {"sid": "1"}, "path": "/"}}),
        ),
        r#"{"received_at":3,"endpoint":"lift","event":{}}"#.to_owned(),
        "no line".to_owned(),
    ]);
    let expected = [
        json!(["", "", "", 2, 2]),
        json!(["fields.a", "string", "a\"\u{e4}", 2, 2]),
        json!(["fields.n", "dyn", "1.5", 2, 2]),
        json!(["request.cookies.sid", "string", "", 1, 2]),
        json!(["request.headers.x-app", "string", "s", 1, 2]),
    ];
    assert_eq!(rows(&found), expected);
    assert!(found.bytes() > 4 * size_of::<Seen>());
}

#[test]
fn what_may_be_secret_is_no_example() {
    let found = learned(&[line(
        1,
        &json!({"fields": {"body": "a=b", "token": "hmac:00", "list": ["hmac:00"]},
                "request": {"headers": {"cookie": "a=b", "set-cookie": "a"}}}),
    )]);
    assert_eq!(rows(&found).len(), 6);
    assert!(rows(&found).iter().all(|row| row[2] == ""));
}

#[test]
fn names_past_the_bound_are_not_learned_and_known_ones_are() {
    let known = ["fields.kept".to_owned(), "fields.old".to_owned()];
    let mut found = LearnedNames::new(&known, 3);
    let lines = [
        line(1, &json!({"fields": {"new": 1, "more": 1}})),
        line(2, &json!({"fields": {"kept": 1, "x".repeat(201): 1}})),
    ];
    found.learn(&lines.join("\n"));
    let mut names = found.names();
    names.sort();
    assert_eq!(names, ["fields.kept", "fields.new"]);
}

#[test]
fn sketches_of_parts_add_up() {
    let mut sketch = Vec::new();
    for part in 0..10 {
        // Each value is in two parts.
        let lines: Vec<String> = (500 * part..500 * part + 1_000)
            .map(|value| line(1, &json!({"fields": {"a": format!("v{value}")}})))
            .collect();
        sketch = sketch_of(&learned(&lines), "fields.a", &[("fields.a", &sketch)]);
    }
    let found = distinct(&sketch).unwrap();
    assert!(found.abs_diff(5_500) < 5_500 * 5 / 100, "{found}");
    assert!(sketch.len() < 3_200, "{}", sketch.len());
}

#[test]
fn damaged_sketches_are_none_or_other_sketches() {
    let of = |values: u32| {
        let lines: Vec<String> =
            (0..values).map(|value| line(1, &json!({"fields": {"a": value}}))).collect();
        learned(&lines)
    };
    for values in [1, 5, 50, 400, 3_000] {
        let now = of(values);
        let whole = sketch_of(&now, "fields.a", &[]);
        for at in 0..whole.len() {
            for bits in [0x01, 0x80, 0xff] {
                // The content in steps, the head whole.
                if at > 48 && at % 61 > 0 {
                    continue;
                }
                let mut damaged = whole.clone();
                damaged[at] ^= bits;
                let _ = distinct(&damaged);
                assert!(!sketch_of(&now, "fields.a", &[("fields.a", &damaged)]).is_empty());
            }
        }
        assert_eq!(distinct(&whole[..whole.len() / 2]), None);
    }
}
