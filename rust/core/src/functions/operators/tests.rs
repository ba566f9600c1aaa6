use super::*;
use crate::value::limits::Limits;

fn apply<'a>(sign: &str, left: Value<'a>, right: Value<'a>) -> Applied<'a> {
    let operator = Operator::from_sign(sign, 2).unwrap();
    apply_binary(operator, &left, &right, &mut Meter::new(&Limits::default()))
}

fn holds(sign: &str, left: Value<'_>, right: Value<'_>) -> bool {
    matches!(apply(sign, left, right), Ok(Value::Bool(true)))
}

#[test]
fn integers_overflow_as_errors() {
    for (sign, left, right) in
        [("+", i64::MAX, 1), ("-", i64::MIN, 1), ("*", i64::MAX, 2), ("/", i64::MIN, -1)]
    {
        let result = apply(sign, Value::Int(left), Value::Int(right));
        assert!(matches!(result, Err(ErrorCode::Overflow)), "{sign}");
    }
    assert!(matches!(apply("-", Value::Uint(0), Value::Uint(1)), Err(ErrorCode::Overflow)));
    for sign in ["/", "%"] {
        let result = apply(sign, Value::Int(1), Value::Int(0));
        assert!(matches!(result, Err(ErrorCode::DivideByZero)));
    }
}

#[test]
fn numbers_of_different_kinds_are_ordered_as_doubles_but_equal_exactly() {
    let big = (1_i64 << 53) + 1;
    let near = Value::Double(9_007_199_254_740_992.0);
    assert!(!holds(">", Value::Int(big), near.clone()));
    assert!(holds("<=", Value::Int(big), near.clone()));
    assert!(holds("!=", Value::Int(big), near));
    assert!(holds("==", Value::Int(1), Value::Uint(1)));
    assert!(holds("==", Value::Double(-0.0), Value::Int(0)));
    assert!(holds("<", Value::Int(-1), Value::Uint(u64::MAX)));
    assert!(holds("<", Value::Int(1), Value::Double(1.5)));
    assert!(holds(">", Value::Int(-1), Value::Double(-1.5)));
    assert!(holds(">", Value::Int(i64::MAX), Value::Double(-1e300)));
    assert!(holds("<", Value::Uint(1), Value::Double(f64::INFINITY)));
    for sign in ["<", "<=", ">", ">=", "=="] {
        assert!(!holds(sign, Value::Int(1), Value::Double(f64::NAN)), "{sign}");
    }
}

#[test]
fn values_of_different_kinds_are_unequal_and_have_no_order() {
    assert!(!holds("==", Value::Bool(true), Value::Int(1)));
    assert!(holds("!=", Value::text("1"), Value::Int(1)));
    assert!(matches!(apply("<", Value::text("1"), Value::Int(1)), Err(ErrorCode::NoSuchOverload)));
}

#[test]
fn equality_spends_by_what_it_visits() {
    let mut meter = Meter::new(&Limits::default());
    let long = Value::text("x".repeat(40));
    let list = Value::List(vec![long.clone(), Value::Int(1)].into());
    assert_eq!(equal(&list, &list.clone(), &mut meter), Ok(true));
    assert_eq!(meter.spent(), 4);
    meter.reset();
    assert_eq!(equal(&list, &Value::List(vec![long].into()), &mut meter), Ok(false));
    assert_eq!(meter.spent(), 0);
}
