use super::*;

#[test]
fn a_comment_that_follows_another_is_removed_too() {
    assert_eq!(remove_comments("SELECT/**//**/UNION"), "SELECTUNION");
    assert_eq!(remove_comments("a<!-- b --><!-- c -->d"), "ad");
    assert_eq!(remove_comments("a/* b"), "a ");
    assert_eq!(remove_comments("a*/b -- c"), "a*/b ");
}

#[test]
fn many_comments_take_no_more_than_one_walk() {
    let text = "/**/".repeat(16_000);
    assert_eq!(remove_comments(&text), "");
    assert_eq!(replace_comments(&text).len(), 16_000);
}

#[test]
fn numbers_that_name_no_character_are_replaced() {
    assert_eq!(html_decode("&#x110000;&#xD800&#99999999999999999999;"), "\u{fffd}".repeat(3));
    assert_eq!(css_decode("\\123456 7"), "\u{fffd}7");
    assert_eq!(js_decode("\\ud800"), "\u{fffd}");
}
