//! The reader of JSON.

use super::*;
use crate::value::error::EventError;

fn refusal(text: &[u8]) -> Option<Fault> {
    check(text, &Limits::default()).err().map(|fault| *fault)
}

fn decode(text: &str) -> String {
    let arena = Bump::new();
    let mut reader = Reader::over(text, &arena, &Limits::default());
    reader.string().unwrap().to_owned()
}

#[test]
fn strict_json_is_accepted() {
    for text in [
        "null",
        " true ",
        "-0.0e+1",
        "\"\"",
        "[]",
        "{}",
        "[1,\"a\",{\"b\":[]}]",
        "{\"a\":{\"a\":1},\"b\":1}",
        "\"\\ud83d\\ude00 \u{7f}\"",
        "1E400",
    ] {
        assert_eq!(refusal(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn anything_looser_is_refused() {
    for text in [
        "",
        " ",
        "nul",
        "True",
        "NaN",
        "-Infinity",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "0x10",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "[1 2]",
        "{\"a\" 1}",
        "[1",
        "{\"a\":1",
        "\"a",
        "\"\t\"",
        "\"\0\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\\ud800\"",
        "1 1",
        "\u{feff}1",
        "// a\n1",
        "[1]]",
        "\u{a0}1",
    ] {
        let fault = refusal(text.as_bytes());
        assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::Text), "{text}");
    }
}

#[test]
fn bad_utf8_is_refused_at_its_offset() {
    for bytes in [&b"\"ab\xff\""[..], b"\"ab\xc0\xaf\"", b"\"ab\xed\xa0\x80\""] {
        assert_eq!(refusal(bytes).map(|fault| fault.offset), Some(3));
    }
}

#[test]
fn duplicates_are_found_through_escapes_and_in_large_objects() {
    assert!(refusal(br#"{"a":1,"\u0061":2}"#).is_some());
    let many = |last: usize| {
        let names = (0..255).chain([last]).map(|number| format!("\"k{number}\":0"));
        format!("{{{}}}", names.collect::<Vec<_>>().join(","))
    };
    assert_eq!(refusal(many(255).as_bytes()), None);
    for repeated in [0, 100, 254] {
        let fault = refusal(many(repeated).as_bytes()).unwrap();
        assert_eq!(fault.message, format!("duplicate member `k{repeated}`"));
    }
}

#[test]
fn a_duplicate_is_found_at_its_offset_however_it_is_written() {
    for count in 1..40 {
        for space in ["", " "] {
            let names = (0..count).map(|number| format!("\"k{number}\"{space}:{space}\"\""));
            let members = names.collect::<Vec<_>>().join(",");
            assert_eq!(refusal(format!("{{{members}}}").as_bytes()), None);
            for name in ["k0", "\\u006b0"] {
                let fault = refusal(format!("{{{members},\"{name}\":0}}").as_bytes()).unwrap();
                assert_eq!(fault.message, "duplicate member `k0`");
                assert_eq!(fault.offset, members.len() + 2);
            }
        }
    }
}

#[test]
fn limits_hold_to_the_unit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let wide = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    let members = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("\"{number}\":0")).collect();
        format!("{{{}}}", names.join(","))
    };
    let long = |count: usize| format!("\"{}\"", "a".repeat(count));
    let escaped = |count: usize| format!("\"{}\"", "\\u00e4".repeat(count));
    for (within, beyond) in [
        (nested(32), nested(33)),
        (wide(256), wide(257)),
        (members(256), members(257)),
        (long(16_384), long(16_385)),
        (escaped(8_192), escaped(8_193)),
    ] {
        assert_eq!(refusal(within.as_bytes()), None);
        let kind = refusal(beyond.as_bytes()).map(|fault| fault.kind);
        assert_eq!(kind, Some(FaultKind::Limit));
    }
    assert!(refusal("[".repeat(1_000_000).as_bytes()).is_some());
}

#[test]
fn strings_end_where_they_end_at_every_alignment() {
    for length in 0..40 {
        for special in ["\"", "\\n\"", "\u{e9}\""] {
            let plain = "x".repeat(length);
            let tail = special.trim_end_matches('"').replace("\\n", "\n");
            let text = format!("\"{plain}{special} , \"");
            assert_eq!(decode(&text), format!("{plain}{tail}"));
        }
    }
}

#[test]
fn escapes_are_decoded() {
    let text = "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00E9\\uD834\\uDD1E\"";
    assert_eq!(decode(text), "\"\\/\u{8}\u{c}\n\r\t\0\u{e9}\u{1d11e}");
}

#[test]
fn limits_point_to_the_value_and_broken_text_to_its_offset() {
    let long = "a".repeat(16_385);
    let fault = check(format!(r#"{{"a/b":[0,"{long}"]}}"#).as_bytes(), &Limits::default());
    let error = EventError::from(fault.unwrap_err());
    assert_eq!((error.pointer.as_str(), error.offset), ("/a~1b/1", Some(10)));
    let error = EventError::from(check(br#"{"a":[0,x]}"#, &Limits::default()).unwrap_err());
    assert_eq!((error.pointer.as_str(), error.offset), ("", Some(8)));
    assert_eq!(error.message, "expected a value, found `x`");
}

#[test]
fn a_text_is_unreadable_when_it_is_no_json_or_passes_a_limit_as_a_whole() {
    let refused =
        |text: &str| EventError::from(check(text.as_bytes(), &Limits::default()).unwrap_err());
    assert!(refused("{").is_unreadable);
    assert!(refused(r#"{"a":[0,x]}"#).is_unreadable);
    assert!(!refused(&format!(r#"{{"a":"{}"}}"#, "a".repeat(16_385))).is_unreadable);
    let arena = Bump::new();
    let reader = Reader::over("[]", &arena, &Limits::default());
    assert!(!EventError::from(reader.shape_fault("must be an object")).is_unreadable);
}

#[test]
fn numbers_become_what_holds_them() {
    let value = |text: &str| {
        let arena = Bump::new();
        let mut reader = Reader::over(text, &arena, &Limits::default());
        (format!("{:?}", reader.value().unwrap()), reader.is_out_of_range())
    };
    for (text, expected, is_out_of_range) in [
        ("-9223372036854775808", "Int(-9223372036854775808)", false),
        ("18446744073709551615", "Uint(18446744073709551615)", false),
        ("18446744073709551616", "Double(1.8446744073709552e19)", false),
        ("-0", "Int(0)", false),
        ("1.0", "Double(1.0)", false),
        ("1e2", "Double(100.0)", false),
        ("1e999", "Double(inf)", true),
    ] {
        assert_eq!(value(text), (expected.to_owned(), is_out_of_range), "{text}");
    }
}
