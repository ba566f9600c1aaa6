use super::*;

#[test]
fn a_part_is_found_wherever_it_stands() {
    let texts = [
        "",
        "a",
        "ab",
        "aab",
        "aaaab",
        "Mozilla/5.0 (compatible; bot)",
        "éa",
        "ÿÿÿ",
        "a string that is a good deal longer than what is stored in place",
    ];
    let parts = [
        "",
        "a",
        "b",
        "ab",
        "aab",
        "bot)",
        "Moz",
        "é",
        "ÿÿ",
        "good deal",
        "place",
        "xyz",
        "a string that is a good deal longer than what is stored in place",
    ];
    for text in texts {
        for part in parts {
            assert_eq!(Part::new(part).is_in(text), text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn many_near_misses_do_not_hide_a_match() {
    let text = format!("{}{}", "xa".repeat(1000), "xb");
    assert!(Part::new("xb").is_in(&text));
    assert!(!Part::new("xc").is_in(&text));
    assert!(!Part::new(&"x".repeat(50)).is_in(&text));
}
