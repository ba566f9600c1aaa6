use super::*;

/// A search whose conditions are the positions of the patterns of each.
fn search(conditions: &[&[&str]]) -> TextSearch {
    let mut compiled = CompiledPatterns::default();
    let mut builder = TextSearchBuilder::default();
    for (number, texts) in (0_u32..).zip(conditions) {
        let patterns = texts.iter().map(|text| {
            let known = CompiledPattern::new(&Regex::new(text).unwrap());
            let required = known.required.first().cloned();
            compiled.insert((*text).into(), known);
            Pattern { text: (*text).into(), required }
        });
        let test = TextTest::Matches(patterns.collect());
        builder.add(&test, false, number, &compiled);
    }
    builder.build()
}

fn required(patterns: &[String]) -> Vec<Vec<Vec<Box<str>>>> {
    let compiled = patterns.iter().map(|text| CompiledPattern::new(&Regex::new(text).unwrap()));
    compiled.map(|compiled| compiled.required).collect()
}

fn found(search: &TextSearch, text: &str) -> Vec<u32> {
    let mut scratch = Scratch::default();
    search.search(text, &Lists::default(), &mut scratch);
    scratch.local.sort_unstable();
    scratch.local
}

#[test]
fn patterns_are_run_where_a_text_that_they_require_stands() {
    let search = search(&[&["Bot/[0-9]", "crawl(er)?"], &["[0-9]{3}"], &["(?i)bot/x"], &["bots?"]]);
    for (text, expected) in [
        ("Bot/7", vec![0]),
        ("bot/7", vec![3]),
        ("BOT/X 123", vec![1, 2]),
        ("Bot/7 crawler", vec![0]),
        ("bots bots", vec![3]),
        ("", vec![]),
    ] {
        assert_eq!(found(&search, text), expected, "{text}");
    }
}

#[test]
fn what_is_true_of_nothing_is_found_in_nothing() {
    let found = |search: &TextSearch| {
        let mut scratch = Scratch::default();
        scratch.conditions.begin(1);
        search.run(0, "", &Lists::default(), &mut scratch);
        scratch.found
    };
    for (pattern, expected) in [("^$", vec![0]), ("x*", vec![0]), ("bot/[0-9]", vec![])] {
        assert_eq!(found(&search(&[&[pattern]])), expected, "{pattern}");
    }
    for (text, expected) in [("", vec![0]), ("x", vec![])] {
        for is_folded in [false, true] {
            let mut builder = TextSearchBuilder::default();
            let test = TextTest::Equals(vec!["y".into(), text.into()]);
            builder.add(&test, is_folded, 0, &CompiledPatterns::default());
            assert_eq!(found(&builder.build()), expected, "{text}");
        }
    }
}

#[test]
fn the_text_of_a_pattern_is_one_that_few_others_require() {
    let texts: Vec<String> = (0..1000).map(|number| format!("admin[0-9]*{number:03}$")).collect();
    let required = required(&texts);
    let literals = literals(&required);
    assert_eq!(literals.len(), 1000);
    for (number, (text, patterns)) in (0_u32..).zip(&literals) {
        assert_eq!(*text, format!("{number:03}"));
        assert_eq!(*patterns, [number]);
    }
}

#[test]
fn patterns_that_require_no_text_are_run_on_every_text() {
    let search =
        search(&[&["[\"'][0-9]"], &["(?i)k<|>"], &["(?:admin|root);"], &["é"], &["^$"], &["[^a]"]]);
    for (text, expected) in [
        ("", vec![4]),
        ("aaa", vec![]),
        ("'1 or 1'", vec![0, 5]),
        ("' 1\"", vec![5]),
        ("K<ADMIN;", vec![1, 5]),
        ("\u{212a}<", vec![1, 5]),
        ("admin;", vec![2, 5]),
        ("adminé", vec![3, 5]),
    ] {
        assert_eq!(found(&search, text), expected, "{text}");
    }
}

#[test]
fn a_text_that_many_patterns_require_is_found_once() {
    let texts: Vec<String> =
        (0..1000).map(|number| format!("admin[0-9]{{{}}}x", number % 10 + 1)).collect();
    let required = required(&texts);
    let literals = literals(&required);
    assert_eq!(
        literals.into_iter().map(|(text, patterns)| (text, patterns.len())).collect::<Vec<_>>(),
        [("admin", 1000)]
    );
    let texts: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
    let conditions: Vec<&[&str]> = texts.iter().map(|text| &text[..]).collect();
    let expected: Vec<u32> = (0..1000).filter(|number| number % 10 == 2).collect();
    assert_eq!(self::found(&search(&conditions), "admin123x admin"), expected);
}

#[test]
fn a_search_that_is_given_up_finds_every_pattern_and_runs_none() {
    let texts: Vec<String> = (4..100).map(|length| "a".repeat(length) + "[0-9]").collect();
    let patterns: Vec<&str> = texts.iter().map(String::as_str).collect();
    let search = search(&[&patterns, &["aaab[0-9]"]]);
    assert_eq!(found(&search, &"a".repeat(8000)), [0, 1, GIVEN_UP]);
    assert!(found(&search, &"a".repeat(8)).is_empty());
}
