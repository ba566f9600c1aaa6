use super::*;

fn part(text: &str, place: Place, is_folded: bool, condition: u32) -> Part {
    Part { text: text.into(), place, is_folded, condition }
}

fn found(parts: &[Part], text: &str) -> Vec<u32> {
    found_by(&Substrings::new(parts), text)
}

fn found_by(search: &Substrings, text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let folded = text.to_ascii_lowercase();
    let scanned =
        search.scan(text.as_bytes(), folded.as_bytes(), |condition| found.push(condition));
    assert_eq!(scanned, Scanned::Whole);
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn parts_are_found_where_they_must_stand() {
    let parts = [
        part("Bot", Place::Anywhere, false, 0),
        part("bot", Place::Anywhere, true, 1),
        part("/api/", Place::Start, false, 2),
        part(".php", Place::End, false, 3),
        part("a", Place::Start, false, 4),
        part("é", Place::Anywhere, false, 5),
        part("whole text", Place::Anywhere, false, 6),
        part("xy", Place::End, true, 7),
    ];
    for (text, expected) in [
        ("GoogleBot", vec![0, 1]),
        ("googlebot", vec![1]),
        ("/api/x.php", vec![2, 3]),
        ("x/api/.php5", vec![]),
        ("abc", vec![4]),
        ("ba", vec![]),
        ("caf\u{e9}", vec![5]),
        ("the whole text", vec![6]),
        ("XY", vec![7]),
        ("xyz", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(found(&parts, text), expected, "{text}");
    }
}

#[test]
fn parts_longer_than_their_needles_are_compared_as_a_whole() {
    let tail = "t".repeat(MAX_NEEDLE);
    let texts = ["a", "b", "ab", "é"].map(|head| format!("{head}{tail}"));
    let places = [Place::Anywhere, Place::Start, Place::End, Place::Anywhere];
    let parts: Vec<Part> = (0..)
        .zip(texts.iter().zip(places))
        .map(|(n, (t, place))| part(t, place, false, n))
        .collect();
    for (text, expected) in [
        (tail.clone(), vec![]),
        (format!("a{tail}"), vec![0]),
        (format!("ab{tail}"), vec![2]),
        (format!("b{tail}ab{tail}"), vec![1, 2]),
        (format!("A{tail}é{tail}"), vec![3]),
    ] {
        assert_eq!(found(&parts, &text), expected, "{text}");
    }
}

#[test]
fn every_part_among_thousands_is_found() {
    let texts: Vec<String> = (0..3000).map(|number| format!("/shared/{number:04}x")).collect();
    let parts: Vec<Part> = (0..)
        .zip(&texts)
        .map(|(number, text)| part(text, Place::Anywhere, false, number))
        .collect();
    for (number, text) in (0..).zip(&texts).step_by(97) {
        assert_eq!(found(&parts, &format!("..{text}..")), [number]);
    }
}

#[test]
fn every_part_in_text_that_is_full_of_them_is_found() {
    let texts: Vec<String> = (0..1000).map(|number| format!("{number:03}-{number:03}")).collect();
    let parts: Vec<Part> = (0..)
        .zip(&texts)
        .map(|(number, text)| part(text, Place::Anywhere, false, number))
        .collect();
    assert_eq!(found(&parts, &texts.concat()), (0..1000).collect::<Vec<u32>>());
    assert_eq!(found(&parts, &texts.concat().replace('-', "+")), Vec::<u32>::new());
}

#[test]
fn a_search_that_costs_too_much_is_given_up() {
    let parts: Vec<Part> = (4..100)
        .map(|length| part(&("b".to_owned() + &"a".repeat(length)), Place::Anywhere, false, 0))
        .chain((4..100).map(|length| part(&"a".repeat(length), Place::Anywhere, false, 1)))
        .collect();
    let search = Substrings::new(&parts);
    let text = "a".repeat(8000);
    assert_eq!(search.scan(text.as_bytes(), text.as_bytes(), |_| {}), Scanned::GivenUp);
    assert_eq!(search.conditions().count(), parts.len());
    let same = vec![part("/api", Place::Start, false, 0); 5000];
    let search = Substrings::new(&same);
    assert_eq!(search.scan(b"/api/", b"/api/", |_| {}), Scanned::GivenUp);
}

#[test]
fn parts_within_each_other_are_found_as_a_plain_search_finds_them() {
    let mut state = 7_u32;
    let mut below = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % bound
    };
    let mut word = |least: u32, more: u32, letters: &str| -> String {
        let length = least + below(more);
        let letters: Vec<char> = letters.chars().collect();
        (0..length).map(|_| letters[below(letters.len() as u32) as usize]).collect()
    };
    for letters in ["01", "aB", "abA", "aé"] {
        let places = [Place::Anywhere, Place::Anywhere, Place::Start, Place::End];
        let parts: Vec<Part> = (0..300)
            .map(|number| {
                let (place, is_folded) = (places[number % 4], number % 3 == 0);
                part(&word(4, 9, letters), place, is_folded, number as u32)
            })
            .collect();
        let search = Substrings::new(&parts);
        for _ in 0..40 {
            let text = word(0, 200, letters);
            let folded = text.to_ascii_lowercase();
            let is_in = |part: &Part| {
                let text = if part.is_folded { &folded } else { &text };
                match part.place {
                    Place::Anywhere => text.contains(&*part.text),
                    Place::Start => text.starts_with(&*part.text),
                    Place::End => text.ends_with(&*part.text),
                }
            };
            let expected: Vec<u32> =
                parts.iter().filter(|part| is_in(part)).map(|part| part.condition).collect();
            assert_eq!(found_by(&search, &text), expected, "{text}");
        }
    }
}
