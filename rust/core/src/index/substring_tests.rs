//! The search for many texts: what is found, and where it is given up.

use super::*;

fn part(text: &str, place: Place, is_folded: bool, condition: u32) -> Part {
    Part { text: text.into(), place, is_folded, condition }
}

fn found(parts: &[Part], text: &str) -> Vec<u32> {
    found_by(&Substrings::new(parts, &GramCounts::default()), text)
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
fn short_parts_and_ends_are_found_among_many_and_among_few() {
    let mut parts = vec![
        part("~", Place::Anywhere, false, 0),
        part("..", Place::Anywhere, false, 1),
        part("Xy", Place::Anywhere, false, 2),
        part("xy", Place::Anywhere, true, 3),
        part(".js", Place::End, false, 4),
        part("/a", Place::Start, false, 5),
        part("/api", Place::Start, true, 6),
        part(".php", Place::End, false, 7),
    ];
    let texts = [
        ("", vec![]),
        ("~", vec![0]),
        ("../a.js", vec![1, 4]),
        ("/aXy~.js/", vec![0, 2, 3, 5]),
        ("/API/xy..", vec![1, 3, 6]),
        ("/api", vec![5, 6]),
        ("x/api.php", vec![7]),
        (".php~xY", vec![0, 3]),
    ];
    for (text, expected) in &texts {
        assert_eq!(&found(&parts, text), expected, "{text}");
    }
    parts.extend(('A'..='Z').map(|letter| {
        part(&format!("{letter}!"), Place::Anywhere, false, 100 + u32::from(letter))
    }));
    for (text, expected) in &texts {
        assert_eq!(&found(&parts, text), expected, "{text}");
    }
    assert_eq!(found(&parts, "A!B"), [165]);
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
        .map(|length| part(&("a".repeat(length) + "b"), Place::Anywhere, false, 0))
        .chain((4..100).map(|length| part(&"a".repeat(length), Place::Anywhere, false, 1)))
        .collect();
    let search = Substrings::new(&parts, &GramCounts::default());
    let text = "a".repeat(8000);
    assert_eq!(search.scan(text.as_bytes(), text.as_bytes(), |_| {}), Scanned::GivenUp);
    assert_eq!(search.conditions().collect::<Vec<_>>().len(), parts.len());
    let same = vec![part("/api", Place::Start, false, 0); 5000];
    let search = Substrings::new(&same, &GramCounts::default());
    assert_eq!(search.scan(b"/api/", b"/api/", |_| {}), Scanned::GivenUp);
}

#[test]
fn parts_a_byte_shorter_than_a_gram_are_found_in_the_pass_of_the_others() {
    let mut parts: Vec<Part> = (0..)
        .zip(["bot/", "crawler", "spider"])
        .map(|(n, text)| part(text, Place::Anywhere, true, n))
        .collect();
    let short = ["abc", "bcd", "cd1", "d12", "é1", "Zab", "zab", "x-y", "123"];
    parts.extend((3..).zip(short).map(|(n, text)| part(text, Place::Anywhere, false, n)));
    parts.push(part("zab", Place::Anywhere, true, 12));
    let search = Substrings::new(&parts, &GramCounts::default());
    assert!(search.short.is_none() && search.tables.len() == 1);
    assert_eq!(search.conditions().count(), parts.len());
    for (text, expected) in [
        ("bot/abcd123", vec![0, 3, 4, 5, 6, 11]),
        ("abc", vec![3]),
        ("Zab", vec![8, 12]),
        ("ZAB.zab", vec![9, 12]),
        ("caf\u{e9}1", vec![7]),
        ("x-y\u{e9}", vec![10]),
        ("the crawler 12", vec![1]),
        ("ab", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(found(&parts, text), expected, "{text}");
    }
    let dense = "spider".repeat(100);
    assert_eq!(found(&parts, &format!("{dense}x-y{dense}abc")), [2, 3, 10]);
}

#[test]
fn parts_of_few_letters_are_found_by_an_automaton() {
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
    for letters in ["01", "aB", "abA"] {
        let places = [Place::Anywhere, Place::Anywhere, Place::Start, Place::End];
        let parts: Vec<Part> = (0..500)
            .map(|number| {
                let (place, is_folded) = (places[number % 4], number % 3 == 0);
                part(&word(8, 6, letters), place, is_folded, number as u32)
            })
            .collect();
        let search = Substrings::new(&parts, &GramCounts::default());
        assert!(search.automaton.is_some());
        assert_eq!(search.conditions().count(), parts.len());
        for _ in 0..40 {
            let text = word(0, 600, letters);
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
