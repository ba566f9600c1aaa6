//! Decisions over bundles of definitions, through the whole engine.

use serde_json::{Value as Json, json};

use super::*;

const SECOND: i64 = 1_000_000_000;
const NOW: i64 = 1_700_000_000 * SECOND;
const TENANT: &str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

fn field(name: &str) -> Json {
    json!({"version": 1, "text": name, "type": "bool",
           "root": {"kind": "field", "name": name, "span": [0, 1]}})
}

fn block(slug: &str, ttl_seconds: u64) -> Json {
    json!({"slug": slug, "mode": "Block", "ttl_seconds": ttl_seconds, "challenge": null,
           "block": {"status_code": 429, "body": "\u{1}", "headers": {"b": "1", "a": "2"}}})
}

fn clause(name: &str, members: Json) -> Json {
    let mut clause = json!({"name": name, "expression": null, "actions": [], "entity": null,
                            "mitigation": null, "window": null, "final": false});
    for (member, value) in members.as_object().unwrap() {
        clause[member] = value.clone();
    }
    clause
}

fn window(measure: &str, threshold: u16) -> Json {
    let counted = if measure == "distinct" { field("path") } else { Json::Null };
    json!({"duration_seconds": 10, "threshold": threshold, "measure": measure, "field": counted})
}

/// One entity (by `user`), a block of a minute, a block of this event only.
fn bundle(clauses: &[Json]) -> Json {
    json!({
        "version": 1, "tenant": TENANT, "revision": 7, "max_keys": 100,
        "fields": {"user": "string", "path": "string", "login": "bool", "odd": "string",
                   "actions.sign_in": "bool", "entity.event_count": "int"},
        "actions": [{"slug": "sign_in", "expression": field("login")}],
        "entities": [{"slug": "user", "id": "E1", "priority": 100, "on_missing_key": "skip",
                      "match_expression": null, "key_fields": [field("user")]}],
        "mitigations": [
            block("minute", 60), block("once", 0),
            {"slug": "puzzle", "mode": "Challenge", "ttl_seconds": 0, "block": null,
             "challenge": {"provider": "pow", "difficulty": 4,
                           "default_return_url_template": "https://example.test/"}},
            {"slug": "watch", "mode": "Monitor", "ttl_seconds": 60, "challenge": null,
             "block": null}],
        "policies": [{"slug": "p", "id": "P1", "expression": null, "clauses": clauses}],
    })
}

fn engine(bundle: &Json) -> Engine {
    let definitions = Definitions::from_json(bundle.to_string().as_bytes()).unwrap();
    Engine::new(definitions, ReferenceData::default())
}

fn record(engine: &Engine, event: &Json, seconds: i64) -> Json {
    let body = event.to_string();
    let record = engine.record(body.as_bytes(), NOW + seconds * SECOND, Given::default()).unwrap();
    serde_json::from_str(&record).unwrap()
}

fn reasons(engine: &Engine, event: &Json, times: impl IntoIterator<Item = i64>) -> Vec<String> {
    let reason = |time| record(engine, event, time)["reason"].as_str().unwrap().to_owned();
    times.into_iter().map(reason).collect()
}

#[test]
fn a_window_blocks_when_it_is_reached_and_the_mitigation_goes_on() {
    let members =
        json!({"entity": 0, "mitigation": 0, "actions": [0], "window": window("count", 3)});
    let engine = engine(&bundle(&[clause("c", members)]));
    let event = json!({"user": "ann", "login": true});
    assert_eq!(
        reasons(&engine, &event, [0, 1, 2, 3, 30, 61]),
        ["no-match", "no-match", "policy", "policy", "active-mitigation", "active-mitigation"]
    );
    assert_eq!(reasons(&engine, &json!({"user": "bob", "login": true}), [61]), ["no-match"]);
    assert_eq!(
        reasons(&engine, &json!({"user": "ann"}), [62, 63]),
        ["active-mitigation", "no-match"]
    );
}

