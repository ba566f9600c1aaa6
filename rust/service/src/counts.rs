//! The counts of a service's decisions, and their idempotency keys, taken from the index of its
//! log.
//!
//! The index has one JSON array per decision with the values it is found and counted by
//! (`tidegate_server.stores.decision_log.lines.encode_index`). Thousands of them become a few rows of
//! counts, and the keys in the order in which the store keeps them.

use std::fmt;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

const MINUTE_NS: i64 = 60_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;
/// A bucket of keys is numbered by the hour, and below that by the decision divided by 65,536.
const BUCKET_BITS: u32 = 16;
/// The action of an entry that is not a decision.
const LIFT: &str = "lift";
/// The policy id for all decisions.
const ALL: &str = "";
const MONITOR: &str = "Monitor";

/// Idempotency keys of one bucket, in the order of their hashes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// The number of the bucket.
    pub number: i64,
    /// For each key, 16 bytes of its hash, then 16 of the fingerprint of its body.
    pub keys: Vec<u8>,
    /// For each key, the number of its decision.
    pub seqs: Vec<u64>,
}

/// The data derived from a part of the log.
#[derive(Debug, PartialEq, Eq)]
pub struct LogCounts {
    /// The keys.
    pub buckets: Vec<Bucket>,
    /// Rows of JSON: tenant, policy (empty: every decision), minute observed and received; total,
    /// allow, challenge, block; by others, monitor, errors; last match observed and received.
    pub counts: String,
}

/// Counts a part of the log: `index` is arrays of decisions joined by commas, `first` the number of
/// the first.
///
/// # Errors
///
/// `index` is invalid.
pub fn count_log(index: &str, first: u64) -> Result<LogCounts, serde_json::Error> {
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
    Ok(LogCounts { buckets: buckets(keys), counts: rows(counts)? })
}

type Hash = [u8; 16];
type Key = (i64, Hash, u64, Hash);
/// Tenant, policy, minute observed, minute received.
type Place<'a> = (&'a str, &'a str, i64, i64);
type Table<'a> = HashMap<Place<'a>, Counts, RandomState>;

#[derive(Clone, Copy, Default)]
struct Counts {
    total: u64,
    allow: u64,
    challenge: u64,
    block: u64,
    /// Decisions that another policy answered.
    by_others: u64,
    /// Decisions for which only Monitor clauses fired.
    monitor: u64,
    errors: u64,
    last_observed_ns: Option<i64>,
    last_received_ns: Option<i64>,
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
    /// The policy that gave the answer.
    policy: Option<&'a str>,
    fired: Vec<(&'a str, &'a str)>,
    errors: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    fn count(&self, table: &mut Table<'a>) {
        let monitors = |&(_, mode): &(&str, &str)| mode == MONITOR;
        let only_monitors = !self.fired.is_empty() && self.fired.iter().all(monitors);
        let all = self.answered(table, ALL, true, only_monitors);
        if !self.errors.is_empty() {
            add(&mut all.errors);
        }
        for fired in &self.fired {
            let policy = fired.0;
            self.answered(table, policy, self.policy == Some(policy), monitors(fired));
        }
        // An empty name is for expressions that belong to no policy.
        for policy in self.errors.iter().filter(|policy| !policy.is_empty()) {
            add(&mut self.counts(table, policy).errors);
        }
    }

    /// Counts the decision by its answer. For a policy that did not give it, an answer that stops
    /// the request counts as one by others, so the answers of all policies add up to those given.
    fn answered<'t>(
        &self,
        table: &'t mut Table<'a>,
        policy: &'a str,
        is_its_answer: bool,
        is_monitor: bool,
    ) -> &'t mut Counts {
        let counts = self.counts(table, policy);
        add(&mut counts.total);
        match self.action {
            "challenge" if is_its_answer => add(&mut counts.challenge),
            "block" if is_its_answer => add(&mut counts.block),
            "challenge" | "block" => add(&mut counts.by_others),
            _ => add(&mut counts.allow),
        }
        if is_monitor {
            add(&mut counts.monitor);
        }
        counts.last_observed_ns = counts.last_observed_ns.max(Some(self.observed_ns));
        counts.last_received_ns = counts.last_received_ns.max(Some(self.received_ns));
        counts
    }

    fn counts<'t>(&self, table: &'t mut Table<'a>, policy: &'a str) -> &'t mut Counts {
        let observed = self.observed_ns.div_euclid(MINUTE_NS);
        let received = self.received_ns.div_euclid(MINUTE_NS);
        table.entry((self.tenant, policy, observed, received)).or_default()
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
        next::<IgnoredAny, A>(&mut columns)?; // the reason
        let policy = next(&mut columns)?;
        for _ in ["path", "entities"] {
            next::<IgnoredAny, A>(&mut columns)?;
        }
        let fired = next(&mut columns)?;
        let errors = next(&mut columns)?;
        while columns.next_element::<IgnoredAny>()?.is_some() {}
        let key = hash.zip(fingerprint).map(|(hash, fingerprint)| {
            bytes(hash).zip(bytes(fingerprint)).ok_or_else(|| A::Error::custom("is no hash"))
        });
        let key = key.transpose()?;
        Ok(Entry { tenant, received_ns, key, observed_ns, action, policy, fired, errors })
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
        .map(|((tenant, policy, observed, received), counts)| {
            (
                (tenant, policy, observed, received),
                [counts.total, counts.allow, counts.challenge, counts.block],
                [counts.by_others, counts.monitor, counts.errors],
                [counts.last_observed_ns, counts.last_received_ns],
            )
        })
        .collect();
    serde_json::to_string(&rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests;
