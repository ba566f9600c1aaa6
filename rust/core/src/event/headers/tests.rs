use super::*;
use crate::value::address::Network;

#[test]
fn names_fold_to_lower_case_and_equal_ones_are_joined() {
    let arena = Bump::new();
    let entries = [("Accept", "a"), ("X-Id", "1"), ("accept", "b"), ("ACCEPT", "c")];
    let entries = arena.alloc_slice_copy(&entries);
    assert_eq!(fold(entries, &arena), [("accept", "a, b, c"), ("x-id", "1")]);
}

#[test]
fn ports_are_removed_and_nothing_else() {
    for (host, expected) in [
        ("example.test", "example.test"),
        ("example.test:8080", "example.test"),
        ("example.test:", "example.test"),
        ("[::1]:80", "[::1]"),
        ("[::1]", "[::1]"),
        ("::1", "::1"),
        ("example.test:80a", "example.test:80a"),
        ("[::1]x:80", "[::1]x:80"),
        ("[:80", "[:80"),
        ("a:b:80", "a:b:80"),
        (":80", ""),
        ("example.test.", "example.test"),
        ("example.test.:8080", "example.test"),
        ("example.test..", "example.test."),
        (".", ""),
        ("", ""),
    ] {
        assert_eq!(host_name(host), expected, "{host}");
    }
}

#[test]
fn the_client_is_the_rightmost_address_that_is_no_trusted_proxy() {
    let trusted: NetworkSet = Network::parse("10.0.0.0/8").into_iter().collect();
    for (chain, expected) in [
        ("192.0.2.1", Some("192.0.2.1")),
        ("6.6.6.6, 192.0.2.1,10.0.0.1 ,\t10.0.0.2", Some("192.0.2.1")),
        ("6.6.6.6, unknown, 10.0.0.1", None),
        ("10.0.0.1", None),
        ("", None),
        ("2001:db8::1, ::ffff:10.0.0.1", Some("2001:db8::1")),
    ] {
        let expected = expected.and_then(Address::parse);
        assert_eq!(client_address(chain, &trusted), expected, "{chain}");
    }
}
