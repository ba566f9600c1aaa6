use super::*;
use crate::functions::tests::{fails, gives};

#[test]
fn doubles_become_integers_toward_zero_within_range() {
    gives("int", false, &[Value::Double(-7.9)], Value::Int(-7));
    gives("uint", false, &[Value::Double(3.9)], Value::Uint(3));
    for value in [f64::NAN, f64::INFINITY, -INT_BOUND, INT_BOUND] {
        fails("int", false, &[Value::Double(value)], ErrorCode::Overflow);
    }
    for value in [f64::NAN, -0.5, UINT_BOUND] {
        fails("uint", false, &[Value::Double(value)], ErrorCode::Overflow);
    }
}

#[test]
fn texts_of_numbers_are_read_strictly() {
    gives("int", false, &[Value::text("+042")], Value::Int(42));
    gives("int", false, &[Value::text("-9223372036854775808")], Value::Int(i64::MIN));
    for text in ["", "-", "1.0", " 1", "0x1", "1_000", "١"] {
        fails("int", false, &[Value::text(text)], ErrorCode::InvalidArgument);
    }
    fails("int", false, &[Value::text("9223372036854775808")], ErrorCode::Overflow);
    fails("uint", false, &[Value::text("+1")], ErrorCode::InvalidArgument);
    for (text, number) in [
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-iNf", f64::NEG_INFINITY),
        ("+Infinity", f64::INFINITY),
    ] {
        gives("double", false, &[Value::text(text)], Value::Double(number));
    }
    for text in ["", ".", "1e", "e1", "-nan", "+NaN", "0x1p3", "1_0", "infinit", "ınf"] {
        fails("double", false, &[Value::text(text)], ErrorCode::InvalidArgument);
    }
    for text in ["1e999".to_owned(), "-1E+999".to_owned(), "9".repeat(400) + "."] {
        fails("double", false, &[Value::String(text.into())], ErrorCode::Overflow);
    }
}

#[test]
fn doubles_are_written_as_ecmascript_does() {
    for (value, text) in [
        (1.0, "1"),
        (-0.0045, "-0.0045"),
        (1e21, "1e+21"),
        (123_456_789.0, "123456789"),
        (1e20, "100000000000000000000"),
        (1.5e-7, "1.5e-7"),
        (1e-6, "0.000001"),
        (-0.0, "-0"),
        (5e-324, "5e-324"),
        (8_394_581_998_227_769.0 / 4.0, "2098645499556942.2"),
        (-8_394_581_998_227_771.0 / 4.0, "-2098645499556942.8"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(double_text(value), text);
    }
}

#[test]
fn bytes_must_be_utf_8_to_be_text() {
    let bytes = |bytes: &[u8]| [Value::Bytes(bytes.to_vec().into())];
    gives("string", false, &bytes(b"abc"), Value::text("abc"));
    fails("string", false, &bytes(b"\xff"), ErrorCode::InvalidUtf8);
}
