use super::*;

#[test]
fn every_network_around_an_address_is_reported() {
    let texts = [
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "10.1.9.9/16",
        "2001:db8::/32",
        "::/0",
        "11.0.0.0/8",
    ];
    let networks: Vec<Network> = texts.iter().map(|text| Network::parse(text).unwrap()).collect();
    let index = Networks::new(networks.iter().copied().zip(0..));
    for text in ["10.1.2.3", "10.1.2.4", "10.200.0.1", "11.1.1.1", "99.0.0.1", "2001:db8::1", "::1"]
    {
        let address = Address::parse(text).unwrap();
        let mut found = Vec::new();
        index.report(address, |condition| found.push(condition));
        found.sort_unstable();
        let expected: Vec<u32> = (0..)
            .zip(&networks)
            .filter(|(_, network)| network.contains(address))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}