#[test]
fn a_record_says_what_fired_and_for_whom() {
    let members = json!({"entity": 0, "mitigation": 1, "window": window("count", 1)});
    let engine = engine(&bundle(&[clause("c \"1\"", members)]));
    let record = record(&engine, &json!({"user": "a\"b", "login": true}), 0);
    // The UUID of version 5 for `E1`, a line feed and the parts of the key, as Python makes it.
    let id = "c481aa1b-31d3-5c95-8fa6-c811ac330945";
    let expected = json!({
        "action": {"type": "block",
                   "block": {"status_code": 429, "body": "\u{1}", "headers": {"b": "1", "a": "2"}}},
        "reason": "policy", "policy": "p", "clause": "c \"1\"", "mitigation": "once",
        "entities": [{"definition": "user", "entity_id": id, "key": ["a\"b"]}],
        "matched_actions": ["sign_in"],
        "fired": [{"policy": "p", "clause": "c \"1\"", "mitigation": "once", "mode": "Block",
                   "entity_id": id, "window": {"value": 1, "threshold": 1}, "active": false}],
        "errors": {},
    });
    assert_eq!(record, expected);
}

#[test]
fn a_challenge_leads_back_to_the_url_of_the_event_or_its_own() {
    let engine = engine(&bundle(&[clause("c", json!({"mitigation": 2}))]));
    for (event, url) in [
        (json!({"return_url": "https://here.test/"}), "https://here.test/"),
        (json!({"return_url": ""}), "https://example.test/"),
        (json!({}), "https://example.test/"),
    ] {
        let answer = engine.answer(event.to_string().as_bytes(), NOW).unwrap();
        let challenge = json!({"provider": "pow", "difficulty": 4, "return_url": url});
        let action = json!({"type": "challenge", "challenge": challenge});
        let expected = json!({"action": action, "reason": "policy"});
        assert_eq!(serde_json::from_str::<Json>(&answer).unwrap(), expected);
    }
}

#[test]
fn monitor_is_recorded_and_never_answered() {
    let engine = engine(&bundle(&[clause("c", json!({"mitigation": 3, "entity": 0}))]));
    let first = record(&engine, &json!({"user": "ann"}), 0);
    assert_eq!(first["action"], json!({"type": "allow"}));
    assert_eq!((&first["reason"], &first["policy"]), (&json!("no-match"), &Json::Null));
    assert_eq!(first["fired"][0]["mode"], "Monitor");
}

#[test]
fn a_final_clause_ends_the_walk() {
    let trusted = clause("trusted", json!({"expression": field("login"), "final": true}));
    let other =
        clause("other", json!({"entity": 0, "mitigation": 1, "window": window("count", 2)}));
    let engine = engine(&bundle(&[trusted, other]));
    let trusted = json!({"user": "ann", "login": true});
    assert_eq!(reasons(&engine, &trusted, [0, 0, 0]), ["no-match"; 3]);
    let stranger = json!({"user": "ann", "login": false});
    assert_eq!(reasons(&engine, &stranger, [0, 0]), ["no-match", "policy"]);
}

#[test]
fn errors_are_recorded_by_place_and_do_not_match() {
    let mut bundle = bundle(&[
        clause("c", json!({"expression": field("odd"), "mitigation": 1})),
        clause("d", json!({"entity": 0, "mitigation": 1, "window": window("distinct", 1)})),
    ]);
    bundle["policies"][0]["expression"] = field("login");
    let engine = engine(&bundle);
    let errors = |event: &Json| record(&engine, event, 0)["errors"].clone();
    assert_eq!(
        errors(&json!({"user": "ann"})),
        json!({"actions.sign_in.expression": "no_such_field",
               "policies.p.expression": "no_such_field"})
    );
    assert_eq!(
        errors(&json!({"user": "ann", "login": true, "odd": "text"})),
        json!({"policies.p.clauses[0].expression": "no_such_overload",
               "policies.p.clauses[1].window.field": "no_such_field"})
    );
}

#[test]
fn an_incomplete_key_is_skipped_or_blank() {
    let mut bundle = bundle(&[]);
    for (mode, expected) in [("skip", json!([])), ("blank", json!([""]))] {
        bundle["entities"][0]["on_missing_key"] = json!(mode);
        let engine = engine(&bundle);
        for event in [json!({}), json!({"user": ""})] {
            let record = record(&engine, &event, 0);
            let keys = record["entities"].as_array().unwrap();
            assert_eq!(keys.first().map_or(json!([]), |entity| entity["key"].clone()), expected);
        }
    }
}

#[test]
fn distinct_values_are_counted_once_and_an_empty_one_too() {
    let members = json!({"entity": 0, "mitigation": 1, "window": window("distinct", 3)});
    let engine = engine(&bundle(&[clause("c", members)]));
    let visits = [("/a", "no-match"), ("/a", "no-match"), ("", "no-match"), ("/b", "policy")];
    for (path, reason) in visits {
        let visit = json!({"user": "ann", "path": path});
        assert_eq!(reasons(&engine, &visit, [0]), [reason]);
    }
}

