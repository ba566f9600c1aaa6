use super::*;
use crate::functions::tests::{fails, gives};

#[test]
fn text_that_is_no_address_is_in_no_range() {
    let range = || Value::text("192.0.2.0/24");
    gives("inIpRange", false, &[Value::text("192.0.2.7"), range()], Value::Bool(true));
    gives("inIpRange", false, &[Value::text("x"), range()], Value::Bool(false));
    let bad = Value::List(vec![range(), Value::text("x")].into());
    let arguments = [Value::text("192.0.2.7"), bad];
    fails("inIpRange", false, &arguments, ErrorCode::InvalidArgument);
    let mixed = Value::List(vec![range(), Value::Int(1)].into());
    fails("inIpRange", false, &[Value::text("x"), mixed], ErrorCode::NoSuchOverload);
}

#[test]
fn grouping_takes_the_prefix_of_the_family() {
    let arguments =
        |text, v4| [Value::Ip(Address::parse(text).unwrap()), Value::Int(v4), Value::Int(48)];
    let expected = Value::Cidr(Network::parse("192.0.2.0/24").unwrap());
    gives("masked", true, &arguments("192.0.2.7", 24), expected);
    fails("masked", true, &arguments("2001:db8::1", 33), ErrorCode::InvalidArgument);
}

#[test]
fn canonical_text_is_that_of_rfc_5952() {
    gives("ip.isCanonical", false, &[Value::text("2001:db8::68")], Value::Bool(true));
    gives("ip.isCanonical", false, &[Value::text("2001:DB8::68")], Value::Bool(false));
    fails("ip.isCanonical", false, &[Value::text("x")], ErrorCode::InvalidArgument);
}
