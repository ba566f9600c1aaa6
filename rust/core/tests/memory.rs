//! The memory that rules allocate.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod allocated;
mod trees;

use allocated::allocated;
use serde_json::{Value as Json, json};
use tidegate_core::RuleSet;
use trees::{field, node, text};

fn call(function: &str, arguments: &[Json]) -> Json {
    let is_member = !matches!(function, "==" | "in" | "cidr");
    node("call", json!({"function": function, "member": is_member, "args": arguments}))
}

/// Rules of the kinds that sets are made of.
fn root(number: u32) -> Json {
    let agent = || field("request.user_agent");
    let own = format!("agent-{number}");
    let header =
        node("index", json!({"operand": field("request.headers"), "index": text("accept")}));
    let own_test = match number % 6 {
        0 => call("contains", &[agent(), text(&own)]),
        1 => call("==", &[header, text(&own)]),
        2 => call("==", &[call("lowerAscii", &[agent()]), text(&own.repeat(4))]),
        3 => {
            let pattern = format!("bot{number}[a-z]+");
            let parts = json!({"function": "matches", "member": true, "regexes": [pattern],
                "args": [agent(), text(&pattern)]});
            node("call", parts)
        }
        4 => {
            let texts: Vec<Json> =
                (0..8).map(|n| json!({"type": "string", "value": format!("{own}/{n}")})).collect();
            let list = node("literal", json!({"value": {"type": "list", "value": texts}}));
            call("in", &[agent(), list])
        }
        _ => {
            let network = format!("10.{}.{}.0/24", number / 256, number % 256);
            let network = call("cidr", &[text(&network)]);
            call("containsIP", &[network, field("request.client_ip")])
        }
    };
    let shared = call("==", &[field("request.method"), text("POST")]);
    if number.is_multiple_of(2) {
        node("and", json!({"args": [own_test, shared]}))
    } else {
        own_test
    }
}

#[test]
fn rules_of_a_set_take_few_bytes_each() {
    let programs: Vec<Json> = (0..3000)
        .map(|number| json!({"id": format!("rule-{number}"), "version": 1, "text": "", "root": root(number)}))
        .collect();
    let fields = json!({"request.user_agent": "string", "request.method": "string",
        "request.client_ip": "string", "request.headers": "map(string, string)"});
    let bundle = json!({"version": 1, "fields": fields, "programs": programs}).to_string();
    let before = allocated();
    let rules = RuleSet::from_json(bundle.as_bytes()).unwrap();
    rules.report();
    let taken = (allocated() - before) / 3000;
    assert!((100..1_500).contains(&taken), "{taken}");
}
