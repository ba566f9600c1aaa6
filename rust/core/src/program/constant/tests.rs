use bumpalo::Bump;

use super::*;
use crate::json::tree;

fn round_trip(text: &str) {
    let arena = Bump::new();
    let json = tree::read(text, &arena).unwrap();
    let written = write_value(&read_value(&json).unwrap()).unwrap();
    assert_eq!(tree::read(&written, &arena).unwrap(), json, "{written}");
}

#[test]
fn every_type_reads_and_writes_back() {
    for text in [
        r#"{"type":"null"}"#,
        r#"{"type":"bool","value":true}"#,
        r#"{"type":"int","value":"-9223372036854775808"}"#,
        r#"{"type":"uint","value":"18446744073709551615"}"#,
        r#"{"type":"double","value":"1e+16"}"#,
        r#"{"type":"double","value":"-0.0"}"#,
        r#"{"type":"double","value":"NaN"}"#,
        r#"{"type":"string","value":"a\"\u0000é"}"#,
        r#"{"type":"bytes","value":"AP8="}"#,
        r#"{"type":"list","value":[{"type":"null"},{"type":"list","value":[]}]}"#,
        r#"{"type":"map","value":[[{"type":"bool","value":true},{"type":"null"}]]}"#,
        r#"{"type":"timestamp","seconds":"-1","nanos":5}"#,
        r#"{"type":"duration","seconds":"-1","nanos":-5}"#,
        r#"{"type":"type","value":"int"}"#,
        r#"{"type":"optional","value":null}"#,
        r#"{"type":"optional","value":{"type":"null"}}"#,
        r#"{"type":"ip","value":"2001:db8::1"}"#,
        r#"{"type":"cidr","value":"10.1.2.3/8"}"#,
    ] {
        round_trip(text);
    }
}

#[test]
fn malformed_values_are_refused() {
    for text in [
        "1",
        "{}",
        r#"{"type":"int","value":1}"#,
        r#"{"type":"int","value":"1.0"}"#,
        r#"{"type":"double","value":"inf"}"#,
        r#"{"type":"map","value":[[{"type":"null"},{"type":"null"}]]}"#,
        r#"{"type":"timestamp","seconds":"99999999999999","nanos":0}"#,
        r#"{"type":"what","value":"x"}"#,
    ] {
        let arena = Bump::new();
        let json = tree::read(text, &arena).unwrap();
        assert!(read_value(&json).is_err(), "{text}");
    }
}

#[test]
fn a_value_far_larger_than_it_looks_is_not_written() {
    let mut value = Value::Null;
    for _ in 0..30 {
        value = Value::List(vec![value.clone(), value].into());
    }
    assert_eq!(write_value(&value), None);
}

#[test]
fn doubles_are_written_as_python_writes_them() {
    for (value, text) in [
        (1.0, "1.0"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (-1.25e-5, "-1.25e-05"),
        (1e-6, "1e-06"),
        (8_394_581_998_227_769.0 / 4.0, "2098645499556942.2"),
        (8_394_581_998_227_771.0 / 4.0, "2098645499556942.8"),
        (1.5e300, "1.5e+300"),
        (-0.0, "-0.0"),
    ] {
        assert_eq!(double_text(value), text);
    }
}