#[test]
fn conditions_see_the_entity_as_it_was_before() {
    let seen_before = json!({"version": 1, "text": "entity.event_count > 0", "type": "bool",
        "root": {"kind": "call", "function": ">", "span": [0, 1], "args": [
            {"kind": "field", "name": "entity.event_count", "span": [0, 1]},
            {"kind": "literal", "value": {"type": "int", "value": "0"}, "span": [0, 1]}]}});
    let members = json!({"entity": 0, "mitigation": 1, "expression": seen_before});
    let engine = engine(&bundle(&[clause("c", members)]));
    assert_eq!(reasons(&engine, &json!({"user": "ann"}), [0, 0]), ["no-match", "policy"]);
    assert_eq!(reasons(&engine, &json!({"user": "bob"}), [0]), ["no-match"]);
}

#[test]
fn a_look_ahead_changes_nothing() {
    let members = json!({"entity": 0, "mitigation": 1, "window": window("count", 2)});
    let engine = engine(&bundle(&[clause("c", members)]));
    record(&engine, &json!({"user": "ann"}), 5);
    let peeked =
        engine.peek(br#"{"user": "ann"}"#.as_slice(), NOW + 6 * SECOND, Given::default()).unwrap();
    let again =
        engine.peek(br#"{"user": "ann"}"#.as_slice(), NOW + 6 * SECOND, Given::default()).unwrap();
    assert_eq!(peeked, again);
    assert!(peeked.contains("\"reason\":\"policy\""));
    let states =
        engine.entity_states(br#"{"user": "ann"}"#.as_slice(), NOW, Given::default()).unwrap();
    let states: Json = serde_json::from_str(&states).unwrap();
    let time = (NOW + 5 * SECOND).to_string();
    let window = json!(["p", "c", "count", [time]]);
    let key = json!([{"type": "string", "value": "ann"}]);
    assert_eq!(states["keys"], json!([["user", key, 1, time, time, [window], []]]));
}

#[test]
fn a_refused_event_counts_nothing() {
    let engine = engine(&bundle(&[]));
    for body in [&b""[..], b"[]", b"{\"user\":1}", b"{\"user\":\"a\",\"user\":\"b\"}", b"{"] {
        assert!(engine.record(body, NOW, Given::default()).is_err());
    }
    assert_eq!(engine.stats().keys, 0);
}

#[test]
fn time_is_that_of_the_event_but_not_far_ahead() {
    let at = |text: &str| {
        let engine = engine(&bundle(&[]));
        record(&engine, &json!({"user": "ann", "observed_at": text}), 0);
        let snapshot: Json = serde_json::from_str(&engine.snapshot()).unwrap();
        snapshot["keys"][0][3].as_str().unwrap().parse::<i64>().unwrap()
    };
    assert_eq!(at("2023-11-14T22:13:20.5Z"), NOW + SECOND / 2);
    assert_eq!(at("2999-01-01T00:00:00Z"), NOW + 300 * SECOND);
    assert_eq!(at("9999-12-31T23:59:59Z"), NOW + 300 * SECOND);
    assert_eq!(at("0001-01-01T00:00:00Z"), 0);
}

fn busy_bundle() -> Json {
    bundle(&[
        clause("count", json!({"entity": 0, "mitigation": 0, "window": window("count", 12)})),
        clause("paths", json!({"entity": 0, "mitigation": 3, "window": window("distinct", 11)})),
        clause("always", json!({"entity": 0, "mitigation": 3})),
    ])
}

fn busy_event(number: i64) -> Json {
    let user = format!("u{}\"é\u{2}", number % 7);
    json!({"user": user, "path": format!("/{}", number % 40), "login": number % 2 == 0})
}

#[test]
fn a_restored_engine_goes_on_as_the_one_that_was_saved() {
    let first = engine(&busy_bundle());
    let records = |engine: &Engine, numbers: std::ops::Range<i64>| -> Vec<Json> {
        numbers.map(|number| record(engine, &busy_event(number), number / 40)).collect()
    };
    records(&first, 0..500);
    let second = engine(&busy_bundle());
    second.restore(first.snapshot().as_bytes()).unwrap();
    assert_eq!(second.snapshot(), first.snapshot());
    assert_eq!(records(&second, 500..900), records(&first, 500..900));
    assert_eq!(second.snapshot(), first.snapshot());
}

#[test]
fn restoring_drops_what_the_definitions_no_longer_have() {
    let first = engine(&busy_bundle());
    (0..300).for_each(|number| drop(record(&first, &busy_event(number), number / 40)));
    let mut changed = busy_bundle();
    changed["max_keys"] = json!(3);
    changed["policies"][0]["clauses"][0]["window"]["threshold"] = json!(2);
    changed["policies"][0]["clauses"][1]["window"] = window("count", 5);
    changed["policies"][0]["clauses"][2]["name"] = json!("other");
    let second = engine(&changed);
    second.restore(first.snapshot().as_bytes()).unwrap();
    let snapshot: Json = serde_json::from_str(&second.snapshot()).unwrap();
    let keys = snapshot["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 3);
    for key in keys {
        let windows = key[5].as_array().unwrap();
        assert_eq!((windows.len(), windows[0][3].as_array().unwrap().len()), (1, 2));
        assert!(key[6].as_array().unwrap().iter().all(|active| active[1] != "always"));
    }
}

#[test]
fn hostile_snapshots_are_refused_and_change_nothing() {
    let engine = engine(&busy_bundle());
    record(&engine, &busy_event(1), 0);
    let before = engine.snapshot();
    let good: Json = serde_json::from_str(&before).unwrap();
    let with = |pointer: &str, value: Json| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    let key = good["keys"][0].clone();
    for text in [
        String::new(),
        "{}".into(),
        "[".repeat(100_000),
        format!("{before} {before}"),
        with("/version", json!(2)),
        with("/tenant", json!("6f9619ff-8b86-4d01-b42d-00cf4fc964fe")),
        with("/tenant", json!("x")),
        with("/evictions/total", json!(-1)),
        with("/keys", json!([key, key])),
        with("/keys/0/1/0/type", json!("double")),
        with("/keys/0/2", json!(-1)),
        with("/keys/0/2", json!(1e99)),
        with("/keys/0/3", json!("99999999999999999999")),
        with("/keys/0/3", json!("-1")),
        with("/keys/0/3", json!("01")),
        with("/keys/0/3", json!("")),
        with("/keys/0/4", json!("0")),
        with("/keys/0/5/0/3", json!(["5", "4"])),
        with("/keys/0/5/0/3", json!([])),
        with("/keys/0/5/0/2", json!("distinct")),
        with("/keys/0/5/1/3", json!([["a", "4"], ["a", "5"]])),
        with("/keys/0/5", json!([good["keys"][0][5][0], good["keys"][0][5][0]])),
        with("/keys/0/6/0/2", json!(5)),
        with("/keys/0", json!(["user"])),
    ] {
        let error = engine.restore(text.as_bytes()).unwrap_err().to_string();
        assert!(!error.contains("Row") && !error.contains("struct"), "{error}");
        assert_eq!(engine.snapshot(), before);
    }
}

#[test]
fn hostile_bundles_are_refused() {
    let good = busy_bundle();
    let with = |pointer: &str, value: Json| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    for text in [
        String::new(),
        "{}".into(),
        "[".repeat(100_000),
        with("/version", json!(9)),
        with("/tenant", json!("x")),
        with("/max_keys", json!(-1)),
        with("/fields/user", json!("list(")),
        with("/entities/0/key_fields", json!([])),
        with("/entities/0/on_missing_key", json!("x")),
        with("/mitigations/0/block", Json::Null),
        with("/mitigations/0/block/headers/a", json!(1)),
        with("/mitigations/2/challenge", Json::Null),
        with("/policies/0/clauses/0/actions", json!([1])),
        with("/policies/0/clauses/0/entity", json!(1)),
        with("/policies/0/clauses/0/entity", Json::Null),
        with("/policies/0/clauses/0/mitigation", json!(4)),
        with("/policies/0/clauses/0/name", json!("paths")),
        with("/policies/0/clauses/0/window/threshold", json!(0)),
        with("/policies/0/clauses/0/window/threshold", json!(10_001)),
        with("/policies/0/clauses/0/window/duration_seconds", json!(0)),
        with("/policies/0/clauses/0/window/duration_seconds", json!(1e300)),
        with("/policies/0/clauses/0/window/duration_seconds", json!(86_401)),
        with("/policies/0/clauses/1/window/field", Json::Null),
    ] {
        assert!(Definitions::from_json(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn threads_share_an_engine_and_lose_no_event() {
    let engine = engine(&bundle(&[]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200).for_each(|_| drop(record(&engine, &json!({"user": "a"}), 0))));
        }
    });
    let snapshot: Json = serde_json::from_str(&engine.snapshot()).unwrap();
    assert_eq!(snapshot["keys"][0][2], 800);
}

#[test]
fn a_batch_leaves_the_answers_and_the_state_of_one_by_one() {
    let count = json!({"entity": 0, "mitigation": 0, "window": window("count", 3)});
    let distinct = json!({"entity": 0, "mitigation": 2, "window": window("distinct", 2)});
    let mut bundle = bundle(&[clause("count", count), clause("distinct", distinct)]);
    // Fewer keys than users: blocks leave while others of the batch are there.
    bundle["max_keys"] = json!(5);
    let (together, alone) = (engine(&bundle), engine(&bundle));
    let event = |number: usize| match number % 11 {
        10 => "[]".to_owned(),
        _ => {
            let (user, path) = (number * number % 13, number % 3);
            json!({"user": user.to_string(), "path": path.to_string()}).to_string()
        }
    };
    for (time, len) in (0_i64..).zip([0, 1, 15, 16, 17, 100]) {
        let events: Vec<String> = (0..len).map(event).collect();
        let events: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
        let at = NOW + time * SECOND;
        let expected: Vec<_> = events.iter().map(|event| alone.answer(*event, at)).collect();
        let answers = together.answer_batch(&events, at).into_iter();
        let answers = answers.map(|answer| answer.map(|text| text.to_string()));
        assert_eq!(answers.collect::<Vec<_>>(), expected);
        assert_eq!(together.snapshot(), alone.snapshot());
    }
    assert!(alone.stats().evictions.total > 10);
}

#[test]
fn effects_repeat_a_decision_and_malformed_ones_do_nothing() {
    let members = json!({"entity": 0, "mitigation": 0, "window": window("distinct", 2)});
    let bundle = bundle(&[clause("c", members)]);
    let (one, other) = (engine(&bundle), engine(&bundle));
    for (time, path) in ["/a", "/b"].into_iter().enumerate() {
        let event = json!({"user": "ann", "path": path}).to_string();
        let time = NOW + i64::try_from(time).unwrap();
        let effects = one.decided(event.as_bytes(), time, |decided| {
            effects::written(one.definitions(), &one.apply(decided).0)
        });
        let effects = effects.unwrap();
        other.apply_effects([effects.as_bytes()]).unwrap();
    }
    assert_eq!(other.snapshot(), one.snapshot());
    let good = r#"["event","user",["bob"],"5",[],[]]"#;
    let bad = format!("[{good},[\"event\"]]");
    let error = other.apply_effects([&b"[]"[..], bad.as_bytes()]).unwrap_err();
    assert_eq!((error.position, other.snapshot()), (1, one.snapshot()));
}

#[test]
fn a_successor_takes_over_the_state_and_what_is_still_decided() {
    let members = json!({"entity": 0, "mitigation": 0, "window": window("count", 3)});
    let old = engine(&bundle(&[clause("c", members.clone())]));
    let event = json!({"user": "ann"});
    assert_eq!(reasons(&old, &event, [0]), ["no-match"]);
    let changed = bundle(&[clause("before", json!({})), clause("c", members)]);
    let changed = Definitions::from_json(changed.to_string().as_bytes()).unwrap();
    let new = old.succeeded_by(changed, None).unwrap();
    assert_eq!(reasons(&old, &event, [1]), ["no-match"]);
    assert_eq!(reasons(&new, &event, [2]), ["policy"]);
    let stats = old.stats();
    assert_eq!((stats.keys, old.snapshot().contains("\"before\"")), (1, false));
}

#[test]
fn a_frozen_state_is_saved_as_it_was() {
    let members = json!({"entity": 0, "mitigation": 0, "window": window("count", 3)});
    let engine = engine(&bundle(&[clause("c", members)]));
    reasons(&engine, &json!({"user": "ann"}), [0, 1]);
    let (frozen, before) = (engine.freeze(), engine.snapshot());
    reasons(&engine, &json!({"user": "ann"}), [2]);
    reasons(&engine, &json!({"user": "bob"}), [2]);
    assert_eq!(engine.save(&frozen), before);
    assert_ne!(engine.snapshot(), before);
}
