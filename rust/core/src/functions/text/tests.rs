use super::*;
use crate::functions::tests::{call, fails, gives};

fn member(name: &str, text: &'static str, rest: &[Value<'static>]) -> Applied<'static> {
    let arguments: Vec<_> = [Value::text(text)].into_iter().chain(rest.iter().cloned()).collect();
    call(name, true, &arguments)
}

fn texts(parts: &[&'static str]) -> Value<'static> {
    Value::List(parts.iter().map(|part| Value::text(*part)).collect::<Vec<_>>().into())
}

#[test]
fn places_are_code_points() {
    let text = || Value::text("ta©o©αT");
    gives("indexOf", true, &[text(), Value::text("©"), Value::Int(3)], Value::Int(4));
    gives("lastIndexOf", true, &[text(), Value::text("©"), Value::Int(3)], Value::Int(2));
    gives("lastIndexOf", true, &[text(), Value::text("")], Value::Int(7));
    gives("lastIndexOf", true, &[text(), Value::text(""), Value::Int(3)], Value::Int(3));
    gives("charAt", true, &[text(), Value::Int(5)], Value::text("α"));
    gives("charAt", true, &[text(), Value::Int(7)], Value::text(""));
    fails("charAt", true, &[text(), Value::Int(8)], ErrorCode::IndexOutOfRange);
    gives("substring", true, &[text(), Value::Int(2), Value::Int(6)], Value::text("©o©α"));
    let backward = [text(), Value::Int(3), Value::Int(2)];
    fails("substring", true, &backward, ErrorCode::IndexOutOfRange);
}

#[test]
fn splitting_keeps_the_rest_in_the_last_part() {
    for (text, separator, parts, expected) in [
        ("a,b,c", ",", 2, texts(&["a", "b,c"])),
        ("a,b,c", ",", -1, texts(&["a", "b", "c"])),
        ("a,b", ",", 0, texts(&[])),
        ("", ",", -1, texts(&[""])),
        ("", "", -1, texts(&[])),
        ("abc", "", -1, texts(&["a", "b", "c"])),
        ("abc", "", 2, texts(&["a", "bc"])),
    ] {
        let arguments = [Value::text(text), Value::text(separator), Value::Int(parts)];
        gives("split", true, &arguments, expected);
    }
}

#[test]
fn replacing_nothing_inserts_between_all_characters() {
    let arguments =
        |count| [Value::text("ab"), Value::text(""), Value::text("-"), Value::Int(count)];
    gives("replace", true, &arguments(-1), Value::text("-a-b-"));
    gives("replace", true, &arguments(2), Value::text("-a-b"));
}

#[test]
fn what_would_be_too_long_is_not_built() {
    let long = "x".repeat(40_000);
    let doubled = [Value::text(long.clone()), Value::text("x"), Value::text("yy")];
    fails("replace", true, &doubled, ErrorCode::CostExceeded);
    let list = Value::List(vec![Value::text(long.clone()), Value::text(long)].into());
    fails("join", true, &[list], ErrorCode::CostExceeded);
}

#[test]
fn decoding_ends_when_nothing_changes() {
    assert_eq!(member("urlDecode", "%252e", &[Value::Int(2)]).unwrap().as_str(), Some("."));
    assert_eq!(member("urlDecode", "%25%zz", &[Value::Int(5)]).unwrap().as_str(), Some("%%zz"));
    assert_eq!(member("formDecode", "a+b%2B", &[]).unwrap().as_str(), Some("a b+"));
    let rounds = [Value::text(""), Value::Int(6)];
    fails("urlDecode", true, &rounds, ErrorCode::InvalidArgument);
}

#[test]
fn segments_come_after_the_first_slash() {
    for (path, expected) in [
        ("", texts(&[])),
        ("/", texts(&[])),
        ("/a/", texts(&["a", ""])),
        ("a/b", texts(&["a", "b"])),
    ] {
        gives("segments", true, &[Value::text(path)], expected);
    }
}

#[test]
fn a_list_of_parts_must_hold_strings() {
    let mixed = Value::List(vec![Value::text("cat"), Value::Int(1)].into());
    fails("containsAny", true, &[Value::text("cat"), mixed], ErrorCode::NoSuchOverload);
    gives(
        "containsAny",
        true,
        &[Value::text("tacocat"), texts(&["dog", "cat"])],
        Value::Bool(true),
    );
    gives("startsWithAny", true, &[Value::text("tacocat"), texts(&[])], Value::Bool(false));
}

#[test]
fn quoting_escapes_what_a_literal_cannot_hold() {
    gives("strings.quote", false, &[Value::text("a\n\"\u{7}é")], Value::text("\"a\\n\\\"\\aé\""));
}
