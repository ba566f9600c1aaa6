use super::*;
use crate::event;
use crate::value::address::Network;

/// The settings of a set without databases.
fn settings<'s>(trusted_proxies: &'s NetworkSet, limits: &'s Limits) -> Settings<'s> {
    Settings { trusted_proxies, databases: None, user_agents: None, limits }
}

/// The wire-like text of each field read, `None` for an absent one.
fn encoded(names: &[(&str, &str)], text: &str) -> Result<Vec<Option<String>>, EventError> {
    let mut layout = Layout::new(names.iter().copied()).unwrap();
    for (name, _) in names {
        layout.slot(name).unwrap();
    }
    let arena = Bump::new();
    let limits = Limits::default();
    let trusted_proxies: NetworkSet = Network::parse("10.0.0.0/8").into_iter().collect();
    let settings = settings(&trusted_proxies, &limits);
    let event = event::read(text.as_bytes(), &layout, &arena, &limits)?;
    let record = encode(&event, &layout, &arena, settings)?;
    let shown = |value: &Value<'_>| match value {
        Value::String(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    Ok(layout.fields().map(|(slot, _, _)| record.get(slot).map(shown)).collect())
}

fn field(name: &str, type_text: &str, text: &str) -> Option<String> {
    encoded(&[(name, type_text)], text).unwrap().remove(0)
}

fn text_field(name: &str, text: &str) -> String {
    field(name, "string", text).unwrap()
}

#[test]
fn text_fields_follow_the_request() {
    let text = r#"{"source":"edge","request":{"method":"gEt","scheme":"HTTPS","path":"//A/%2e/b.PHP",
        "headers":{"Host":"Example.test:443","User-Agent":"curl","Referer":"r","Content-Type":"t"}}}"#;
    for (name, expected) in [
        ("request.method", "GET"),
        ("request.scheme", "https"),
        ("request.host", "example.test"),
        ("request.raw_path", "//A/%2e/b.PHP"),
        ("request.path", "/A/b.PHP"),
        ("request.user_agent", "curl"),
        ("request.referer", "r"),
        ("request.content_type", "t"),
        ("source", "edge"),
        ("derived.path_extension", "php"),
        ("derived.ua_family", "Other"),
        ("derived.country", ""),
    ] {
        assert_eq!(text_field(name, text), expected, "{name}");
        assert!(field(name, "string", "{}").is_some(), "{name}");
    }
    let segments = field("derived.path_segments", "list(string)", text).unwrap();
    let expected = r#"List(Borrowed([String(Borrowed("A")), String(Borrowed("b.PHP"))]))"#;
    assert_eq!(segments, expected);
}

