use super::*;

#[test]
fn a_target_is_a_path_with_a_query_or_an_absolute_address() {
    for (text, scheme, host, path, query) in [
        ("/a/b", None, None, "/a/b", None),
        ("/a?x=1?y", None, None, "/a", Some("x=1?y")),
        ("/a?", None, None, "/a", Some("")),
        ("//shop/a", None, None, "//shop/a", None),
        ("/http://x/a", None, None, "/http://x/a", None),
        ("HTTPS://u@Shop:8443/a?x", Some("HTTPS"), Some("Shop:8443"), "/a", Some("x")),
        ("http://shop", Some("http"), Some("shop"), "/", None),
        ("http://shop?x", Some("http"), Some("shop"), "/", Some("x")),
        ("://shop/a", None, None, "://shop/a", None),
        ("a b://shop/a", None, None, "a b://shop/a", None),
        ("", None, None, "", None),
        ("*", None, None, "*", None),
    ] {
        assert_eq!(Target::read(text), Target { scheme, host, path, query }, "{text}");
    }
}

#[test]
fn pairs_are_decoded_and_in_order() {
    let arena = Bump::new();
    let found: Vec<_> = pairs("?f=ok&&g&f=..%2Fx+y&=%", &arena).collect();
    assert_eq!(found, [("f", "ok"), ("g", ""), ("f", "../x y"), ("", "%")]);
}
