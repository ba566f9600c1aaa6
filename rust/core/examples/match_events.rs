//! How long one event takes against rule sets, indexed and one rule after another.
//!
//! ```text
//! python -m benchmarks.export DIRECTORY
//! cargo run --release --example match_events -- DIRECTORY/events.jsonl DIRECTORY/rules-*.json
//! ```
//!
//! The index of a set is trained on every tenth event. "Low" is the set without the
//! rules that hold on more than 0.2 % of the events. Times are nanoseconds an event, by
//! the events in their order; reading and matching are timed apart, one after the other.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::collections::HashSet;
use std::hint::black_box;
use std::time::Instant;

use bumpalo::Bump;
use serde_json::Value as Json;
use tidegate_core::RuleSet;
use tidegate_core::encode::{Settings, encode};
use tidegate_core::event;
use tidegate_core::record::Record;

/// Events on which every rule is evaluated, about: so many answers at most.
const LINEAR_ANSWERS: usize = 20_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (events_path, bundles) = arguments.split_first().unwrap();
    let text = std::fs::read(events_path).unwrap();
    let events: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let floor = quote_floor(&events);
    println!("{} events, finding the quotes of one: {floor:.0} ns", events.len());
    println!(
        "{:<14}{:>7}{:>7} | {:>7}{:>7} | {:>7}{:>7}{:>7}{:>8} | {:>7}{:>7} | {:>10}{:>7} | {:>6}{:>8}",
        "set",
        "rules",
        "true",
        "read50",
        "floors",
        "match",
        "p50",
        "p99",
        "looked",
        "all50",
        "all99",
        "linear",
        "times",
        "index",
        "build s"
    );
    for path in bundles {
        let bundle: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".json");
        let natural = Set::new(&bundle, &events);
        let mut measured = natural.measure(&events);
        measured.print(name, floor);
        let often: HashSet<usize> = (0..measured.holds.len())
            .filter(|rule| measured.holds[*rule] as f64 > 0.002 * events.len() as f64)
            .collect();
        let low = Set::new(&without(&bundle, &often), &events);
        low.measure(&events).print(&format!("{name} low"), floor);
    }
}

/// Time to find the quotes of an event, which no reader can do without.
fn quote_floor(events: &[&[u8]]) -> f64 {
    let mut times = Vec::new();
    for event in events {
        let started = Instant::now();
        black_box(memchr::memchr_iter(b'"', event).fold(0, |sum, at| sum ^ at));
        times.push(started.elapsed().as_nanos() as u64);
    }
    percentile(&mut times, 50) as f64
}

fn without(bundle: &Json, rules: &HashSet<usize>) -> Json {
    let mut bundle = bundle.clone();
    let programs = bundle["programs"].as_array_mut().unwrap();
    let mut position = 0;
    programs.retain(|_| {
        position += 1;
        !rules.contains(&(position - 1))
    });
    bundle
}

struct Set {
    rules: RuleSet,
    build_seconds: f64,
}

#[derive(Default)]
struct Measured {
    rules: usize,
    holds: Vec<u32>,
    read: Vec<u64>,
    matching: Vec<u64>,
    all: Vec<u64>,
    looked_at: u64,
    linear: f64,
    index_bytes: usize,
    build_seconds: f64,
}

impl Set {
    fn new(bundle: &Json, events: &[&[u8]]) -> Self {
        let bytes = serde_json::to_vec(bundle).unwrap();
        let sample: Vec<&[u8]> = events.iter().step_by(10).copied().collect();
        let rules = RuleSet::from_json(&bytes).unwrap();
        let started = Instant::now();
        let rules = rules.trained(&sample, None);
        Self { rules, build_seconds: started.elapsed().as_secs_f64() }
    }

    fn read<'a>(&self, bytes: &'a [u8], arena: &'a Bump) -> Record<'a> {
        let (layout, limits) = (self.rules.layout(), self.rules.limits());
        let settings = Settings {
            trusted_proxies: self.rules.trusted_proxies(),
            databases: None,
            user_agents: None,
            limits,
        };
        let event = event::read(bytes, layout, arena, limits).unwrap();
        encode(&event, layout, arena, settings).unwrap()
    }

    fn measure(&self, events: &[&[u8]]) -> Measured {
        let rules = self.rules.ids().len();
        let mut measured = Measured {
            rules,
            holds: vec![0; rules],
            index_bytes: self.rules.report().bytes,
            build_seconds: self.build_seconds,
            ..Measured::default()
        };
        let mut arena = Bump::new();
        for event in events {
            arena.reset();
            let started = Instant::now();
            let record = self.read(event, &arena);
            let read = started.elapsed().as_nanos() as u64;
            let matched = self.rules.matches(&record);
            let all = started.elapsed().as_nanos() as u64;
            for rule in &matched {
                measured.holds[*rule as usize] += 1;
            }
            measured.looked_at += self.rules.candidates(&record) as u64;
            measured.read.push(read);
            measured.matching.push(all - read);
            measured.all.push(all);
        }
        measured.linear = self.linear(events);
        measured
    }

    /// The same, every rule evaluated; the answers must be the same.
    fn linear(&self, events: &[&[u8]]) -> f64 {
        let rules = self.rules.ids().len().max(1);
        let step = (events.len() / (LINEAR_ANSWERS / rules).max(1)).max(1);
        let mut times = 0;
        let mut count = 0_u32;
        let mut arena = Bump::new();
        for event in events.iter().step_by(step) {
            arena.reset();
            let record = self.read(event, &arena);
            let mut matched = Vec::new();
            let started = Instant::now();
            self.rules.test_all(&record, |rule, outcome| {
                if outcome == Ok(true) {
                    matched.push(rule);
                }
            });
            times += started.elapsed().as_nanos() as u64;
            count += 1;
            assert_eq!(matched, self.rules.matches(&record), "the index differs");
        }
        times as f64 / f64::from(count)
    }
}

impl Measured {
    fn print(&mut self, name: &str, floor: f64) {
        let events = self.all.len() as f64;
        let mean = self.matching.iter().sum::<u64>() as f64 / events;
        let read = percentile(&mut self.read, 50) as f64;
        println!(
            "{name:<14}{:>7}{:>7.2} | {read:>7.0}{:>7.2} | {mean:>7.0}{:>7}{:>7}{:>8.1} | {:>7}{:>7} | {:>10.0}{:>7.0} | {:>6.0}{:>8.2}",
            self.rules,
            self.holds.iter().map(|count| f64::from(*count)).sum::<f64>() / events,
            read / floor,
            percentile(&mut self.matching, 50),
            percentile(&mut self.matching, 99),
            self.looked_at as f64 / events,
            percentile(&mut self.all, 50),
            percentile(&mut self.all, 99),
            self.linear,
            self.linear / mean,
            self.index_bytes as f64 / self.rules as f64,
            self.build_seconds,
        );
    }
}

fn percentile(times: &mut [u64], percent: usize) -> u64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}
