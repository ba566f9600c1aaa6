use super::*;
use crate::value::address::Address;

const DATA: &str = r#"{
    "user_agent_parsers": [
        {"regex": "Mozilla.{0,100}(Fox|Bird)/(\\d+)", "family_replacement": null},
        {"regex": "(\\w+)[{]?Bot", "family_replacement": "$1 robot"}
    ],
    "os_parsers": [{"regex": "(Linux)", "os_replacement": "$1"}],
    "device_parsers": [
        {"regex": "bot\\{1,2\\}|bot", "regex_flag": "i", "device_replacement": "Spider"}
    ],
    "known_agents": [
        {"word": "a-user", "family": "A-User", "operator": "A", "ranges": "A"},
        {"word": "preview", "family": "Preview"}
    ],
    "ranges": {"A": ["192.0.2.0/24"]}
}"#;

fn families(user_agent: &str) -> (String, String, String) {
    let found = UserAgents::new(DATA.as_bytes()).unwrap().families(user_agent);
    (found.browser.clone(), found.system.clone(), found.device.clone())
}

fn expected(browser: &str, system: &str, device: &str) -> (String, String, String) {
    (browser.to_owned(), system.to_owned(), device.to_owned())
}

#[test]
fn families_come_from_the_data() {
    assert_eq!(families("Mozilla (Linux) Fox/5"), expected("Fox", "Linux", "Other"));
    assert_eq!(families("xBot"), expected("x robot", "Other", "Spider"));
    assert_eq!(families("curl"), expected("Other", "Other", "Other"));
}

#[test]
fn a_known_agent_has_its_own_family_whatever_the_data_says() {
    let known = "Mozilla (Linux) Fox/5 (Preview; A-User/1.0)";
    assert_eq!(families(known), expected("A-User", "Linux", "Spider"));
    assert_eq!(families("PREVIEW"), expected("Preview", "Other", "Spider"));
    for other in ["xpreview", "preview2", "a-user_agent", "aa-user", "\u{e9}"] {
        assert_eq!(families(other), expected("Other", "Other", "Other"), "{other}");
    }
    assert_eq!(families("previewer preview").0, "Preview");
    assert_eq!(families("xBot preview"), expected("Preview", "Other", "Spider"));
}

#[test]
fn a_claimed_agent_comes_with_its_published_addresses() {
    let data = UserAgents::new(DATA.as_bytes()).unwrap();
    let claimed = |user_agent| data.claimed(&data.families(user_agent));
    let inside = Address::parse("192.0.2.9").unwrap();
    assert!(claimed("A-User/1").unwrap().ranges.unwrap().contains(inside));
    assert!(claimed("Preview").unwrap().ranges.is_none());
    assert!(claimed("xBot").is_none());
}

#[test]
fn repetition_keeps_its_bound() {
    let far = format!("Mozilla{}Fox/5", " ".repeat(101));
    assert_eq!(families(&far).0, "Other");
}

#[test]
fn long_and_foreign_user_agents_are_read_in_part() {
    let late = format!("{}Bot", "\u{e9}".repeat(511));
    assert_eq!(families(&late).2, "Other");
    assert_eq!(families("\u{e9}aBot").0, "a robot");
    assert_eq!(readable(&"\u{20ac}".repeat(400)).chars().count(), 341);
}

#[test]
fn answers_are_the_same_when_remembered_and_memory_is_bounded() {
    let user_agents = UserAgents::new(DATA.as_bytes()).unwrap();
    for round in 0..3 {
        for number in 0..20_000u32 {
            let found = user_agents.families(&format!("n{}Bot", number % 15_000));
            assert_eq!(found.browser, format!("n{} robot", number % 15_000), "{round}");
        }
    }
    for shard in &user_agents.shards {
        let shard = shard.lock().unwrap();
        assert!(shard.young.len() <= GENERATION && shard.old.len() <= GENERATION);
    }
}

#[test]
fn other_data_is_refused() {
    for data in ["", "{}", "[]", &DATA.replace("(Linux)", "("), &DATA.replace("2.0/24", "2.0/99")] {
        assert!(UserAgents::new(data.as_bytes()).is_err());
    }
}
