//! What a service counts of its decisions, and the idempotency keys they came with, taken from the
//! index of its log.
//!
//! The index says of each decision what it is found and counted by, as one array of JSON
//! (`tidegate.stores.decision_log.log.encode_index`). Thousands of them become a few rows of counts, and the keys
//! in the order in which the store keeps them.

use std::fmt;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

const MINUTE_NS: i64 = 60_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;
/// A bucket of keys is numbered by the hour, and below that by the decision divided by 65,536.
const BUCKET_BITS: u32 = 16;
/// The action of what is no decision.
const LIFT: &str = "lift";
/// In place of a policy: every decision.
const ALL: &str = "";

/// Idempotency keys of one bucket, in the order of their hashes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Its number.
    pub number: i64,
    /// Of each key 16 bytes of its hash, then 16 of the fingerprint of its body.
    pub keys: Vec<u8>,
    /// Of each key the number of its decision.
    pub seqs: Vec<u64>,
}

/// What is derived from a part of the log.
#[derive(Debug, PartialEq, Eq)]
pub struct Tally {
    /// The keys.
    pub buckets: Vec<Bucket>,
    /// Rows of JSON: tenant, policy (empty: every decision), minute, total, monitor, challenge,
    /// block, errors, last match, last receipt.
    pub counts: String,
}

/// Counts a part of the log: `index` is arrays of decisions joined by commas, `first` the number of
/// the first.
///
/// # Errors
///
/// `index` is none.
pub fn tally(index: &str, first: u64) -> Result<Tally, serde_json::Error> {
    let text = ["[", index, "]"].concat();
    let entries: Vec<Entry<'_>> = serde_json::from_str(&text)?;
    let mut keys = Vec::new();
    let mut counts = Table::default();
    for (entry, seq) in entries.iter().zip(first..) {
        if let Some((hash, fingerprint)) = entry.key {
            keys.push((bucket(entry.received_ns, seq), hash, seq, fingerprint));
        }
        if entry.action != LIFT {
            entry.count(&mut counts);
        }
    }
    Ok(Tally { buckets: buckets(keys), counts: rows(counts)? })
}

type Hash = [u8; 16];
type Key = (i64, Hash, u64, Hash);
type Place<'a> = (&'a str, &'a str, i64);
type Table<'a> = HashMap<Place<'a>, Counts, RandomState>;

#[derive(Clone, Copy, Default)]
struct Counts {
    total: u64,
    monitor: u64,
    challenge: u64,
    block: u64,
    errors: u64,
    last_match_ns: Option<i64>,
    last_received_ns: i64,
}

impl Counts {
    fn matched(&mut self, mode: &str, observed_ns: i64) {
        add(&mut self.total);
        match mode {
            "Monitor" => add(&mut self.monitor),
            "Challenge" => add(&mut self.challenge),
            "Block" => add(&mut self.block),
            _ => {}
        }
        self.last_match_ns = self.last_match_ns.max(Some(observed_ns));
    }
}

fn add(count: &mut u64) {
    *count = count.saturating_add(1);
}

/// A decision, or a lift, in the index.
struct Entry<'a> {
    tenant: &'a str,
    received_ns: i64,
    key: Option<(Hash, Hash)>,
    observed_ns: i64,
    action: &'a str,
    fired: Vec<(&'a str, &'a str)>,
    errors: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    fn count(&self, table: &mut Table<'a>) {
        let mode = match self.action {
            "block" => "Block",
            "challenge" => "Challenge",
            _ if self.fired.is_empty() => "",
            _ => "Monitor",
        };
        let all = self.counts(table, ALL);
        all.matched(mode, self.observed_ns);
        if !self.errors.is_empty() {
            add(&mut all.errors);
        }
        for (policy, mode) in &self.fired {
            self.counts(table, policy).matched(mode, self.observed_ns);
        }
        // An empty name stands for expressions of no policy.
        for policy in self.errors.iter().filter(|policy| !policy.is_empty()) {
            add(&mut self.counts(table, policy).errors);
        }
    }

    fn counts<'t>(&self, table: &'t mut Table<'a>, policy: &'a str) -> &'t mut Counts {
        let place = (self.tenant, policy, self.observed_ns.div_euclid(MINUTE_NS));
        let counts = table.entry(place).or_default();
        counts.last_received_ns = counts.last_received_ns.max(self.received_ns);
        counts
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Columns)
    }
}

struct Columns;

