use super::*;

fn layout() -> Layout {
    Layout::new([("request.path", "string"), ("request.headers", "map(string, string)")]).unwrap()
}

#[test]
fn texts_are_lowered_once_for_all_who_ask() {
    let mut layout = layout();
    let path_slot = layout.slot("request.path").unwrap();
    let path = TextSlot::Field(path_slot);
    let host = TextSlot::Key(layout.key_slot("request.headers", "host").unwrap());
    let (of_path, of_host) = (layout.lowered_slot(path), layout.lowered_slot(host));
    assert_eq!(layout.lowered_slot(path), of_path);
    let (of_path, of_host) = (of_path.unwrap(), of_host.unwrap());
    let mut record = Record::empty(&layout);
    assert_eq!((record.lowered(path, of_path), record.lowered(host, of_host)), (None, Some("")));
    for (text, lowered) in [("/ÄB", "/Äb"), ("/a", "/a"), ("/A", "/a")] {
        record.set(path_slot, Some(Value::text(text)));
        assert_eq!(record.lowered(path, of_path), Some(lowered));
        assert_eq!(record.clone().lowered(path, of_path), Some(lowered));
    }
    let record = Record::empty(&layout).with_keys([Some("H")].into_iter());
    assert_eq!(record.lowered(host, of_host), Some("h"));
}

#[test]
fn a_record_keeps_what_is_set() {
    let mut layout = layout();
    let path = layout.slot("request.path").unwrap();
    let host = layout.key_slot("request.headers", "host").unwrap();
    let record = Record::empty(&layout);
    assert!(record.get(path).is_none() && record.key(host).is_none());
    let mut record = record.with_keys([Some("h")].into_iter());
    record.set(path, Some(Value::text("/")));
    assert_eq!(record.get(path).and_then(Value::as_str), Some("/"));
    assert_eq!(record.key(host), Some("h"));
    record.set(path, None);
    assert!(record.get(path).is_none());
}
