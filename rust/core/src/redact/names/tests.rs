use super::*;

fn matches(patterns: &[&str], name: &str) -> bool {
    let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    Names::new(&patterns).unwrap().is_secret(name)
}

#[test]
fn a_star_is_any_run_and_ascii_case_does_not_count() {
    for (pattern, name, expected) in [
        ("blob", "Blob", true),
        ("blob", "blobs", false),
        ("*password*", "new_PASSWORD_2", true),
        ("*password*", "password", true),
        ("x-*-key", "X-Api\n-Key", true),
        ("x-*-key", "x-key", true),
        ("x-*-tie", "tie", false),
        ("api_key", "API-Key", true),
        ("api_key", "apiKey", true),
        ("pwd", "p%77d", true),
        ("pwd", "p%2577d", true),
        ("pwd", "user[pwd]", true),
        ("pwd", "user.pwd.x", true),
        ("hue", "userhue", false),
        ("pwd", "%252525252541", true),
        ("*", "", true),
        ("a**b", "ab", true),
        ("a.b", "axb", false),
        ("ß*", "ßx", true),
        ("É", "é", false),
        ("k", "\u{212a}", false),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(matches(&[pattern], name), expected, "{pattern} {name}");
    }
}

#[test]
fn one_of_many_suffices_and_none_matches_nothing() {
    assert!(matches(&["a", "*b"], "cb"));
    assert!(!matches(&[], ""));
    assert!(!matches(&[], "a"));
}

#[test]
fn what_is_wanted_in_clear_is_no_secret() {
    assert!(matches(&["*token", "!csrf_token"], "x-token"));
    assert!(!matches(&["*token", "!csrf_token"], "CSRF-Token"));
    assert!(!matches(&["!a"], "b"));
}
