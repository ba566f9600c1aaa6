use super::*;
use crate::functions::tests::{fails, gives};
use crate::value::map::Map;

fn formatted(template: &'static str, arguments: Vec<Value<'static>>, expected: &'static str) {
    let arguments = [Value::text(template), Value::List(arguments.into())];
    gives("format", true, &arguments, Value::text(expected));
}

#[test]
fn clauses_write_their_kinds() {
    formatted("%% %s %d|", vec![Value::text("é"), Value::Int(-5)], "% é -5|");
    formatted(
        "%b %o %x %X",
        vec![5, 8, -255, 255].into_iter().map(Value::Int).collect(),
        "101 10 -ff FF",
    );
    formatted("%X", vec![Value::text("Hi")], "4869");
    formatted("%b", vec![Value::Bool(true)], "1");
    formatted("%e", vec![Value::Double(1052.032911275)], "1.052033e+03");
    formatted("%.0e %.1e", vec![Value::Double(1e-300), Value::Int(0)], "1e-300 0.0e+00");
    formatted(
        "%d %f",
        vec![Value::Double(1e21), Value::Double(f64::INFINITY)],
        "1000000000000000000000 Infinity",
    );
}

#[test]
fn decimals_round_the_exact_value_half_to_even() {
    for (value, text) in [(0.5, "0"), (1.5, "2"), (2.5, "2"), (3.5, "4")] {
        formatted("%.0f", vec![Value::Double(value)], text);
    }
    formatted("%.2f %.2f", vec![Value::Double(1.005), Value::Double(0.125)], "1.00 0.12");
    formatted("%.0e %.1e", vec![Value::Double(2.5), Value::Double(0.125)], "2e+00 1.2e-01");
}

#[test]
fn maps_are_written_in_the_order_of_their_keys() {
    let mut map = Map::default();
    map.insert(Value::text("b"), Value::List(vec![Value::Int(1), Value::Null].into())).unwrap();
    map.insert(Value::Int(10), Value::Bool(true)).unwrap();
    formatted("%s", vec![Value::Map(map.into())], "{10: true, b: [1, null]}");
}

#[test]
fn wrong_templates_and_arguments_are_refused() {
    for (template, code) in [
        ("%", ErrorCode::InvalidArgument),
        ("%.f", ErrorCode::InvalidArgument),
        ("%.1001f", ErrorCode::InvalidArgument),
        ("%z", ErrorCode::InvalidArgument),
        ("%é", ErrorCode::InvalidArgument),
        ("%d%d", ErrorCode::IndexOutOfRange),
        ("%x%b%f%o", ErrorCode::IndexOutOfRange),
    ] {
        let arguments = [Value::text(template), Value::List(vec![Value::Int(1)].into())];
        fails("format", true, &arguments, code);
    }
    let optional = Value::List(vec![Value::Optional(None)].into());
    fails("format", true, &[Value::text("%s"), optional], ErrorCode::InvalidArgument);
    let bytes = Value::List(vec![Value::Bytes(vec![0xff].into())].into());
    fails("format", true, &[Value::text("%s"), bytes], ErrorCode::InvalidUtf8);
}
