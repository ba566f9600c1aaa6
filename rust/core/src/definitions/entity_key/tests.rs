use super::*;

#[test]
fn a_key_is_the_definition_and_a_json_array() {
    let parts = [
        Part::Text("a\"\\\n\r\t\u{8}\u{c}\u{1}\u{7f}é\u{2028}".into()),
        Part::from_value(Value::Uint(7)).unwrap(),
        Part::from_value(Value::Uint(u64::MAX)).unwrap(),
        Part::Bool(true),
        Part::from_value(Value::Ip(crate::value::address::Address::V4(0xC000_0201))).unwrap(),
    ];
    let mut key = KeyWriter::new(3);
    parts.iter().for_each(|part| key.push(part));
    let key = key.finish();
    let expected = "[\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\u{7f}é\u{2028}\",7,\
                    18446744073709551615,true,\"192.0.2.1\"]";
    assert_eq!(split(&key), (3, expected));
    assert_eq!(serde_json::from_str::<serde_json::Value>(expected).unwrap().to_string(), expected);
}

#[test]
fn values_of_other_kinds_are_no_parts() {
    for value in [Value::Null, Value::Double(1.0), Value::List(vec![].into())] {
        assert_eq!(Part::from_value(value).unwrap_err(), ErrorCode::NoSuchOverload);
    }
}

#[test]
fn a_counted_value_is_its_text() {
    assert_eq!(&*Part::Text("a\"b".into()).into_text(), "a\"b");
    assert_eq!(&*Part::Int(-5).into_text(), "-5");
    assert_eq!(&*Part::Bool(false).into_text(), "false");
}
