use super::*;

fn checked(finding: Entries<'_>) -> Option<String> {
    check_finding(finding).err().map(|error| error.pointer)
}

#[test]
fn a_finding_that_can_t_be_used_is_refused_at_its_member() {
    assert_eq!(checked(&[("country", "NL"), ("asn", "4294967295"), ("as_org", "x")]), None);
    assert_eq!(checked(&[("country", ""), ("asn", "")]), None);
    for (name, value) in
        [("country", "nl"), ("country", "NLD"), ("asn", "-1"), ("asn", "4294967296"), ("city", "x")]
    {
        assert_eq!(checked(&[(name, value)]), Some(format!("/geo/{name}")), "{name} {value}");
    }
}

#[test]
fn the_first_answer_to_each_question_counts() {
    let country = Place { country: "NL", ..Place::default() };
    let network = Place { country: "DE", asn: 1, organization: "One" };
    assert_eq!(country.or(network), Place { country: "NL", ..network });
}
