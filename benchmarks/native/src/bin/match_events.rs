//! The cost of one event against rule sets, indexed and one rule after another.
//!
//! ```text
//! python -m benchmarks.traffic.export DIRECTORY
//! cargo run --release -p tidegate-native-benchmarks --bin match_events -- DIRECTORY/events.jsonl DIRECTORY/rules-*.jsonl
//! ```
//!
//! Prints one JSON object a line, which `python -m benchmarks.goals` makes tables of: for
//! each file the set as it is, without the rules that have patterns ("plain"), and both
//! without those that hold on more than 0.2 % of the events ("low").
//! Percentiles are nanoseconds an event, in the order of the events, reading and
//! matching one after the other. Means are of the time the thread was running. The
//! kinds of work take turns, 256 events each. The index of a set is trained on
//! every tenth event. Indexed and linear answers are compared, and a difference ends the run.
//! Never-seen values and two threads are measured on whole sets alone, not on their parts.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

#[path = "../../../../rust/core/tests/allocated/mod.rs"]
mod allocated;

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use allocated::allocated;
use bumpalo::Bump;
use cpu_time::ThreadTime;
use serde_json::{Value as Json, json};
use tidegate_core::event::record::Record;
use tidegate_core::{RuleSet, event};

/// Bounds the answers of a run: about the number of events on which every rule is evaluated.
const LINEAR_ANSWERS: usize = 10_000_000;
/// The index is trained on every TRAINED-th event.
const TRAINED: usize = 10;
/// Passes that a mean is of.
const PASSES: usize = 3;
/// Rounds of one thread and then two.
const TWO_THREADS_ROUNDS: usize = 11;
/// Events that one kind of work goes through before the next has its turn.
const PART: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (events_path, paths) = arguments.split_first().unwrap();
    let text = std::fs::read(events_path).unwrap();
    let events = lines(&text);
    let unseen: Vec<Vec<u8>> =
        events.iter().enumerate().map(|(n, event)| unseen(event, n)).collect();
    let unseen: Vec<&[u8]> = unseen.iter().map(Vec::as_slice).collect();
    for path in paths {
        let text = std::fs::read(path).unwrap();
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".jsonl");
        let (header, programs) = lines(&text).split_first().map(|(a, b)| (*a, b.to_vec())).unwrap();
        let rules = programs.len();
        let plain: Vec<&[u8]> =
            programs.iter().copied().filter(|program| !has_pattern(program)).collect();
        for (name, programs) in [(name.to_owned(), programs), (format!("{name} plain"), plain)] {
            let natural = Set::new(header, &programs, &events);
            let holds = natural.holds(&events);
            let mut measured = natural.measure(&events);
            if programs.len() == rules {
                let again = Set::new(header, &programs, &events);
                natural.measure_whole(&again, &events, &unseen, &mut measured);
            }
            print(&name, measured);
            drop(natural);
            let often = 0.002 * events.len() as f64;
            let low: Vec<&[u8]> = programs
                .iter()
                .zip(&holds)
                .filter(|(_, holds)| f64::from(**holds) <= often)
                .map(|(program, _)| *program)
                .collect();
            let low = Set::new(header, &low, &events);
            print(&format!("{name} low"), low.measure(&events));
        }
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn has_pattern(program: &[u8]) -> bool {
    memchr::memmem::find(program, b".matches").is_some()
}

fn print(name: &str, mut measured: Json) {
    measured["set"] = json!(name);
    println!("{measured}");
}

/// The event with texts that no event had before.
fn unseen(event: &[u8], number: usize) -> Vec<u8> {
    let mut event: Json = serde_json::from_slice(event).unwrap();
    let add = |text: &mut Json| {
        if let Json::String(text) = text {
            text.push_str(&format!("~{number:x}"));
        }
    };
    for name in ["path", "user_agent", "referer"] {
        if let Some(text) = event["request"].get_mut(name) {
            add(text);
        }
    }
    for name in ["headers", "query_params", "cookies"] {
        if let Some(Json::Object(texts)) = event["request"].get_mut(name) {
            texts.values_mut().for_each(add);
        }
    }
    serde_json::to_vec(&event).unwrap()
}

/// The work done with an event.
type Work<'w> = &'w mut dyn FnMut(&[u8]);

