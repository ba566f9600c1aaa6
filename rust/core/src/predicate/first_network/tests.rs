use super::*;

fn networks(texts: &[&str]) -> Vec<Network> {
    texts.iter().map(|text| Network::parse(text).unwrap()).collect()
}

#[test]
fn the_first_in_the_list_is_found_however_networks_nest() {
    let lists = [
        networks(&["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24"]),
        networks(&["10.1.2.0/24", "10.1.0.0/16", "10.0.0.0/8"]),
        networks(&["10.1.0.0/16", "0.0.0.0/0", "10.0.0.0/8", "10.1.2.3/32", "10.1.2.3/32"]),
        networks(&["255.0.0.0/8", "0.0.0.0/1", "::/0", "2001:db8::/32", "ffff::/16"]),
        networks(&["10.0.0.0/9", "10.128.0.0/9", "11.0.0.0/8"]),
        Vec::new(),
    ];
    let addresses = [
        "0.0.0.0",
        "9.255.255.255",
        "10.0.0.0",
        "10.1.2.3",
        "10.1.3.0",
        "10.127.255.255",
        "10.128.0.0",
        "11.0.0.0",
        "127.255.255.255",
        "128.0.0.0",
        "255.255.255.255",
        "::",
        "2001:db8::1",
        "2001:db9::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ];
    for list in lists {
        let index = FirstNetwork::new(&list);
        for text in addresses {
            let address = Address::parse(text).unwrap();
            let expected = list.iter().position(|network| network.contains(address));
            let found = index.find(address).map(|number| number as usize);
            assert_eq!(found, expected, "{text} in {list:?}");
        }
    }
}
