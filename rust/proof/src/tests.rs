//! The Rust reader reads and makes the same tokens as the definition in Python
//! (`tidegate/policy/proofs.py`).

use uuid::Uuid;

use super::*;

const TOKEN: &str = "AQAQAAAAAAAAAAAAAAAAAAAAAQAQAAAAAAAAAAAAAAAAAAAABwAQAAAAAAAAAAAAAAAAAAAACAAIGPridpO0\
                     AAAACBj65BmsEFAAAA8xOTguNTEuMTAwLjAvMjQAEHJWh_s-ws9UNA6rZKNHmvsRnU24SV3DMv8omWkWouJg\
                     em4mA4SsyTTGCQXICsUB9A";
const ISSUED: i64 = 1_800_000_000_000_000_000;
const EXPIRES: i64 = 1_800_001_800_000_000_000;

fn keys(tenant: u128) -> Keys {
    Keys::new(Uuid::from_u128(tenant), &[b'p'; 32], &[b's'; 32])
}

#[test]
fn a_token_of_the_definition_is_read() {
    let client = keys(1).client(Some("198.51.100.7"), Some("Mozilla/5.0"));
    let claims = Claims {
        pass_id: Uuid::from_u128(7),
        challenge_id: Uuid::from_u128(8),
        issued_at: ISSUED,
        expires_at: EXPIRES,
        client,
    };
    assert_eq!(keys(1).read(TOKEN, ISSUED), Finding::Valid(claims));
    assert_eq!(keys(1).read(TOKEN, EXPIRES - 1), Finding::Valid(claims));
    assert_eq!(keys(1).read(TOKEN, EXPIRES), Finding::Expired(claims));
    assert_eq!(keys(1).read(TOKEN, ISSUED - 300_000_000_001), Finding::Expired(claims));
    assert_eq!(keys(2).read(TOKEN, ISSUED), Finding::Foreign);
}

#[test]
fn any_other_text_is_refused() {
    let keys = keys(1);
    for (place, length) in [(0, 190), (1, 189), (0, 189), (0, 0)] {
        let text = &TOKEN[place..length];
        assert_eq!(keys.read(text, ISSUED) == Finding::Invalid, text != TOKEN);
    }
    for text in ["=", "\u{1f600}", &"A".repeat(256), &"A".repeat(257), &format!("{TOKEN}=")] {
        assert_eq!(keys.read(text, ISSUED), Finding::Invalid);
    }
    for place in 0..TOKEN.len() {
        let other = if &TOKEN[place..=place] == "A" { "B" } else { "A" };
        let mut text = TOKEN.to_owned();
        text.replace_range(place..=place, other);
        assert!(matches!(keys.read(&text, ISSUED), Finding::Invalid | Finding::Foreign));
    }
}

#[test]
fn what_is_sealed_is_what_the_definition_seals() {
    let keys = keys(1);
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let client = keys.client(Some("198.51.100.7"), Some("Mozilla/5.0"));
    let sealed = keys.seal(Uuid::from_u128(9), Some("https://shop.example/cart"), &client);
    assert_eq!(
        hex(sealed),
        "01b47829a4d56919921efda2f64ce89edd9d099df532291a74f87d993b1ac3e5dfdffd76c483a8a99d6a4da9\
         dbde3d189422f233cf9fd3bb8d6ac2aafb8cc9078824bb0358aa98d90936f54430074392"
    );
    let sealed = keys.seal(Uuid::from_u128(9), None, &keys.client(None, None));
    assert_eq!(
        hex(sealed),
        "01b46228cca10d566b0435638754bf442fd245a5d5ea3f3fa9d926a5d7f0512898fca0476797f9"
    );
}

#[test]
fn a_network_has_one_text() {
    for (address, text) in [
        ("203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:0:2::3", "2001:db8::/48"),
        ("::1", "::/48"),
        ("fe80::1%eth0", ""),
        ("203.0.113.009", ""),
        ("", ""),
    ] {
        let network = Network::of(address);
        assert_eq!(network.to_string(), text);
        assert_eq!(Network::parse(text), Some(network));
    }
    assert_eq!(Network::parse("203.0.113.9/24"), None);
    assert_eq!(Network::parse("203.0.113.0/25"), None);
}