/// Nanoseconds an event of several kinds of work. They take turns, some events each, so that
/// what the machine does meanwhile is in all of them.
fn means<const N: usize>(events: &[&[u8]], mut work: [Work<'_>; N]) -> [f64; N] {
    let mut spent = [Duration::ZERO; N];
    for part in events.chunks(PART).cycle().take(PASSES * events.len().div_ceil(PART)) {
        bring_in(part);
        for (spent, work) in spent.iter_mut().zip(&mut work) {
            let started = ThreadTime::now();
            part.iter().for_each(|event| work(event));
            *spent += started.elapsed();
        }
    }
    spent.map(|spent| spent.as_nanos() as f64 / (PASSES * events.len()) as f64)
}

/// Has the events near, as those are that have just been received.
fn bring_in(events: &[&[u8]]) {
    black_box(events.iter().copied().flatten().fold(0, |sum, byte| sum ^ byte));
}

struct Set {
    rules: RuleSet,
    compile_seconds: f64,
    index_seconds: f64,
    program_bytes: isize,
    index_bytes: isize,
}

impl Set {
    fn new(header: &[u8], programs: &[&[u8]], events: &[&[u8]]) -> Self {
        let header = header.strip_suffix(b"}").unwrap();
        let bundle = [header, b",\"programs\":[", &programs.join(&b","[..]), b"]}"].concat();
        let sample: Vec<&[u8]> = events.iter().step_by(TRAINED).copied().collect();
        let before = allocated();
        let started = Instant::now();
        let rules = RuleSet::from_json(&bundle).unwrap();
        let compile_seconds = started.elapsed().as_secs_f64();
        let program_bytes = allocated() - before;
        let rules = rules.trained(&sample, None);
        let index_seconds = started.elapsed().as_secs_f64() - compile_seconds;
        let index_bytes = allocated() - before - program_bytes;
        Self { rules, compile_seconds, index_seconds, program_bytes, index_bytes }
    }

    fn read<'a>(&self, bytes: &'a [u8], arena: &'a Bump) -> Record<'a> {
        self.rules.read(bytes, None, arena).unwrap()
    }

    /// On how many events each rule holds.
    fn holds(&self, events: &[&[u8]]) -> Vec<u32> {
        let mut holds = vec![0; self.rules.len()];
        let mut arena = Bump::new();
        for event in events {
            arena.reset();
            for rule in self.rules.matches(&self.read(event, &arena)) {
                holds[rule as usize] += 1;
            }
        }
        holds
    }

    fn measure(&self, events: &[&[u8]]) -> Json {
        let (matched, looked_at) = self.count(events);
        json!({
            "rules": self.rules.len(),
            "events": events.len(),
            "matched": matched,
            "looked_at": looked_at,
            "index_bytes": self.index_bytes,
            "program_bytes": self.program_bytes,
            "compile_seconds": self.compile_seconds,
            "index_seconds": self.index_seconds,
            "percentiles": self.percentiles(events),
            "means": self.means(events),
            "linear": self.linear(events),
        })
    }

    /// Adds what is measured of whole sets alone.
    fn measure_whole(&self, again: &Self, events: &[&[u8]], unseen: &[&[u8]], measured: &mut Json) {
        measured["unseen"] =
            json!({ "percentiles": self.percentiles(unseen), "means": self.means(unseen) });
        measured["two_threads"] = json!(two_threads([self, self], events));
        measured["two_threads_apart"] = json!(two_threads([self, again], events));
    }

    /// How many rules hold and are looked at, an event.
    fn count(&self, events: &[&[u8]]) -> (f64, f64) {
        let (mut matched, mut looked_at) = (0, 0);
        let mut arena = Bump::new();
        for event in events {
            arena.reset();
            let record = self.read(event, &arena);
            matched += self.rules.matches(&record).len();
            looked_at += self.rules.candidates(&record);
        }
        (matched as f64 / events.len() as f64, looked_at as f64 / events.len() as f64)
    }

    fn percentiles(&self, events: &[&[u8]]) -> Json {
        let (mut quotes, mut read, mut matching, mut all) = (vec![], vec![], vec![], vec![]);
        let mut arena = Bump::new();
        for part in events.chunks(PART) {
            bring_in(part);
            for event in part {
                let started = Instant::now();
                black_box(memchr::memchr_iter(b'"', event).fold(0, |sum, at| sum ^ at));
                quotes.push(started.elapsed());
            }
            for event in part {
                arena.reset();
                let started = Instant::now();
                let record = self.read(event, &arena);
                let read_in = started.elapsed();
                black_box(self.rules.matches(&record));
                let all_in = started.elapsed();
                read.push(read_in);
                matching.push(all_in - read_in);
                all.push(all_in);
            }
        }
        json!({
            "quotes": percentiles(quotes),
            "read": percentiles(read),
            "match": percentiles(matching),
            "all": percentiles(all),
        })
    }

    /// Means of the phases, each by what a pass costs more when it does that as well.
    fn means(&self, events: &[&[u8]]) -> Json {
        let layout = self.rules.layout();
        let mut arenas = [Bump::new(), Bump::new(), Bump::new(), Bump::new()];
        let [first, second, third, last] = &mut arenas;
        let [read, fields, search, all] = means(
            events,
            [
                &mut |event| {
                    first.reset();
                    black_box(event::read(event, layout, first, self.rules.limits()).unwrap());
                },
                &mut |event| {
                    second.reset();
                    black_box(self.read(event, second));
                },
                &mut |event| {
                    third.reset();
                    black_box(self.rules.candidates(&self.read(event, third)));
                },
                &mut |event| {
                    last.reset();
                    black_box(self.rules.matches(&self.read(event, last)));
                },
            ],
        );
        json!({
            "read": read,
            "fields": fields - read,
            "search": search - fields,
            "evaluate": all - search,
            "match": all - fields,
            "all": all,
        })
    }

    /// Matching with every rule evaluated; the answers must be the same.
    fn linear(&self, events: &[&[u8]]) -> f64 {
        let rules = self.rules.len().max(1);
        let step = (events.len() / (LINEAR_ANSWERS / rules).max(1)).max(1);
        let events: Vec<&[u8]> = events.iter().step_by(step).copied().collect();
        let every = |record: &Record<'_>| self.rules.test_all(record).0;
        let (mut first, mut last) = (Bump::new(), Bump::new());
        let [read, all] = means(
            &events,
            [
                &mut |event| {
                    first.reset();
                    black_box(self.read(event, &first));
                },
                &mut |event| {
                    last.reset();
                    black_box(every(&self.read(event, &last)));
                },
            ],
        );
        let mut arena = Bump::new();
        for event in &events {
            arena.reset();
            let record = self.read(event, &arena);
            assert_eq!(every(&record), self.rules.matches(&record), "the index has other answers");
        }
        all - read
    }
}

/// How many times as many events two threads read and match as one, each with its set. A
/// thread remembers values from a pass before, as one of a service does.
fn two_threads(sets: [&Set; 2], events: &[&[u8]]) -> f64 {
    let pass = |set: &Set| {
        let mut arena = Bump::new();
        for event in events {
            arena.reset();
            black_box(set.rules.matches(&set.read(event, &arena)));
        }
    };
    let turn = Barrier::new(3);
    let mut ratios: Vec<f64> = std::thread::scope(|scope| {
        for (set, is_first) in sets.into_iter().zip([true, false]) {
            let turn = &turn;
            scope.spawn(move || {
                pass(set);
                for is_for_both in [false, true].repeat(TWO_THREADS_ROUNDS) {
                    turn.wait();
                    if is_first || is_for_both {
                        pass(set);
                    }
                    turn.wait();
                }
            });
        }
        let timed = || {
            turn.wait();
            let started = Instant::now();
            turn.wait();
            started.elapsed().as_secs_f64()
        };
        (0..TWO_THREADS_ROUNDS)
            .map(|_| {
                let one = timed();
                2.0 * one / timed()
            })
            .collect()
    });
    ratios.sort_by(f64::total_cmp);
    ratios[TWO_THREADS_ROUNDS / 2]
}

fn percentiles(mut times: Vec<Duration>) -> Json {
    times.sort_unstable();
    let at =
        |part: usize| times[(times.len() * part / 1000).min(times.len() - 1)].as_nanos() as u64;
    json!({ "p50": at(500), "p99": at(990), "p999": at(999) })
}
