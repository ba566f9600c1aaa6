use super::*;

const HASH: &str = "000102030405060708090a0b0c0d0e0f";
const LOW: &str = "00000000000000000000000000000000";

fn entry(key: &str, action: &str, fired: &str, errors: &str) -> String {
    answered(key, action, "null", fired, errors)
}

fn answered(key: &str, action: &str, policy: &str, fired: &str, errors: &str) -> String {
    format!(
        r#"["t","id",{HOUR_NS},"k",{key},{MINUTE_NS},"{action}","no",{policy},"/\u0001","e",{fired},{errors}]"#
    )
}

fn counted(index: &[String]) -> serde_json::Value {
    let count_log = count_log(&index.join(","), 1).unwrap();
    assert!(count_log.buckets.is_empty());
    let mut rows: Vec<serde_json::Value> = serde_json::from_str(&count_log.counts).unwrap();
    rows.sort_by_key(ToString::to_string);
    rows.into()
}

#[test]
fn decisions_are_counted_by_policy() {
    let index = [
        entry("null,null", "allow", "[]", "[]"),
        entry("null,null", "allow", r#"[["a","Monitor"]]"#, "[]"),
        answered(
            "null,null",
            "block",
            r#""a""#,
            r#"[["a","Block"],["b","Monitor"]]"#,
            r#"["b",""]"#,
        ),
        entry("null,null", "lift", "[]", "[]"),
    ];
    let (m, h) = (MINUTE_NS, HOUR_NS);
    let expected = serde_json::json!([
        [["t", "", 1, 60], [3, 2, 0, 1], [0, 1, 1], [m, h]],
        [["t", "a", 1, 60], [2, 1, 0, 1], [0, 1, 0], [m, h]],
        [["t", "b", 1, 60], [1, 0, 0, 0], [1, 1, 1], [m, h]],
    ]);
    assert_eq!(counted(&index), expected);
}

#[test]
fn an_answer_counts_for_the_policy_that_gave_it() {
    let fired = r#"[["a","Block"],["b","Block"]]"#;
    let index = [
        answered("null,null", "challenge", r#""a""#, fired, "[]"),
        answered("null,null", "block", "null", r#"[["b","Monitor"]]"#, "[]"),
    ];
    let (m, h) = (MINUTE_NS, HOUR_NS);
    let expected = serde_json::json!([
        [["t", "", 1, 60], [2, 0, 1, 1], [0, 1, 0], [m, h]],
        [["t", "a", 1, 60], [1, 0, 1, 0], [0, 0, 0], [m, h]],
        [["t", "b", 1, 60], [2, 0, 0, 0], [2, 1, 0], [m, h]],
    ]);
    assert_eq!(counted(&index), expected);
}

#[test]
fn keys_are_in_order_and_in_buckets() {
    let key = |hash| entry(&format!(r#""{hash}","{LOW}""#), "allow", "[]", "[]");
    let count_log = count_log(&[key(HASH), key(LOW), key(LOW)].join(","), 65_535).unwrap();
    let hash: Vec<u8> = (0..16).collect();
    assert_eq!(
        count_log.buckets,
        [
            Bucket { number: 1 << 16, keys: [&hash[..], &[0; 16]].concat(), seqs: vec![65_535] },
            Bucket { number: 1 << 16 | 1, keys: vec![0; 64], seqs: vec![65_536, 65_537] },
        ]
    );
}

#[test]
fn what_is_no_index_is_refused() {
    for text in ["[", "7", "[]", &entry(r#""00","00""#, "allow", "[]", "[]")] {
        assert!(count_log(text, 1).is_err(), "{text}");
    }
}

#[test]
fn nothing_gives_nothing() {
    let count_log = count_log("", 1).unwrap();
    assert_eq!(count_log, LogCounts { buckets: Vec::new(), counts: "[]".to_owned() });
}
