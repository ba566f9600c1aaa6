use super::*;

#[test]
fn a_place_is_stated_as_it_is_read() {
    let arena = Bump::new();
    let place = Place { country: "NL", asn: 64_496, organization: "A \"B\" \\ é" };
    let (text, entries) = stated(place, &arena);
    assert_eq!(text, r#""geo":{"country":"NL","asn":64496,"as_org":"A \"B\" \\ é"},"#);
    assert_eq!(Place::stated(entries), place);
    let (text, _) = stated(Place { asn: 7, ..Place::default() }, &arena);
    assert_eq!(text, r#""geo":{"asn":7},"#);
}
