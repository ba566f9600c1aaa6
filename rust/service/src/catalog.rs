//! The names in a service's traffic: how many events have a name, how many different values it has,
//! and an example.
//!
//! It learns from every line of the log. The number of different values is estimated by
//! HyperLogLog, which needs 3 KiB per name for any number of values.

use std::borrow::Cow;
use std::fmt;

use datasketches::hll::{Coupon, HllSketch, HllType, HllUnion};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use memchr::memmem;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// 4,096 registers of 6 bits: the typical error is 1.04 / sqrt(4,096), which is 1.6 %.
const LG_REGISTERS: u8 = 12;
const MAX_NAME_CHARACTERS: usize = 200;
const MAX_EXAMPLE_CHARACTERS: usize = 200;
/// The prefix of a redacted value.
const HASH: &[u8] = b"hmac:";
/// The endpoint of an entry that is not a decision.
const LIFT: &str = "lift";
/// The name under which the events themselves are counted.
const EVENTS: &str = "";

const FIELDS: usize = 0;
const HEADERS: usize = 1;
const COOKIES: usize = 3;
const SECTIONS: [&str; 5] = [
    "fields.",
    "request.headers.",
    "request.query_params.",
    "request.cookies.",
    "request.route_params.",
];

type Map<T> = HashMap<Box<str>, T, RandomState>;

/// One tenant's names in a part of the log.
#[derive(Debug)]
pub struct LearnedNames {
    /// The names of each section by their text after its prefix; None for a known name that this
    /// part does not have.
    sections: [Map<Option<Seen>>; 5],
    room: usize,
    events: u64,
    last_seen_ns: i64,
    rounds: u64,
}

/// Facts about one name.
#[derive(Debug)]
struct Seen {
    kind: &'static str,
    example: String,
    /// The round that the example is from.
    round: u64,
    present: u64,
    /// The number of the last event that had it.
    event: u64,
    last_seen_ns: i64,
    values: HllSketch,
}

/// Name, type, example, events that have it, sketch in hexadecimal, time it was last seen.
type Row<'a> = (String, &'a str, &'a str, u64, String, i64);

impl LearnedNames {
    /// An empty part.
    ///
    /// `known` are the names known before; of others as many are learned as `most` leaves room for.
    #[must_use]
    pub fn new(known: &[String], most: usize) -> Self {
        let mut sections: [Map<Option<Seen>>; 5] = Default::default();
        for name in known {
            for (section, prefix) in sections.iter_mut().zip(SECTIONS) {
                if let Some(rest) = name.strip_prefix(prefix) {
                    section.insert(rest.into(), None);
                }
            }
        }
        let room = most.saturating_sub(sections.iter().map(Map::len).sum());
        Self { sections, room, events: 0, last_seen_ns: 0, rounds: 0 }
    }

    /// Learns from lines of the log, the oldest first, with a line feed between two. Lines
    /// without an event are skipped.
    pub fn learn(&mut self, lines: &str) {
        self.rounds = self.rounds.saturating_add(1);
        // Newest first, so that the only example of a name is the newest.
        for line in lines.rsplit('\n') {
            if let Ok(line) = serde_json::from_str::<Line<'_>>(line)
                && line.endpoint.0 != LIFT
            {
                self.add(&line);
            }
        }
    }

    /// The memory in bytes, estimated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(Box<str>, Option<Seen>)>();
        let mut bytes: usize = 0;
        for (name, seen) in self.sections.iter().flatten() {
            let held = seen
                .as_ref()
                .map_or(0, |seen| seen.example.len().saturating_add(seen.values.estimated_size()));
            bytes = bytes.saturating_add(entry).saturating_add(name.len()).saturating_add(held);
        }
        bytes
    }

    /// The names that were seen.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.seen().map(|(name, _)| name).collect()
    }

    /// Rows of JSON for a database: name, type, example, events that have it, sketch in hexadecimal,
    /// time it was last seen. The first row has no name and counts the events.
    ///
    /// `stored` are names with sketches learned before. An invalid sketch counts as empty.
    ///
    /// # Errors
    ///
    /// None is expected.
    pub fn rows<'a>(
        &self,
        stored: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<String, serde_json::Error> {
        if self.events == 0 {
            return Ok("[]".to_owned());
        }
        let stored: HashMap<&str, &[u8], RandomState> = stored.into_iter().collect();
        let mut rows: Vec<Row<'_>> =
            vec![(EVENTS.to_owned(), "", "", self.events, String::new(), self.last_seen_ns)];
        for (name, seen) in self.seen() {
            let before = stored.get(name.as_str()).and_then(|bytes| read(bytes));
            let sketch = hexadecimal(
                &before
                    .and_then(|it| merged(&it, &seen.values))
                    .map_or_else(|| seen.values.serialize(), |merged| merged.serialize()),
            );
            rows.push((name, seen.kind, &seen.example, seen.present, sketch, seen.last_seen_ns));
        }
        serde_json::to_string(&rows)
    }

    fn seen(&self) -> impl Iterator<Item = (String, &Seen)> {
        self.sections.iter().zip(SECTIONS).flat_map(|(section, prefix)| {
            section
                .iter()
                .filter_map(move |(name, seen)| Some(([prefix, name].concat(), seen.as_ref()?)))
        })
    }

    fn add(&mut self, line: &Line<'_>) {
        self.events = self.events.saturating_add(1);
        self.last_seen_ns = self.last_seen_ns.max(line.received_at);
        let request = line.event.request.as_ref();
        let sections = [
            line.event.fields.as_ref(),
            request.and_then(|it| it.headers.as_ref()),
            request.and_then(|it| it.query_params.as_ref()),
            request.and_then(|it| it.cookies.as_ref()),
            request.and_then(|it| it.route_params.as_ref()),
        ];
        for (section, members) in sections.into_iter().enumerate() {
            for (name, value) in members.map(|it| it.0.as_slice()).unwrap_or_default() {
                if let Some(value) = Value::of(value)
                    && name.chars().count() <= MAX_NAME_CHARACTERS
                {
                    self.add_value(section, name, &value, line.received_at);
                }
            }
        }
    }

    fn add_value(&mut self, section: usize, name: &str, value: &Value<'_>, received_at: i64) {
        let name = if section == HEADERS && name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
        let Some(names) = self.sections.get_mut(section) else { return };
        let slot = match names.get_mut(&*name) {
            Some(slot) => slot,
            None if self.room == 0 => return,
            None => {
                self.room = self.room.saturating_sub(1);
                names.entry(Box::from(&*name)).or_default()
            }
        };
        if slot.is_none() {
            *slot = Seen::new(value.kind);
        }
        let Some(seen) = slot else { return };
        if seen.round != self.rounds {
            seen.round = self.rounds;
            seen.example = if is_shown(section, &name) { value.example() } else { String::new() };
        }
        // Two spellings of a header are one name of one event.
        if seen.event != self.events {
            seen.event = self.events;
            seen.present = seen.present.saturating_add(1);
        }
        if seen.kind != value.kind {
            seen.kind = "dyn";
        }
        seen.last_seen_ns = seen.last_seen_ns.max(received_at);
        seen.values.update_with_coupon(Coupon::from_value(value.text));
    }
}