impl<'de> Visitor<'de> for Columns {
    type Value = Entry<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the index of a decision")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut columns: A) -> Result<Entry<'de>, A::Error> {
        let tenant = next(&mut columns)?;
        next::<IgnoredAny, A>(&mut columns)?; // its id
        let received_ns = next(&mut columns)?;
        next::<IgnoredAny, A>(&mut columns)?; // the API key
        let hash: Option<&str> = next(&mut columns)?;
        let fingerprint: Option<&str> = next(&mut columns)?;
        let observed_ns = next(&mut columns)?;
        let action = next(&mut columns)?;
        for _ in ["reason", "policy", "path", "entities"] {
            next::<IgnoredAny, A>(&mut columns)?;
        }
        let fired = next(&mut columns)?;
        let errors = next(&mut columns)?;
        while columns.next_element::<IgnoredAny>()?.is_some() {}
        let key = hash.zip(fingerprint).map(|(hash, fingerprint)| {
            bytes(hash).zip(bytes(fingerprint)).ok_or_else(|| A::Error::custom("is no hash"))
        });
        let key = key.transpose()?;
        Ok(Entry { tenant, received_ns, key, observed_ns, action, fired, errors })
    }
}

fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(columns: &mut A) -> Result<T, A::Error> {
    columns.next_element()?.ok_or_else(|| A::Error::custom("a column is missing"))
}

/// 16 bytes written in hexadecimal.
fn bytes(text: &str) -> Option<Hash> {
    if text.len() != 32 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

fn bucket(received_ns: i64, seq: u64) -> i64 {
    let part = i64::from((seq >> BUCKET_BITS) as u16);
    received_ns.div_euclid(HOUR_NS) << BUCKET_BITS | part
}

fn buckets(mut keys: Vec<Key>) -> Vec<Bucket> {
    keys.sort_unstable();
    let mut buckets: Vec<Bucket> = Vec::new();
    for part in keys.chunk_by(|one, next| one.0 == next.0) {
        let number = part.first().map(|key| key.0).unwrap_or_default();
        let keys = part.iter().flat_map(|key| key.1.into_iter().chain(key.3)).collect();
        buckets.push(Bucket { number, keys, seqs: part.iter().map(|key| key.2).collect() });
    }
    buckets
}

fn rows(table: Table<'_>) -> Result<String, serde_json::Error> {
    let rows: Vec<_> = table
        .into_iter()
        .map(|((tenant, policy, minute), counts)| {
            (
                tenant,
                policy,
                minute,
                counts.total,
                counts.monitor,
                counts.challenge,
                counts.block,
                counts.errors,
                counts.last_match_ns,
                counts.last_received_ns,
            )
        })
        .collect();
    serde_json::to_string(&rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    const HASH: &str = "000102030405060708090a0b0c0d0e0f";
    const LOW: &str = "00000000000000000000000000000000";

    fn entry(key: &str, action: &str, fired: &str, errors: &str) -> String {
        format!(
            r#"["t","id",{HOUR_NS},"k",{key},{MINUTE_NS},"{action}","no","p","/\u0001","e",{fired},{errors}]"#
        )
    }

    #[test]
    fn decisions_are_counted_by_policy() {
        let index = [
            entry("null,null", "allow", "[]", "[]"),
            entry("null,null", "allow", r#"[["a","Monitor"]]"#, "[]"),
            entry("null,null", "block", r#"[["a","Block"],["b","Monitor"]]"#, r#"["b",""]"#),
            entry("null,null", "lift", "[]", "[]"),
        ];
        let tally = tally(&index.join(","), 1).unwrap();
        let mut rows: Vec<serde_json::Value> = serde_json::from_str(&tally.counts).unwrap();
        rows.sort_by_key(|row| row.get(1).map(ToString::to_string));
        let (m, h) = (MINUTE_NS, HOUR_NS);
        let expected = serde_json::json!([
            ["t", "", 1, 3, 1, 0, 1, 1, m, h],
            ["t", "a", 1, 2, 1, 0, 1, 0, m, h],
            ["t", "b", 1, 1, 1, 0, 0, 1, m, h],
        ]);
        assert_eq!(serde_json::Value::from(rows), expected);
        assert!(tally.buckets.is_empty());
    }

    #[test]
    fn keys_are_in_order_and_in_buckets() {
        let key = |hash| entry(&format!(r#""{hash}","{LOW}""#), "allow", "[]", "[]");
        let tally = tally(&[key(HASH), key(LOW), key(LOW)].join(","), 65_535).unwrap();
        let hash: Vec<u8> = (0..16).collect();
        assert_eq!(
            tally.buckets,
            [
                Bucket {
                    number: 1 << 16,
                    keys: [&hash[..], &[0; 16]].concat(),
                    seqs: vec![65_535]
                },
                Bucket { number: 1 << 16 | 1, keys: vec![0; 64], seqs: vec![65_536, 65_537] },
            ]
        );
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in ["[", "7", "[]", &entry(r#""00","00""#, "allow", "[]", "[]")] {
            assert!(tally(text, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        let tally = tally("", 1).unwrap();
        assert_eq!(tally, Tally { buckets: Vec::new(), counts: "[]".to_owned() });
    }
}
