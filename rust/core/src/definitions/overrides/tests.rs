use serde_json::json;

use super::*;

/// Overrides as kind, network (or entity), start and end in seconds.
fn overrides(of: &[(&str, &str, i64, i64)]) -> Option<Overrides> {
    let forms = of.iter().zip(1_u128..).map(|(&(kind, target, start, end), number)| {
        let (network, entity) = if Uuid::parse_str(target).is_ok() {
            (json!(null), json!(target))
        } else {
            (json!(target), json!(null))
        };
        let form = json!({"id": Uuid::from_u128(number).to_string(), "kind": kind, "network": network,
            "entity_id": entity, "starts_at": start * SECOND, "ends_at": end * SECOND});
        serde_json::from_value(form).unwrap()
    });
    Overrides::new(forms.collect()).unwrap()
}

/// The number of the override for an address and entities at a second; 0 if there isn't one.
fn found(overrides: &Overrides, address: &str, entities: &[u128], at: i64) -> u128 {
    let ids = entities.iter().map(|id| Uuid::from_u128(*id));
    let of = overrides.find(Address::parse(address), ids, at * SECOND);
    of.map_or(0, |of| of.id.as_u128())
}

#[test]
fn the_first_that_allows_else_the_last_to_end_is_found() {
    let entity = Uuid::from_u128(77).to_string();
    let all = overrides(&[
        ("ban", "10.0.0.0/8", 0, 100),
        ("ban", "10.1.0.0/16", 0, 200),
        ("ban", "10.1.2.3", 0, 200),
        ("allow", "10.1.2.3", 50, 60),
        ("ban", &entity, 0, 300),
        ("ban", "2001:db8::/32", 10, 20),
    ])
    .unwrap();
    assert_eq!(found(&all, "10.9.9.9", &[], 0), 1);
    assert_eq!(found(&all, "10.9.9.9", &[], 100), 0);
    assert_eq!([0, 49, 50, 59, 60].map(|at| found(&all, "10.1.2.3", &[], at)), [2, 2, 4, 4, 2]);
    assert_eq!(found(&all, "10.1.2.3", &[1, 77], 0), 5);
    assert_eq!(found(&all, "no address", &[77], 299), 5);
    assert_eq!([9, 10, 20].map(|at| found(&all, "2001:db8::1", &[], at)), [0, 6, 0]);
}

#[test]
fn seconds_that_are_left_are_rounded_up() {
    let all = overrides(&[("ban", "10.0.0.0/8", 0, 10)]).unwrap();
    let of = all.find(Address::parse("10.0.0.1"), std::iter::empty(), 0).unwrap();
    let left = [0, 1, SECOND, 9 * SECOND + 1].map(|at| of.seconds_left(at));
    assert_eq!(left, [10, 10, 9, 1]);
}

#[test]
fn without_overrides_there_is_nothing_to_search() {
    assert!(overrides(&[]).is_none());
}
