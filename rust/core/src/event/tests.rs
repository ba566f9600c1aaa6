//! Tests of the reader of events.

use super::*;

fn layout() -> Layout {
    let mut layout = Layout::new([
        ("request.headers", "map(string, string)"),
        ("fields", "map(string, string)"),
        ("request.body", "dyn"),
        ("request.cookies", "map(string, string)"),
        ("x.y", "int"),
    ])
    .unwrap();
    for name in ["request.headers", "fields", "request.body", "x.y"] {
        layout.slot(name).unwrap();
    }
    layout
}

fn with_event(text: &str, check: impl FnOnce(RawEvent<'_>)) {
    let arena = Bump::new();
    check(read(text.as_bytes(), &layout(), &arena, &Limits::default()).unwrap());
}

fn refusal(text: &str) -> (String, Option<usize>) {
    let arena = Bump::new();
    let error = read(text.as_bytes(), &layout(), &arena, &Limits::default()).unwrap_err();
    (error.pointer, error.offset)
}

#[test]
fn members_are_kept_as_received() {
    let text = r#"{"source":"edge","request":{"method":"get","path":null,"other":[1]},"z":{}}"#;
    with_event(text, |event| {
        assert_eq!(event.member(Member::Source), Some("edge"));
        assert_eq!(event.member(Member::Method), Some("get"));
        assert_eq!(event.member(Member::Path), None);
    });
}

#[test]
fn the_first_unknown_member_is_kept_with_its_place() {
    for (text, is_of_request, name, offset) in [
        (r#"{"reqest": {}, "z": 1}"#, false, "reqest", 11),
        (r#"{"source":"edge","a":"text","b":1}"#, false, "a", 21),
        (r#"{"request":{"path":"/","paht":"/"},"z":1}"#, true, "paht", 30),
    ] {
        with_event(text, |event| {
            let offset = Some(offset);
            assert_eq!(event.unknown, Some(UnknownMember { is_of_request, name, offset }));
        });
    }
    with_event(r#"{"request":{"path":"/"},"x.y":1}"#, |event| assert_eq!(event.unknown, None));
}

#[test]
fn map_values_become_text() {
    let text = r#"{"request":{"headers":{"a":["x",1.50,null,true],"b":[],"c":null,"d":"\u00e9"}},
        "fields":{"n":-0.0,"t":false,"l":["x","y"],"e":[null]}}"#;
    with_event(text, |event| {
        let headers = [("a", "x, 1.50, true"), ("d", "\u{e9}")];
        assert_eq!(event.section(Section::Headers), headers);
        let fields = [("n", "-0.0"), ("t", "false"), ("l", "x, y")];
        assert_eq!(event.section(Section::Fields), fields);
    });
}

#[test]
fn a_structured_body_is_no_field() {
    with_event(r#"{"fields":{"body":{"a":1},"b":"x"}}"#, |event| {
        assert!(matches!(event.body, Some(RawBody::Value(Value::Map(_)))));
        assert_eq!(event.section(Section::Fields), [("b", "x")]);
    });
    with_event(r#"{"fields":{"body":"[1]"}}"#, |event| {
        assert!(matches!(event.body, Some(RawBody::Text("[1]"))));
        assert_eq!(event.section(Section::Fields), [("body", "[1]")]);
    });
    with_event(r#"{"fields":{"body":"\"a\""}}"#, |event| {
        assert!(matches!(event.body, Some(RawBody::Text("\"a\""))));
    });
    with_event(r#"{"fields":{"body":5}}"#, |event| {
        assert!(event.body.is_none());
        assert_eq!(event.section(Section::Fields), [("body", "5")]);
    });
    with_event(r#"{"fields":{"body":[1e999]}}"#, |event| {
        assert!(matches!(event.body, Some(RawBody::Unread)));
    });
}

#[test]
fn variables_are_kept_with_their_place() {
    with_event(r#"{"x":{"y":5},"z":1,"x.y":6}"#, |event| {
        let found: Vec<_> = event.variables.iter().map(|each| (each.name, &each.pointer)).collect();
        assert_eq!(found, [("x.y", &"/x.y".to_owned())]);
    });
}

#[test]
fn misplaced_values_are_refused_with_their_place() {
    for (text, pointer, offset) in [
        ("[]", "", 0),
        (r#"{"source":1}"#, "/source", 10),
        (r#"{"return_url":[]}"#, "/return_url", 14),
        (r#"{"observed_at":"now"}"#, "/observed_at", 15),
        (r#"{"observed_at": "now"}"#, "/observed_at", 15),
        (r#"{"request":[]}"#, "/request", 11),
        (r#"{"request":"text"}"#, "/request", 11),
        (r#"{"request":{"headers":"a\n"}}"#, "/request/headers", 22),
        (r#"{"request":{"headers":{"a/b":{}}}}"#, "/request/headers/a~1b", 29),
        (r#"{"request":{"cookies":{"a":[[]]}}}"#, "/request/cookies/a/0", 28),
        (r#"{"fields":{"a":{}}}"#, "/fields/a", 15),
    ] {
        assert_eq!(refusal(text), (pointer.to_owned(), Some(offset)), "{text}");
    }
}

#[test]
fn broken_text_counts_more_than_a_misplaced_value() {
    assert_eq!(refusal(r#"{"source":1,"a":nan}"#), (String::new(), Some(16)));
    assert_eq!(refusal(r#"{"request":"text"{}}"#), (String::new(), Some(17)));
}

#[test]
fn long_events_are_refused_unread() {
    let within = format!("{{}}{}", " ".repeat(65_534));
    with_event(&within, |event| assert!(event.body.is_none()));
    assert_eq!(refusal(&" ".repeat(65_537)), (String::new(), Some(65_536)));
}
