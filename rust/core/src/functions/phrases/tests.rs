use super::*;

fn entries(phrases: &[&str]) -> Entries {
    phrases.iter().map(|phrase| Box::from(*phrase)).collect()
}

#[test]
fn phrases_are_found_as_a_walk_over_them_finds_them() {
    let texts = ["", "a", "ab", "abc", "b", "ba", "bab", "cab", "c", "é", "aé", "éa", "\u{e0}"];
    for phrases in
        [&[][..], &[""], &["a"], &["ab", "a", "abc"], &["b", "ab"], &["é"], &["bab", "ca", "aa"]]
    {
        let entries = entries(phrases);
        let searches = Phrases::default();
        for text in texts {
            let found = |place| searches.are_in(&entries, place, text);
            let any = |test: &dyn Fn(&str) -> bool| phrases.iter().any(|phrase| test(phrase));
            assert_eq!(found(Place::Anywhere), any(&|phrase| text.contains(phrase)), "{text}");
            let starts = searches.starts(&entries);
            let is_found = rests_of(text).any(|rest| starts.begin(rest.bytes()));
            assert_eq!(is_found, found(Place::Anywhere), "{text}");
            assert_eq!(found(Place::Start), any(&|phrase| text.starts_with(phrase)), "{text}");
            assert_eq!(found(Place::End), any(&|phrase| text.ends_with(phrase)), "{text}");
        }
    }
}
