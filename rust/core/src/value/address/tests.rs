use super::*;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn network(text: &str) -> Network {
    Network::parse(text).unwrap()
}

#[test]
fn canonical_text_is_rfc_5952() {
    for (text, canonical) in [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("::", "::"),
        ("::102:304", "::102:304"),
        ("::ffff:c000:201", "192.0.2.1"),
    ] {
        assert_eq!(address(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn malformed_addresses_are_refused() {
    for text in [
        "",
        " 1.2.3.4",
        "1.2.3",
        "1.2.3.04",
        "1.2.3.256",
        "1.2.3.4.5",
        "0x1.2.3.4",
        "١.2.3.4",
        "fe80::1%eth0",
        ":::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "12345::",
        "[::1]",
        "1.2.3.4/24",
        "::1.2.3.4.5",
    ] {
        assert_eq!(Address::parse_received(text), None, "{text}");
        assert_eq!(Address::parse(text), None, "{text}");
    }
}

#[test]
fn the_dotted_spelling_is_only_for_what_is_received() {
    assert_eq!(Address::parse("::ffff:192.0.2.1"), None);
    assert_eq!(Address::parse_received("::ffff:192.0.2.1"), Some(address("192.0.2.1")));
    assert_eq!(Address::parse_received("64:ff9b::192.0.2.1"), Some(address("64:ff9b::c000:201")));
    assert_eq!(Network::parse("::ffff:192.0.2.0/120"), None);
}

#[test]
fn networks_keep_host_bits_and_fold_mapped_ones() {
    assert_eq!(network("10.1.2.3/8").to_string(), "10.1.2.3/8");
    assert_eq!(network("10.1.2.3/8").masked().to_string(), "10.0.0.0/8");
    assert_eq!(network("::ffff:c000:201/120").to_string(), "192.0.2.1/24");
    assert_eq!(network("::ffff:c000:201/96").to_string(), "192.0.2.1/0");
    assert_eq!(network("::ffff:c000:201/64").to_string(), "::ffff:c000:201/64");
    for text in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8", "::/129"] {
        assert_eq!(Network::parse(text), None, "{text}");
    }
}

#[test]
fn containment_respects_prefix_and_family() {
    assert!(network("10.0.0.0/8").contains(address("10.255.0.1")));
    assert!(!network("10.0.0.0/8").contains(address("11.0.0.1")));
    assert!(network("0.0.0.0/0").contains(address("255.255.255.255")));
    assert!(!network("::/0").contains(address("1.2.3.4")));
    assert!(network("10.0.0.0/8").contains_network(network("10.0.0.0/8")));
    assert!(!network("10.0.0.0/16").contains_network(network("10.0.0.0/8")));
}

#[test]
fn a_set_holds_what_its_networks_hold() {
    let networks: Vec<Network> = ["10.0.0.0/9", "10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]
        .into_iter()
        .map(network)
        .collect();
    let set: NetworkSet = networks.iter().copied().collect();
    for text in [
        "9.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "11.0.0.0",
        "192.0.2.6",
        "192.0.2.7",
        "192.0.2.8",
        "2001:db7:ffff::",
        "2001:db8::",
        "2001:db8:ffff::1",
        "2001:db9::",
    ] {
        let expected = networks.iter().any(|each| each.contains(address(text)));
        assert_eq!(set.contains(address(text)), expected, "{text}");
    }
    assert!(!NetworkSet::default().contains(address("::")));
}

#[test]
fn classes_follow_the_registries() {
    assert!(address("127.1.2.3").is_loopback() && address("::1").is_loopback());
    assert!(address("172.31.0.1").is_private() && address("fd00::1").is_private());
    assert!(address("169.254.0.1").is_link_local_unicast());
    assert!(address("fe80::1").is_link_local_unicast());
    assert!(address("224.0.0.251").is_link_local_multicast());
    assert!(address("ff02::1").is_link_local_multicast());
    assert!(!address("224.0.1.0").is_link_local_multicast());
    assert!(address("10.0.0.1").is_global_unicast());
    for text in ["0.0.0.0", "255.255.255.255", "127.0.0.1", "224.0.0.1", "fe80::1", "::"] {
        assert!(!address(text).is_global_unicast(), "{text}");
    }
}
