use super::*;

#[test]
fn members_of_a_literal_are_found_across_the_kinds_of_numbers() {
    let set = LiteralSet::new(&[
        Value::Int(1),
        Value::Double(2.5),
        Value::Double(f64::NAN),
        Value::text("a"),
        Value::Bool(true),
        Value::List(vec![Value::Int(7)].into()),
    ]);
    for member in [
        Value::Uint(1),
        Value::Double(1.0),
        Value::Double(2.5),
        Value::text("a"),
        Value::Bool(true),
        Value::List(vec![Value::Double(7.0)].into()),
    ] {
        assert!(set.contains(&member), "{member:?}");
    }
    for stranger in [Value::Int(2), Value::Double(f64::NAN), Value::Bool(false), Value::Null] {
        assert!(!set.contains(&stranger), "{stranger:?}");
    }
}

#[test]
fn lists_of_addresses_take_addresses_and_their_text() {
    let definition = ListDefinition {
        kind: ListKind::Ip,
        entries: vec!["10.0.0.0/8".into(), "2001:db8::1".into()],
    };
    let lists = Lists::new([("bad".to_owned(), definition)]).unwrap();
    let list = lists.find("bad").unwrap();
    assert!(lists.has_text(list, "10.1.2.3") && lists.has_text(list, "2001:db8::1"));
    assert!(!lists.has_text(list, "11.0.0.0") && !lists.has_text(list, "x"));
    assert!(lists.has_address(list, Address::V4(0x0a00_0001)));
    assert!(lists.find("good").is_none());
}
