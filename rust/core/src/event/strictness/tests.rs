use super::*;

#[test]
fn a_return_url_leads_to_a_page() {
    for (url, expected) in [
        ("", true),
        ("https://shop.test", true),
        ("HTTP://shop.test:8080/a b", true),
        ("https://shop.test/a\\b\n", true),
        ("https://shop.test\\", true),
        ("https://shop test/", false),
        ("HTTP://shop.test:8080/a?b=://c#d", true),
        ("https://b\u{fc}cher.test/", true),
        ("javascript:alert(1)", false),
        ("javascript://shop.test/%0aalert(1)", false),
        ("data:text/html,x", false),
        ("//shop.test/", false),
        ("/login", false),
        ("shop.test", false),
        ("https:shop.test", false),
        ("https://", false),
        ("https:///shop.test", false),
        ("https://?a", false),
        (" https://shop.test", false),
        ("https://shop.test\n", false),
    ] {
        assert_eq!(is_return_url(url), expected, "{url}");
    }
}

#[test]
fn each_strictness_asks_for_what_it_says() {
    let unknown = Some(UnknownMember { is_of_request: false, name: "a/b", offset: Some(7) });
    let event = |unknown, has_content| {
        let mut event = RawEvent::default();
        (event.unknown, event.has_content) = (unknown, has_content);
        event
    };
    for (name, of_unknown, of_empty) in
        [("any", true, true), ("lenient", true, false), ("strict", false, false)]
    {
        let strictness = Strictness::named(name).unwrap();
        assert_eq!(strictness.refusal(&event(unknown, true)).is_none(), of_unknown, "{name}");
        assert_eq!(strictness.refusal(&event(None, false)).is_none(), of_empty, "{name}");
        assert_eq!(strictness.refusal(&event(None, true)), None, "{name}");
        let mut elsewhere = event(None, true);
        elsewhere.return_url = Some("/login");
        assert_eq!(strictness.refusal(&elsewhere).is_none(), name == "any", "{name}");
    }
    let refused = Strictness::Strict.refusal(&event(unknown, false)).unwrap();
    assert_eq!((&*refused.pointer, refused.offset), ("/a~1b", Some(7)));
    assert_eq!(Strictness::named("other"), None);
}

#[test]
fn a_misspelt_member_is_told_the_one_that_was_meant() {
    for (is_of_request, name, meant) in [
        (true, "paht", "path"),
        (true, "clientip", "client_ip"),
        (true, "clientIp", "client_ip"),
        (true, "User-Agent", "user_agent"),
        (false, "observedat", "observed_at"),
        (false, "feilds", "fields"),
    ] {
        let refused = no_such_member(UnknownMember { is_of_request, name, offset: None });
        assert!(refused.message.ends_with(&format!("did you mean `{meant}`?")), "{name}");
        assert_eq!(refused.pointer.starts_with("/request/"), is_of_request);
    }
    let refused = no_such_member(UnknownMember { is_of_request: true, name: "ip", offset: None });
    assert!(refused.message.contains("its members are `method`, "), "{}", refused.message);
}
