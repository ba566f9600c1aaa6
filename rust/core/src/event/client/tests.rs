use super::*;

fn trusted() -> NetworkSet {
    Network::parse("10.0.0.0/8").into_iter().collect()
}

fn address(text: &str) -> Client {
    Address::parse(text).map_or(Client::Unknown(Problem::Absent), Client::Known)
}

#[test]
fn an_address_is_read_where_it_is_certain() {
    for (text, expected) in [
        ("192.0.2.7:4433", "192.0.2.7"),
        (" \"192.0.2.7\"\t", "192.0.2.7"),
        ("192.0.2.7,", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("/192.0.2.7:80", "192.0.2.7"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::9]:443", "2001:db8::9"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:443", "fe80::1"),
        ("::ffff:192.0.2.7:4433", "192.0.2.7"),
        ("2001:db8:0:0:0:0:0:1:443", "2001:db8::1"),
        ("192.0.2.7, 192.0.2.7", "192.0.2.7"),
    ] {
        assert_eq!(
            Client::of(Some(text), None, &NetworkSet::default()),
            address(expected),
            "{text}"
        );
    }
}

#[test]
fn a_text_that_may_mean_another_address_is_a_problem() {
    for (text, problem) in [
        ("", Problem::Empty),
        (" , ", Problem::Empty),
        ("unknown", Problem::NotAnAddress),
        ("192.0.2.007", Problem::NotAnAddress),
        ("192.0.2.7:70000", Problem::NotAnAddress),
        ("192.0.2.7/24", Problem::NotAnAddress),
        ("192.0.2.7%eth0", Problem::NotAnAddress),
        ("fe80::1%", Problem::NotAnAddress),
        ("2001:db8::1:44330", Problem::NotAnAddress),
        ("[2001:db8::1", Problem::NotAnAddress),
        ("[2001:db8::1]x", Problem::NotAnAddress),
        ("192.0.2.7, 198.51.100.1", Problem::SeveralAddresses),
    ] {
        let found = Client::of(Some(text), None, &NetworkSet::default());
        assert_eq!(found, Client::Unknown(problem), "{text}");
    }
}

#[test]
fn the_client_is_the_rightmost_address_that_is_no_trusted_proxy() {
    for (chain, expected) in [
        ("192.0.2.1", address("192.0.2.1")),
        ("6.6.6.6, 192.0.2.1,10.0.0.1 ,\t10.0.0.2", address("192.0.2.1")),
        ("6.6.6.6, 192.0.2.1:443, \"[::ffff:10.0.0.1]:80\",", address("192.0.2.1")),
        ("6.6.6.6, unknown, 10.0.0.1", Client::Unknown(Problem::NotAnAddress)),
        ("10.0.0.1", Client::Unknown(Problem::OnlyProxies)),
        ("", Client::Unknown(Problem::Empty)),
        ("2001:db8::1, ::ffff:10.0.0.1", address("2001:db8::1")),
    ] {
        assert_eq!(Client::of(None, Some(chain), &trusted()), expected, "{chain}");
        // A single address is always the client's.
        let of_member = if chain == "10.0.0.1" { address(chain) } else { expected };
        assert_eq!(Client::of(Some(chain), None, &trusted()), of_member, "{chain}");
    }
    assert_eq!(Client::of(None, None, &trusted()), Client::Unknown(Problem::Absent));
}
