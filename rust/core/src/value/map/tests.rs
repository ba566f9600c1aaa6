use super::*;

/// A map of the first `count` integers to themselves.
fn counted(count: i64) -> Map<'static> {
    let mut map = Map::default();
    for number in 0..count {
        assert_eq!(map.insert(Value::Int(number), Value::Int(number)), Ok(()));
    }
    map
}

#[test]
fn keys_are_found_in_small_and_large_maps() {
    for count in [1, 8, 9, 10, 1000] {
        let map = counted(count);
        assert!(matches!(map.get(&Value::Int(count - 1)), Some(Value::Int(n)) if *n == count - 1));
        assert!(map.get(&Value::Int(count)).is_none());
    }
}

#[test]
fn integers_and_integral_doubles_are_one_key_and_bools_are_another() {
    let mut map = counted(20);
    assert!(map.get(&Value::Uint(1)).is_some());
    assert!(map.get(&Value::Double(1.0)).is_some());
    assert!(map.get(&Value::Double(1.5)).is_none());
    assert!(map.get(&Value::Double(f64::INFINITY)).is_none());
    assert!(map.get(&Value::Bool(true)).is_none());
    assert_eq!(map.insert(Value::Uint(7), Value::Null), Err(KeyError::Repeated));
    assert_eq!(map.insert(Value::Double(70.0), Value::Null), Err(KeyError::Kind));
}
