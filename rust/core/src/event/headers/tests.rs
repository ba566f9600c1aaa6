use super::*;

#[test]
fn names_fold_to_lower_case_and_equal_ones_are_joined() {
    let arena = Bump::new();
    let entries = [("Accept", "a"), ("X-Id", "1"), ("accept", "b"), ("ACCEPT", "c")];
    let entries = arena.alloc_slice_copy(&entries);
    assert_eq!(fold(entries, &arena), [("accept", "a, b, c"), ("x-id", "1")]);
}

#[test]
fn ports_are_removed_and_nothing_else() {
    for (host, expected) in [
        ("example.test", "example.test"),
        ("example.test:8080", "example.test"),
        ("example.test:", "example.test"),
        ("[::1]:80", "[::1]"),
        ("[::1]", "[::1]"),
        ("::1", "::1"),
        ("example.test:80a", "example.test:80a"),
        ("[::1]x:80", "[::1]x:80"),
        ("[:80", "[:80"),
        ("a:b:80", "a:b:80"),
        (":80", ""),
        ("example.test.", "example.test"),
        ("example.test.:8080", "example.test"),
        ("example.test..", "example.test."),
        (".", ""),
        ("", ""),
    ] {
        assert_eq!(host_name(host), expected, "{host}");
    }
}
