use super::*;

fn layout() -> Layout {
    Layout::new([
        ("request.path", "string"),
        ("request.headers", "map(string, string)"),
        ("actions.login", "bool"),
        ("x", "list(int)"),
    ])
    .unwrap()
}

#[test]
fn a_field_has_one_slot_however_often_it_is_read() {
    let mut layout = layout();
    let path = layout.slot("request.path").unwrap();
    assert_ne!(layout.slot("x"), Some(path));
    assert_eq!(layout.slot("request.path"), Some(path));
    assert_eq!(layout.slot("nothing"), None);
    assert_eq!(layout.slot_count(), 2);
}

#[test]
fn keys_are_numbered_for_the_maps_of_the_event_only() {
    let mut layout = layout();
    let host = layout.key_slot("request.headers", "host").unwrap();
    assert_eq!(layout.key_slot("request.headers", "host"), Some(host));
    assert_ne!(layout.key_slot("request.headers", "accept"), Some(host));
    assert_eq!(layout.key_slot("request.path", "host"), None);
    assert_eq!(layout.key_slot("x", "host"), None);
}

#[test]
fn headers_with_capitals_are_one_key_that_no_event_has() {
    let mut layout = layout();
    let host = layout.key_slot("request.headers", "host");
    let never = layout.key_slot("request.headers", "Host");
    assert_ne!(never, host);
    assert_eq!(layout.key_slot("request.headers", "ACCEPT"), never);
    let mut places = vec![None; layout.key_count()];
    layout.place_keys(Section::Headers, || &[("Host", "a"), ("host", "b")], &mut places);
    assert_eq!(places, [Some("b"), None]);
}

#[test]
fn every_key_of_many_is_found_and_no_other() {
    let mut layout = layout();
    let keys: Vec<String> = (0..3_000).map(|number| format!("x-{number}")).collect();
    let slots: Vec<_> =
        keys.iter().map(|key| layout.key_slot("request.headers", key).unwrap()).collect();
    let others: Vec<String> = keys.iter().map(|key| format!("{key}-")).collect();
    let entries: Vec<_> = keys.iter().zip(&others).map(|(a, b)| (&**a, &**b)).collect();
    let swapped: Vec<_> = entries.iter().map(|(key, other)| (*other, *key)).collect();
    let mut places = vec![None; layout.key_count()];
    layout.place_keys(Section::Headers, || &swapped, &mut places);
    layout.place_keys(Section::Cookies, || &entries, &mut places);
    assert!(places.iter().all(Option::is_none));
    layout.place_keys(Section::Headers, || &entries, &mut places);
    for (other, slot) in others.iter().zip(slots) {
        assert_eq!(places[slot.0 as usize], Some(&**other));
    }
}

#[test]
fn sources_follow_from_name_and_type() {
    let field = Source::Field(Field::Method);
    assert_eq!(source_of("request.method", "string"), Ok(field));
    assert_eq!(source_of("actions.login", "bool"), Ok(Source::Decision));
    assert_eq!(source_of("source", "int"), Ok(Source::Variable(VariableType::Int)));
    assert!(source_of("y", "list(").is_err());
}
