//! Sets and events made to be slow: only rules that are true are evaluated, and the answers equal
//! those of evaluating rules one by one.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod trees;

use bumpalo::Bump;
use serde_json::{Value as Json, json};
use tidegate_core::RuleSet;
use tidegate_core::index::Reason;
use trees::{field, node, text};

const RULES: usize = 1_000;
const EVENT_BYTES: usize = 2_000;

fn operator(name: &str, arguments: &[Json]) -> Json {
    node("call", json!({"function": name, "args": arguments}))
}

fn method(name: &str, arguments: &[Json]) -> Json {
    node("call", json!({"function": name, "member": true, "args": arguments}))
}

fn path_contains(part: &str) -> Json {
    method("contains", &[field("request.path"), text(part)])
}

fn set(roots: impl IntoIterator<Item = Json>) -> RuleSet {
    let programs: Vec<Json> = (0..)
        .zip(roots)
        .map(|(number, root): (u32, _)| json!({"id": number.to_string(), "version": 1, "text": "", "type": "bool", "root": root}))
        .collect();
    let fields = json!({"request.path": "string", "request.method": "string",
        "request.user_agent": "string", "request.headers": "map(string, string)"});
    let bundle = json!({"version": 1, "fields": fields, "programs": programs}).to_string();
    RuleSet::from_json(bundle.as_bytes()).unwrap()
}

/// How many rules are looked at and how many are true, which are those that are when each is
/// evaluated.
fn matched(set: &RuleSet, request: &Json) -> (usize, usize) {
    let bytes = json!({ "request": request }).to_string().into_bytes();
    let arena = Bump::new();
    let record = set.read(&bytes, None, &arena).unwrap();
    let (expected, _) = set.test_all(&record);
    assert_eq!(set.matches(&record), expected);
    (set.candidates(&record), expected.len())
}

/// Numbers that look like chance, the same in each run.
fn numbers() -> impl FnMut() -> usize {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    }
}

/// Words of some letters.
fn words(letters: &[u8], length: usize, count: usize) -> Vec<String> {
    let mut next = numbers();
    let mut word = || (0..length).map(|_| char::from(letters[next() % letters.len()])).collect();
    (0..count).map(|_| word()).collect()
}

#[test]
fn words_of_two_letters_are_told_apart_in_text_of_the_same_two() {
    let set = set((0..RULES).map(|number| path_contains(&format!("{number:010b}"))));
    let path = format!("/{}", words(b"01", EVENT_BYTES, 1).concat());
    let (looked_at, are_true) = matched(&set, &json!({ "path": path }));
    assert!(are_true > RULES / 2);
    assert_eq!(looked_at, are_true);
}

#[test]
fn text_of_the_runs_that_words_are_made_of_leads_to_those_in_it() {
    for (letters, length) in [(&b"abcdef"[..], 6), (b"abcdefghi", 8), (b"ab", 24)] {
        let words = words(letters, length, RULES);
        let starts: String = words.iter().map(|word| &word[..4]).collect();
        let upper = starts.to_ascii_uppercase();
        let lower = method("lowerAscii", &[field("request.path")]);
        let folded = |word: &String| method("contains", &[lower.clone(), text(word)]);
        for set in
            [set(words.iter().map(|word| path_contains(word))), set(words.iter().map(folded))]
        {
            for text in [&starts, &upper, &words.concat()] {
                let (looked_at, are_true) = matched(&set, &json!({ "path": text[..EVENT_BYTES] }));
                assert_eq!(looked_at, are_true, "{length} of {}", letters.len());
            }
        }
    }
}

#[test]
fn negations_behind_what_is_common_are_evaluated_only_where_that_is() {
    let get = operator("==", &[field("request.method"), text("GET")]);
    let rule = |number: usize| {
        let path = operator("!=", &[field("request.path"), text(&format!("/{number}"))]);
        node("and", json!({"args": [get, path]}))
    };
    let set = set((0..RULES).map(rule));
    let event = |method: &str, path: &str| matched(&set, &json!({"method": method, "path": path}));
    assert_eq!(event("GET", "/7"), (RULES, RULES - 1));
    assert_eq!(event("GET", "/x"), (RULES, RULES));
    assert_eq!(event("PUT", "/7"), (0, 0));
    assert_eq!(matched(&set, &json!({"path": "/7"})), (0, 0));
}

#[test]
fn a_bare_negation_is_evaluated_on_every_event_and_the_report_says_so() {
    let rule = |number: usize| operator("!", &[path_contains(&format!("a{number:05}"))]);
    let set = set((0..RULES).map(rule));
    assert_eq!(matched(&set, &json!({"path": "/a00001a00002"})), (RULES, RULES - 2));
    let unindexed = &set.report().unindexed;
    assert_eq!(unindexed.len(), RULES);
    assert!(unindexed.iter().all(|rule| rule.reason == Reason::Negation));
}

#[test]
fn alternatives_of_negations_are_looked_at_where_one_is_refuted() {
    let rule = |number: usize| {
        let word = format!("/{number}");
        let differ = |name: &str| operator("!=", &[field(name), text(&word)]);
        node("or", json!({"args": [differ("request.path"), differ("request.method")]}))
    };
    let set = set((0..RULES).map(rule));
    assert_eq!(matched(&set, &json!({"path": "/7", "method": "GET"})), (RULES, RULES));
    assert_eq!(matched(&set, &json!({"path": "/7", "method": "/7"})), (RULES, RULES - 1));
}

#[test]
fn alternatives_are_passed_over_by_what_else_they_need() {
    let and = |parts: &[Json]| node("and", json!({"args": parts}));
    let method = |name: &str| operator("==", &[field("request.method"), text(name)]);
    let not_curl = operator("!=", &[field("request.user_agent"), text("curl")]);
    let rule = |number: usize| {
        let common = and(&[method("GET"), not_curl.clone()]);
        let part = path_contains(&format!("<{number}>"));
        let either = node("or", json!({"args": [part, common]}));
        and(&[either, method("POST")])
    };
    let plain = (0..4).flat_map(|_| [method("GET"), not_curl.clone(), method("POST")]);
    let set = set((0..RULES).map(rule).chain(plain));
    let event = |method: &str, path: &str| {
        matched(&set, &json!({"method": method, "path": path, "user_agent": "x"}))
    };
    assert_eq!(event("POST", "/"), (8, 8));
    assert_eq!(event("POST", "/<7><8>"), (10, 10));
    assert_eq!(event("GET", "/<7><8>"), (8, 8));
}

#[test]
fn patterns_of_one_literal_are_run_once_at_most() {
    let pattern = |number: usize| {
        let pattern = format!("admin[0-9]*{number}$");
        let parts = json!({"function": "matches", "member": true, "regexes": [pattern],
            "args": [field("request.path"), text(&pattern)]});
        node("call", parts)
    };
    let set = set((0..RULES / 2).map(pattern));
    assert_eq!(matched(&set, &json!({"path": "/admin1admin"})), (0, 0));
    let (looked_at, are_true) = matched(&set, &json!({"path": "/admin admin7123"}));
    assert_eq!((looked_at, are_true), (3, 3));
}
