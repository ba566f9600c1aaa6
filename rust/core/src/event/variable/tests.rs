use super::*;

#[test]
fn type_text_is_read_whole() {
    let strings = || Box::new(VariableType::String);
    for (text, expected) in [
        ("int", VariableType::Int),
        ("list(string)", VariableType::List(strings())),
        (
            "map(string, list(string))",
            VariableType::Map(strings(), Box::new(VariableType::List(strings()))),
        ),
        ("optional_type(string)", VariableType::Optional(strings())),
        ("type(int)", VariableType::Type),
        ("type", VariableType::Type),
    ] {
        assert_eq!(VariableType::parse(text), Some(expected), "{text}");
    }
    for text in ["", "integer", "list", "list(int", "list(int))", "map(int)", "int int"] {
        assert_eq!(VariableType::parse(text), None, "{text}");
    }
    assert_eq!(VariableType::parse(&"list(".repeat(100_000)), None);
}

fn converted(type_text: &str, value: Value<'_>) -> Option<String> {
    let value = VariableType::parse(type_text).unwrap().convert(value);
    value.map(|value| format!("{value:?}"))
}

#[test]
fn text_is_read_by_the_declared_type() {
    for (type_text, text, expected) in [
        ("string", "1", "String(Borrowed(\"1\"))"),
        ("timestamp", "1970-01-01T00:00:01Z", "Timestamp(Timestamp(1000000000))"),
        ("duration", "1.5s", "Duration(Duration(1500000000))"),
        ("bytes", "aGk=", "Bytes(Shared([104, 105]))"),
        ("bytes", "aGk", "Bytes(Shared([104, 105]))"),
        ("net.IP", "::ffff:192.0.2.1", "Ip(V4(3221225985))"),
        ("net.CIDR", "10.0.0.1/8", "Cidr(Network { address: V4(167772161), prefix: 8 })"),
    ] {
        let value = converted(type_text, Value::text(text));
        assert_eq!(value.as_deref(), Some(expected), "{type_text} {text}");
    }
    for type_text in ["int", "bool", "timestamp", "bytes", "net.IP", "list(int)", "null_type"] {
        assert_eq!(converted(type_text, Value::text("5!")), None, "{type_text}");
    }
}

#[test]
fn numbers_change_kind_where_nothing_is_lost() {
    assert_eq!(converted("uint", Value::Int(5)).as_deref(), Some("Uint(5)"));
    assert_eq!(converted("double", Value::Int(5)).as_deref(), Some("Double(5.0)"));
    assert_eq!(converted("uint", Value::Int(-5)), None);
    assert_eq!(converted("int", Value::Double(5.0)), None);
    assert_eq!(converted("int", Value::Bool(true)), None);
}

#[test]
fn lists_and_maps_convert_their_parts() {
    let numbers = Value::List(List::from(vec![Value::Int(1), Value::Int(2)]));
    let doubles = converted("list(double)", numbers.clone()).unwrap();
    assert_eq!(doubles, "List(Shared([Double(1.0), Double(2.0)]))");
    assert_eq!(converted("list(string)", numbers), None);
    let map = Map::from_unique(vec![(Value::text("7"), Value::Int(1))]);
    let map = Value::Map(Arc::new(map));
    let found = VariableType::parse("map(int, uint)").unwrap().convert(map.clone());
    let Some(Value::Map(found)) = found else { panic!("no map") };
    assert!(matches!(found.get(&Value::Int(7)), Some(Value::Uint(1))));
    assert_eq!(converted("map(bool, uint)", map), None);
}

#[test]
fn a_full_name_goes_before_a_path_and_null_is_absent() {
    let inner = |number| {
        Value::Map(Arc::new(Map::from_unique(vec![(Value::text("b"), Value::Int(number))])))
    };
    let find = |members: &[(&str, Value<'static>)], variable: &VariableType| {
        find(members, "a.b", variable)
    };
    let path = find(&[("a", inner(1))], &VariableType::Int);
    assert!(matches!(path, Some((Value::Int(1), path)) if path == "/a/b"));
    let full = find(&[("a", inner(1)), ("a.b", Value::Int(2))], &VariableType::Int);
    assert!(matches!(full, Some((Value::Int(2), path)) if path == "/a.b"));
    assert!(find(&[("a.b", Value::Null)], &VariableType::Int).is_none());
    assert!(find(&[("a.b", Value::Null)], &VariableType::Dyn).is_some());
    assert!(find(&[("a", Value::Int(1))], &VariableType::Int).is_none());
}
