use super::*;
use crate::functions::tests::{call, fails, gives};

#[test]
fn the_greatest_keeps_its_kind_and_the_first_of_equal_ones_wins() {
    let mixed = [Value::Int(1), Value::Double(2.5), Value::Uint(2)];
    assert!(matches!(call("math.greatest", false, &mixed), Ok(Value::Double(2.5))));
    let list = [Value::List(mixed.to_vec().into())];
    assert!(matches!(call("math.least", false, &list), Ok(Value::Int(1))));
    let equal = [Value::Uint(1), Value::Int(1)];
    assert!(matches!(call("math.greatest", false, &equal), Ok(Value::Uint(1))));
    fails("math.least", false, &[Value::List(vec![].into())], ErrorCode::InvalidArgument);
    fails("math.least", false, &[Value::text("x")], ErrorCode::NoSuchOverload);
    let nan = [Value::Double(f64::NAN), Value::Int(1)];
    fails("math.least", false, &nan, ErrorCode::InvalidArgument);
}

#[test]
fn halves_round_away_from_zero() {
    gives("math.round", false, &[Value::Double(-1.5)], Value::Double(-2.0));
    gives("math.round", false, &[Value::Double(0.49999999999999994)], Value::Double(0.0));
    gives("math.sign", false, &[Value::Double(-0.0)], Value::Double(0.0));
    fails("math.round", false, &[Value::Int(1)], ErrorCode::NoSuchOverload);
}

#[test]
fn shifts_lose_bits_and_refuse_to_go_back() {
    let shifted = |value, places| [Value::Int(value), Value::Int(places)];
    gives("math.bitShiftLeft", false, &shifted(1, 200), Value::Int(0));
    gives("math.bitShiftRight", false, &shifted(-1024, 3), Value::Int(2_305_843_009_213_693_824));
    gives("math.bitShiftRight", false, &shifted(-1024, 0), Value::Int(-1024));
    fails("math.bitShiftLeft", false, &shifted(1, -1), ErrorCode::InvalidArgument);
}
