use bumpalo::Bump;

use super::*;
use crate::value::limits::Limits;

fn hash(text: &str) -> u128 {
    let arena = Bump::new();
    let mut reader = Reader::over(text, &arena, &Limits::default());
    meaning_hash(&mut reader).unwrap()
}

#[test]
fn a_finding_says_nothing_about_a_call() {
    let of = |text: &str| {
        let arena = Bump::new();
        event_hash(&mut Reader::over(text, &arena, &Limits::default())).unwrap()
    };
    let plain = r#"{"request":{"path":"/","agent":"x"},"source":"s"}"#;
    assert_eq!(of(plain), hash(plain));
    for added in
        [r#"{"agent":{"proof":"dns"},"#, r#"{"geo":{"country":"NL"},"#, r#"{"agent":null,"#]
    {
        assert_eq!(of(&plain.replacen('{', added, 1)), hash(plain));
    }
    assert_ne!(of(&plain.replace("\"x\"", "\"y\"")), hash(plain));
}

#[test]
fn space_escapes_and_order_say_nothing() {
    let plain = r#"{"a":{"b":"x/y","c":[1,"é",null]},"d":true}"#;
    for same in [
        "{ \"d\" : true,\r\n\t\"a\" : {\"c\": [ 1, \"é\", null ], \"b\": \"x/y\"} } ",
        r#"{"\u0061":{"b":"x\/y","c":[1,"\u00e9",null]},"d":true}"#,
    ] {
        assert_eq!(hash(same), hash(plain), "{same}");
    }
}

#[test]
fn texts_that_say_something_else_have_other_hashes() {
    let texts = [
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "0",
        "0.0",
        "-0",
        "\"\"",
        "\"0\"",
        "\"null\"",
        "[[]]",
        "[{}]",
        "[null]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[[1,2]]",
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":null}"#,
        r#"{"a":""}"#,
        r#"{"a":"b"}"#,
        r#"{"b":"a"}"#,
        r#"{"a":{"b":"c"}}"#,
        r#"{"a":"c","b":"d"}"#,
        r#"{"a":"d","b":"c"}"#,
        r#"{"a":{"b":"d"},"c":{"b":"e"}}"#,
        r#"{"a":{"b":"e"},"c":{"b":"d"}}"#,
        r#"{"a":{"b":"d","c":{}}}"#,
    ];
    for (at, text) in texts.iter().enumerate() {
        for other in texts.iter().skip(at + 1) {
            assert_ne!(hash(text), hash(other), "{text} {other}");
        }
    }
}

#[test]
fn text_that_is_not_json_has_no_hash() {
    let arena = Bump::new();
    for text in ["", "{", "[1,]", r#"{"a":1,"a":1}"#, "nul"] {
        let mut reader = Reader::over(text, &arena, &Limits::default());
        assert!(meaning_hash(&mut reader).is_err(), "{text}");
    }
}