#[test]
fn absent_members_read_as_empty_or_absent() {
    for name in ["request.method", "request.host", "request.client_ip", "derived.ip_subnet"] {
        assert_eq!(text_field(name, "{}"), "", "{name}");
    }
    assert_eq!(text_field("derived.ua_family", "{}"), "");
    assert_eq!(field("observed_at", "timestamp", "{}"), None);
    assert_eq!(field("request.body", "dyn", "{}"), None);
    assert_eq!(field("actions.login", "bool", r#"{"actions.login":true}"#), None);
    assert_eq!(field("derived.ip_version", "int", "{}").unwrap(), "Int(0)");
    assert_eq!(field("derived.is_bot", "bool", "{}").unwrap(), "Bool(false)");
}

#[test]
fn a_member_goes_before_its_header() {
    let text =
        r#"{"request":{"host":"a:1","user_agent":"","headers":{"host":"b","user-agent":"x"}}}"#;
    assert_eq!(text_field("request.host", text), "a");
    assert_eq!(text_field("request.user_agent", text), "");
}

#[test]
fn client_addresses_are_canonical() {
    for (client_ip, text, subnet, version) in [
        ("192.0.2.7", "192.0.2.7", "192.0.2.0/24", 4),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24", 4),
        ("2001:DB8:1:2::0", "2001:db8:1:2::", "2001:db8:1::/48", 6),
        ("192.0.2.07", "", "", 0),
    ] {
        let event = format!(r#"{{"request":{{"client_ip":"{client_ip}"}}}}"#);
        assert_eq!(text_field("request.client_ip", &event), text);
        assert_eq!(text_field("derived.ip_subnet", &event), subnet);
        let found = field("derived.ip_version", "int", &event).unwrap();
        assert_eq!(found, format!("Int({version})"));
    }
    let event = r#"{"request":{"headers":{"X-Forwarded-For":"6.6.6.6, 192.0.2.9, 10.0.0.1"}}}"#;
    assert_eq!(text_field("request.client_ip", event), "192.0.2.9");
}

#[test]
fn bodies_are_values_or_strict_json_text() {
    for (body, expected) in [
        (r#""[1]""#, Some("List(Shared([Int(1)]))")),
        (r#"[1]"#, Some("List(Shared([Int(1)]))")),
        (r#""null""#, Some("Null")),
        (r#""{\"a\":1,\"a\":2}""#, None),
        (r#""[1e999]""#, None),
        (r#""not json""#, None),
        (r#""""#, None),
        ("5", None),
    ] {
        let event = format!(r#"{{"fields":{{"body":{body}}}}}"#);
        assert_eq!(field("request.body", "dyn", &event).as_deref(), expected, "{body}");
    }
}

#[test]
fn keys_read_by_literal_have_their_slots() {
    let mut layout = Layout::new([("request.headers", "map(string, string)")]).unwrap();
    let accept = layout.key_slot("request.headers", "accept").unwrap();
    let other = layout.key_slot("request.headers", "x-other").unwrap();
    let (arena, limits, proxies) = (Bump::new(), Limits::default(), NetworkSet::default());
    let settings = settings(&proxies, &limits);
    let text = br#"{"request":{"headers":{"Accept":"a","accept":"b"}}}"#;
    let event = event::read(text, &layout, &arena, &limits).unwrap();
    let record = encode(&event, &layout, &arena, settings).unwrap();
    assert_eq!(record.key(accept), Some("a, b"));
    assert_eq!(record.key(other), None);
}

#[test]
fn keys_found_while_reading_are_those_of_the_maps() {
    let maps = ["request.headers", "request.cookies", "fields"];
    let declared = maps.map(|map| (map, "map(string, string)"));
    let mut layout = Layout::new(declared).unwrap();
    let names = ["a", "b", "Accept", "a\n"];
    let slots = maps.map(|map| {
        let map_slot = layout.slot(map).unwrap();
        (map_slot, names.map(|name| layout.key_slot(map, name).unwrap()))
    });
    let (arena, limits, proxies) = (Bump::new(), Limits::default(), NetworkSet::default());
    let settings = settings(&proxies, &limits);
    let map = r#"{"b":"1","a\n":[2,3],"a":null,"other":""}"#;
    let capitals = r#"{"b":"1","Accept":"2","B":"3","a":[4,null]}"#;
    for (headers, others) in [(map, map), (map, capitals), (capitals, map), (capitals, "{}")] {
        let text = format!(
            r#"{{"request":{{"headers":{headers},"cookies":{others}}},"fields":{others}}}"#
        );
        let event = event::read(text.as_bytes(), &layout, &arena, &limits).unwrap();
        assert_eq!(event.keys().is_some(), headers == map);
        let record = encode(&event, &layout, &arena, settings).unwrap();
        for (map_slot, keys) in slots {
            let Some(Value::TotalMap(map)) = record.get(map_slot) else { panic!("{text}") };
            for (name, slot) in names.iter().zip(keys) {
                assert_eq!(record.key(slot), map.find(name), "{name} in {text}");
            }
        }
    }
}

#[test]
fn variables_of_another_type_are_refused_with_their_place() {
    let declared = [("a.b", "int")];
    assert_eq!(encoded(&declared, r#"{"a":{"b":5}}"#).unwrap(), [Some("Int(5)".to_owned())]);
    assert_eq!(encoded(&declared, r#"{"a":{}}"#).unwrap(), [None]);
    assert_eq!(encoded(&declared, r#"{"a":{"b":"5"}}"#).unwrap_err().pointer, "/a/b");
    assert_eq!(encoded(&declared, r#"{"a.b":"5"}"#).unwrap_err().pointer, "/a.b");
}
