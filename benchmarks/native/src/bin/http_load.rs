//! Sends events to a server over many connections and prints what it measured, as JSON.
//!
//! ```text
//! http_load ADDRESS PATH EVENTS CONNECTIONS SECONDS [HEADER...]
//! ```
//!
//! EVENTS has one body a line; each is sent with an idempotency key of its own in place
//! of the one it has, so that none is a repetition. A connection sends its next event
//! when it has read the answer to the last. Latencies are from the first byte written to the
//! last byte read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::string_slice)]
#![allow(clippy::arithmetic_side_effects, clippy::panic, reason = "a tool that may stop")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const KEY: &[u8] = b"\"idempotency_key\":\"";

struct Event {
    before: Vec<u8>,
    after: Vec<u8>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, events, connections, seconds, headers @ ..] = arguments.as_slice() else {
        panic!("http_load ADDRESS PATH EVENTS CONNECTIONS SECONDS [HEADER...]");
    };
    let events: Arc<Vec<Event>> = Arc::new(
        std::fs::read(events).unwrap().split(|&byte| byte == b'\n').filter_map(event).collect(),
    );
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{}",
        headers.iter().map(|header| format!("{header}\r\n")).collect::<String>()
    );
    let run = std::process::id();
    let next = Arc::new(AtomicUsize::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let started = Instant::now();
    let threads: Vec<_> = (0..connections.parse().unwrap())
        .map(|_| {
            let (events, next, stop) = (events.clone(), next.clone(), stop.clone());
            let (head, address) = (head.clone(), address.clone());
            thread::spawn(move || connection(&address, &head, run, &events, &next, &stop))
        })
        .collect();
    thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap()));
    stop.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    let mut statuses = BTreeMap::new();
    for thread in threads {
        for (status, nanoseconds) in thread.join().unwrap() {
            latencies.push(nanoseconds);
            *statuses.entry(status).or_insert(0_u64) += 1;
        }
    }
    let elapsed = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| {
        let index = ((latencies.len() as f64 - 1.0) * share) as usize;
        latencies.get(index).copied().unwrap_or(0) as f64 / 1e6
    };
    let counts: Vec<String> =
        statuses.iter().map(|(status, count)| format!("\"{status}\":{count}")).collect();
    println!(
        "{{\"requests\":{},\"seconds\":{elapsed:.3},\"per_second\":{:.0},\"p50_ms\":{:.3},\
         \"p99_ms\":{:.3},\"p999_ms\":{:.3},\"max_ms\":{:.3},\"statuses\":{{{}}}}}",
        latencies.len(),
        latencies.len() as f64 / elapsed,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        counts.join(",")
    );
}

fn event(line: &[u8]) -> Option<Event> {
    if line.is_empty() {
        return None;
    }
    let Some(start) = line.windows(KEY.len()).position(|window| window == KEY) else {
        return Some(Event { before: line.to_vec(), after: Vec::new() });
    };
    let start = start + KEY.len();
    let end = start + line[start..].iter().position(|&byte| byte == b'"').unwrap();
    Some(Event { before: line[..start].to_vec(), after: line[end..].to_vec() })
}

fn connection(
    address: &str,
    head: &str,
    run: u32,
    events: &[Event],
    next: &AtomicUsize,
    stop: &AtomicBool,
) -> Vec<(u16, u64)> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut measured = Vec::new();
    let mut request = Vec::new();
    let mut answer = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let event = &events[number % events.len()];
        let key = if event.after.is_empty() { String::new() } else { format!("{run}-{number}") };
        let length = event.before.len() + key.len() + event.after.len();
        request.clear();
        write!(request, "{head}content-length: {length}\r\n\r\n").unwrap();
        request.extend_from_slice(&event.before);
        request.extend_from_slice(key.as_bytes());
        request.extend_from_slice(&event.after);
        let started = Instant::now();
        stream.write_all(&request).unwrap();
        let status = read_answer(&mut stream, &mut answer);
        measured.push((status, started.elapsed().as_nanos() as u64));
    }
    measured
}

fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> u16 {
    answer.clear();
    let mut chunk = [0_u8; 8192];
    loop {
        let read = stream.read(&mut chunk).unwrap();
        assert!(read > 0, "the server closed a connection");
        answer.extend_from_slice(&chunk[..read]);
        let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |value| value.trim().parse().unwrap());
        if answer.len() >= end + 4 + length {
            return head[9..12].parse().unwrap();
        }
    }
}
