use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_key_is_hashed_with_its_tenant_and_endpoint() {
    // BLAKE2b of 16 bytes under `kkkk...`, as Python's `hashlib` makes it.
    let hasher = KeyHasher::new(&[b'k'; 32]).unwrap();
    let mut tenant = [0; 16];
    (0..).zip(&mut tenant).for_each(|(number, byte)| *byte = number);
    let identity = hasher.hash(&tenant, Endpoint::Runtime, "key-1");
    assert_eq!(hex(&identity), "500158125b5bd54fdb386c1ef9979bbe");
    assert_ne!(hasher.hash(&tenant, Endpoint::Beacon, "key-1"), identity);
    assert!(KeyHasher::new(&[0; 65]).is_none());
}

#[test]
fn a_key_has_as_many_characters_as_it_may() {
    for (key, expected) in [
        (String::new(), false),
        ("k".repeat(255), true),
        ("k".repeat(256), false),
        ("é".repeat(255), true),
        ("é".repeat(256), false),
    ] {
        assert_eq!(has_key_length(&key), expected);
    }
}
