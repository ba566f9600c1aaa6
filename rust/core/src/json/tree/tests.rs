use super::*;

#[test]
fn strings_without_escapes_are_those_of_the_text() {
    let text = r#"{"a": "plain", "b": "\u00e9", "c": [1, -2, 0.5, null, true]}"#;
    let arena = Bump::new();
    let tree = read(text, &arena).unwrap();
    let members = tree.as_object().unwrap();
    let plain = members.get("a").and_then(Tree::as_str).unwrap();
    assert!(text.as_bytes().as_ptr_range().contains(&plain.as_ptr()) && plain == "plain");
    assert_eq!(members.get("b"), Some(&Tree::String("é")));
    let parts = members.get("c").and_then(Tree::as_array).unwrap();
    let numbers: Vec<_> = parts.iter().map(Tree::as_i64).collect();
    assert_eq!(numbers, [Some(1), Some(-2), None, None, None]);
    assert_eq!(parts.last().and_then(Tree::as_bool), Some(true));
    assert_eq!(parts.iter().rev().nth(1), Some(&Tree::Null));
}

#[test]
fn two_positions_are_a_span() {
    let arena = Bump::new();
    let tree = |text| read(text, &arena).unwrap();
    assert_eq!(tree("[0,4294967295]"), Tree::Span(0, u32::MAX));
    for text in ["[0, 1]", "[0,-1]", "[0,1.5]", "[0,1e1]", "[0,4294967296]", "[0,1,2]", "[0]"] {
        assert!(matches!(tree(text), Tree::Array(_)), "{text}");
    }
    for text in ["[01,2]", "[1,02]", "[00,1]", "[,1]", "[1,]", "[1,2", "[1,2}"] {
        assert!(read(text, &arena).is_err(), "{text}");
    }
}

#[test]
fn the_last_of_two_members_of_a_name_counts() {
    let arena = Bump::new();
    let tree = read(r#"{"a": 1, "a": 2}"#, &arena).unwrap();
    assert_eq!(tree.as_object().and_then(|object| object.get("a")?.as_u64()), Some(2));
}

#[test]
fn a_tree_nests_so_deep_and_no_deeper() {
    for (levels, is_read) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false), (100_000, false)] {
        for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "1", "}")] {
            let text = open.repeat(levels) + inner + &close.repeat(levels);
            assert_eq!(read(&text, &Bump::new()).is_ok(), is_read, "{levels}");
        }
    }
}
