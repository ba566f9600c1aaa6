use super::*;

#[test]
fn escapes_are_decoded_once_and_bad_ones_stay() {
    for (text, expected) in [
        ("/a%20b", "/a b"),
        ("%252e", "%2e"),
        ("%2", "%2"),
        ("%", "%"),
        ("%zz%41", "%zzA"),
        ("%+1", "%+1"),
        ("%e4%b8%ad", "\u{4e2d}"),
        ("%ff%41%e4%b8", "\u{fffd}A\u{fffd}"),
        ("%00", "\0"),
    ] {
        assert_eq!(percent_decode(text), expected, "{text}");
    }
}

#[test]
fn lenient_paths_have_what_no_back_end_reads_otherwise() {
    let arena = Bump::new();
    for (path, expected) in [
        ("/x/..;a=b/admin", "/admin"),
        ("/x%5C..\\admin", "/admin"),
        ("/admin.%20.%C2%A0", "/admin"),
        ("/admin%00.png/users", "/admin/users"),
        ("/web.config:$i30:$INDEX_ALLOCATION", "/web.config"),
        ("/%252e%252e/%2561dmin#x", "/admin"),
        ("/a/;x", "/a/"),
        ("/a/.. /b", "/b"),
        ("/Help:admin/$a", "/Help:admin/$a"),
        ("a.", "a"),
        ("", ""),
    ] {
        assert_eq!(lenient_path(path, &arena), expected, "{path}");
    }
}

#[test]
fn canonical_paths_hold_no_empty_or_dot_segments() {
    let arena = Bump::new();
    for (path, expected) in [
        ("", ""),
        ("/", "/"),
        ("//", "/"),
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b/"),
        ("//a///b", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../../a", "/a"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/.", "/"),
        ("/a/%2e%2e/b", "/b"),
        ("/a%2f%2fb", "/a/b"),
        ("/%252e%252e/b", "/%2e%2e/b"),
        ("a/../b", "b"),
        ("a/..", "/"),
        ("..", ""),
        (".", ""),
        ("./a", "a"),
        ("/.well-known/x", "/.well-known/x"),
        ("/a..", "/a.."),
        ("/...", "/..."),
    ] {
        assert_eq!(canonical_path(path, &arena), expected, "{path}");
    }
}

#[test]
fn the_canonical_form_is_its_own() {
    let arena = Bump::new();
    for path in ["//a/./b/..", "a/..", "/x/%2e/", "..//..", "/a/b"] {
        let canonical = canonical_path(path, &arena);
        assert_eq!(canonical_path(canonical, &arena), canonical, "{path}");
    }
}

#[test]
fn what_is_taken_for_canonical_is() {
    let arena = Bump::new();
    let mut paths = vec![String::new()];
    for _ in 0..7 {
        let longer = |path: &String| ["/", ".", "%", "a"].map(|end| format!("{path}{end}"));
        paths = paths.iter().flat_map(longer).collect();
        for path in &paths {
            let long = format!("/a/path/of/more/bytes/than/are/looked/at/at/once{path}/b");
            for path in [path, &long] {
                assert!(
                    !is_canonical(path)
                        || resolved(&percent_decode(path), |segment| segment, &arena) == path,
                    "{path}"
                );
            }
        }
    }
    assert!(is_canonical("/a.b/c-d_e") && !is_canonical("/a/.b"));
}

#[test]
fn segments_follow_the_first_slash() {
    let split = |path| segments(path).collect::<Vec<_>>();
    assert_eq!(split(""), [""; 0]);
    assert_eq!(split("/"), [""; 0]);
    assert_eq!(split("/a/"), ["a", ""]);
    assert_eq!(split("a/b"), ["a", "b"]);
}

#[test]
fn extensions_follow_the_last_dot_of_the_last_segment() {
    for (path, expected) in [
        ("/a.tar.gz", "gz"),
        ("/a.b/c", ""),
        ("/.env", ""),
        ("/.env.bak", "bak"),
        ("/a.", ""),
        ("a.PHP", "PHP"),
        ("/", ""),
    ] {
        assert_eq!(extension(path), expected, "{path}");
    }
}