impl Seen {
    fn new(kind: &'static str) -> Option<Self> {
        Some(Self {
            kind,
            example: String::new(),
            round: 0,
            present: 0,
            event: 0,
            last_seen_ns: 0,
            values: HllSketch::new(LG_REGISTERS, HllType::Hll6).ok()?,
        })
    }
}

/// The number of different values in a sketch, estimated; None for a text that is not a sketch.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate is no more than 2^64 and not negative"
)]
pub fn distinct(sketch: &[u8]) -> Option<u64> {
    read(sketch).map(|sketch| sketch.estimate().round() as u64)
}

fn read(sketch: &[u8]) -> Option<HllSketch> {
    HllSketch::deserialize(sketch)
        .ok()
        .filter(|it| it.lg_config_k() == LG_REGISTERS && it.target_type() == HllType::Hll6)
}

fn merged(before: &HllSketch, now: &HllSketch) -> Option<HllSketch> {
    let mut union = HllUnion::new(LG_REGISTERS).ok()?;
    union.update(before);
    union.update(now);
    Some(union.to_sketch(HllType::Hll6))
}

fn hexadecimal(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether values of a name may be shown: cookies and bodies may have secrets in any member.
fn is_shown(section: usize, name: &str) -> bool {
    match section {
        COOKIES => false,
        HEADERS => !name.starts_with("cookie") && !name.starts_with("set-cookie"),
        FIELDS => name != "body",
        _ => true,
    }
}

/// A value in the log, which is neither null nor empty.
struct Value<'a> {
    kind: &'static str,
    /// For a string, the text between the quotes. The log writes each value in one way only.
    text: &'a str,
}

impl<'a> Value<'a> {
    fn of(raw: &'a RawValue) -> Option<Self> {
        let text = raw.get();
        let kind = match text.as_bytes().first()? {
            b'"' => {
                let text = text.strip_prefix('"')?.strip_suffix('"')?;
                return (!text.is_empty()).then_some(Self { kind: "string", text });
            }
            b'n' => return None,
            b't' | b'f' => "bool",
            b'[' => "list",
            b'{' => "map",
            _ if text.contains(['.', 'e', 'E']) => "double",
            _ => "int",
        };
        Some(Self { kind, text })
    }

    /// The beginning of the value; empty if a part of it is redacted.
    fn example(&self) -> String {
        let text: Cow<'_, str> = if self.kind == "string" && self.text.contains('\\') {
            let quoted = ["\"", self.text, "\""].concat();
            serde_json::from_str::<String>(&quoted).unwrap_or_default().into()
        } else {
            self.text.into()
        };
        if memmem::find(text.as_bytes(), HASH).is_some() {
            return String::new();
        }
        text.chars().take(MAX_EXAMPLE_CHARACTERS).collect()
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    received_at: i64,
    #[serde(borrow)]
    endpoint: Text<'a>,
    #[serde(borrow)]
    event: Event<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    request: Option<Request<'a>>,
    #[serde(borrow, default)]
    fields: Option<Members<'a>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    headers: Option<Members<'a>>,
    #[serde(borrow, default)]
    query_params: Option<Members<'a>>,
    #[serde(borrow, default)]
    cookies: Option<Members<'a>>,
    #[serde(borrow, default)]
    route_params: Option<Members<'a>>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of an object.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfMembers)
    }
}

struct OfMembers;

impl<'de> Visitor<'de> for OfMembers {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members<'de>, A::Error> {
        let mut found = Vec::new();
        while let Some((Text(name), value)) = members.next_entry()? {
            found.push((name, value));
        }
        Ok(Members(found))
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "tests may"
)]
mod tests;
