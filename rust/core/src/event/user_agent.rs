//! Families of browser, system and device, by ua-parser's data.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use serde::Deserialize;
use ua_parser::{Extractor, Regexes};

use crate::value::address::{Network, NetworkSet};

/// The family of a user agent that the data does not know.
pub const UNKNOWN_FAMILY: &str = "Other";

/// The device family of crawlers and other robots.
pub const ROBOT_DEVICE: &str = "Spider";

/// A user agent is read up to this length; honest ones are shorter.
const MAX_BYTES: usize = 1_024;

/// Parts of the cache with separate locks.
const SHARDS: usize = 16;

/// User agents in one generation of a shard: 16,384 in all, which is 16 MiB at
/// the longest. Nearly all traffic repeats far fewer.
const GENERATION: usize = 512;

/// The browser, system and device of a user agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Families {
    pub browser: String,
    pub system: String,
    pub device: String,
    /// The place of the agent in the registry, if the user agent has the name of one.
    agent: Option<usize>,
}

/// An agent of the registry: `tidegate/evaluation/agents/registry.py`.
#[derive(Debug, Deserialize)]
pub(crate) struct KnownAgent {
    /// A word of the user agent, in ASCII lower case.
    word: String,
    pub(crate) family: String,
    #[serde(default)]
    pub(crate) operator: String,
    #[serde(default)]
    pub(crate) purpose: String,
    /// The name of its published addresses; empty if it has none.
    #[serde(default)]
    ranges: String,
}

/// An agent whose name a user agent has, with its published addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed<'d> {
    pub(crate) agent: &'d KnownAgent,
    pub(crate) ranges: Option<&'d NetworkSet>,
}

#[derive(Deserialize)]
struct Registry {
    #[serde(default)]
    known_agents: Vec<KnownAgent>,
    #[serde(default)]
    ranges: HashMap<String, Vec<String>>,
}

/// The compiled data and a cache of recent answers: a search takes some twenty microseconds, a
/// cached answer a few hundredths of that.
pub struct UserAgents {
    extractor: Extractor<'static>,
    known: Vec<KnownAgent>,
    ranges: HashMap<String, NetworkSet>,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

impl fmt::Debug for UserAgents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UserAgents").finish_non_exhaustive()
    }
}

/// Data that is not ua-parser's.
#[derive(Debug)]
pub struct BadUserAgentData(String);

impl fmt::Display for BadUserAgentData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not ua-parser's data: {}", self.0)
    }
}

impl std::error::Error for BadUserAgentData {}

impl UserAgents {
    /// Compiles the data, given as JSON with the names of ua-parser's `regexes.yaml`, and with
    /// `known_agents` and `ranges` for the registry of agents.
    ///
    /// # Errors
    /// [`BadUserAgentData`] for JSON of another shape, or a pattern that does not compile.
    pub fn new(json: &[u8]) -> Result<Self, BadUserAgentData> {
        let mut regexes: Regexes<'static> = Regexes::deserialize(&mut from_slice(json))
            .map_err(|error| BadUserAgentData(error.to_string()))?;
        let browsers = regexes.user_agent_parsers.iter_mut().map(|parser| &mut parser.regex);
        let systems = regexes.os_parsers.iter_mut().map(|parser| &mut parser.regex);
        let devices = regexes.device_parsers.iter_mut().map(|parser| &mut parser.regex);
        for regex in browsers.chain(systems).chain(devices) {
            *regex = Cow::Owned(keep_bounds(regex));
        }
        let extractor =
            Extractor::try_from(regexes).map_err(|error| BadUserAgentData(error.to_string()))?;
        let registry: Registry =
            serde_json::from_slice(json).map_err(|error| BadUserAgentData(error.to_string()))?;
        let mut ranges = HashMap::new();
        for (name, texts) in registry.ranges {
            let networks = texts.iter().map(|text| Network::parse_entry(text));
            let networks = networks.collect::<Option<NetworkSet>>();
            let networks = networks.ok_or_else(|| BadUserAgentData(format!("ranges of {name}")))?;
            ranges.insert(name, networks);
        }
        Ok(Self {
            extractor,
            known: registry.known_agents,
            ranges,
            hasher: RandomState::default(),
            shards: Default::default(),
        })
    }

    /// The agent that a user agent names, by its families.
    pub(crate) fn claimed(&self, families: &Families) -> Option<Claimed<'_>> {
        let agent = self.known.get(families.agent?)?;
        Some(Claimed { agent, ranges: self.ranges.get(&agent.ranges) })
    }

    /// The families of a user agent.
    pub fn families(&self, user_agent: &str) -> Arc<Families> {
        let user_agent = readable(user_agent);
        let hash = usize::from(self.hasher.hash_one(&*user_agent).to_le_bytes()[0]);
        let Some(shard) = self.shards.get(hash % SHARDS) else {
            return Arc::new(self.search(&user_agent));
        };
        // A thread that panicked while it held the lock left a usable cache.
        let known = shard.lock().unwrap_or_else(PoisonError::into_inner).recall(&user_agent);
        known.unwrap_or_else(|| {
            let families = Arc::new(self.search(&user_agent));
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.remember(user_agent.into(), Arc::clone(&families));
            families
        })
    }

    fn search(&self, user_agent: &str) -> Families {
        let (browser, system, device) = self.extractor.extract(user_agent);
        let text = |family: Option<&str>| family.unwrap_or(UNKNOWN_FAMILY).to_owned();
        let families = Families {
            browser: text(browser.as_ref().map(|found| &*found.family)),
            system: text(system.as_ref().map(|found| &*found.os)),
            device: text(device.as_ref().map(|found| &*found.device)),
            agent: self.known_agent(user_agent),
        };
        let known = families.agent.and_then(|place| self.known.get(place));
        let robot = match known {
            Some(known) => Some(known.family.clone()),
            None if families.device == ROBOT_DEVICE => {
                self.name_outside_of_contacts(user_agent, &families.browser)
            }
            None => names::robots(user_agent).find_map(|robot| self.confirmed(&robot)),
        };
        match robot {
            Some(browser) => Families { browser, device: ROBOT_DEVICE.to_owned(), ..families },
            None => families,
        }
    }

    /// The place of the first known agent whose word the user agent has.
    fn known_agent(&self, user_agent: &str) -> Option<usize> {
        let folded = user_agent.to_ascii_lowercase();
        self.known.iter().position(|agent| has_word(&folded, &agent.word))
    }

    /// The name of a robot whose family the data took from the address of its page or its mail:
    /// `crawler` for `Name/1.0 (+https://maker.example/crawler)`.
    fn name_outside_of_contacts(&self, user_agent: &str, family: &str) -> Option<String> {
        let rest = names::without_contacts(user_agent);
        if !user_agent.contains(family) || rest.contains(family) {
            return None;
        }
        let (browser, _, _) = self.extractor.extract(&rest);
        let found = browser.map(|found| found.family.into_owned());
        found.or_else(|| names::robot_or_first(&rest))
    }

    /// The family of a name in the user agent of a phone or browser, where it is a robot's.
    fn confirmed(&self, robot: &names::Robot<'_>) -> Option<String> {
        let (browser, _, device) = self.extractor.extract(&robot.product);
        let is_robot =
            robot.has_contact || device.is_some_and(|found| found.device == ROBOT_DEVICE);
        is_robot.then(|| {
            browser.map_or_else(|| robot.name.to_owned(), |found| found.family.into_owned())
        })
    }
}

/// Whether a text has a word with no letter, digit or `_` next to it. A robot that is `like
/// Googlebot` doesn't say that it is Googlebot.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let ahead = text.get(..at).unwrap_or_default();
        let before = ahead.chars().next_back();
        let end = at.saturating_add(word.len());
        let after = text.get(end..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part) && !ahead.ends_with("like ")
    })
}

fn from_slice(json: &[u8]) -> serde_json::Deserializer<serde_json::de::SliceRead<'_>> {
    serde_json::Deserializer::from_slice(json)
}

type Generation = HashMap<Box<str>, Arc<Families>, RandomState>;

/// Two generations of answers: a full young one becomes the old one, so that frequent answers stay.
#[derive(Default)]
struct Shard {
    young: Generation,
    old: Generation,
}

impl Shard {
    fn recall(&mut self, user_agent: &str) -> Option<Arc<Families>> {
        if let Some(families) = self.young.get(user_agent) {
            return Some(Arc::clone(families));
        }
        let (user_agent, families) = self.old.remove_entry(user_agent)?;
        self.remember(user_agent, Arc::clone(&families));
        Some(families)
    }

    fn remember(&mut self, user_agent: Box<str>, families: Arc<Families>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(user_agent, families);
    }
}

/// The part that is read. Characters beyond ASCII count as U+FFFD: engines differ
/// in which of them are letters, digits or spaces.
fn readable(user_agent: &str) -> Cow<'_, str> {
    let mut ends = (0..=user_agent.len().min(MAX_BYTES)).rev();
    let read = ends.find_map(|end| user_agent.get(..end)).unwrap_or_default();
    if read.is_ascii() {
        return Cow::Borrowed(read);
    }
    let replaced = |letter: char| if letter.is_ascii() { letter } else { '\u{fffd}' };
    Cow::Owned(read.chars().map(replaced).collect())
}

/// Writes `{0,N}` as `{00,N}`, and `{1,N}` likewise: it means the same, but the
/// crate would read the first spelling as `*` and find more than the data says.
fn keep_bounds(regex: &str) -> String {
    let mut kept = String::with_capacity(regex.len());
    let mut is_escaped = false;
    let mut letters = regex.chars().peekable();
    while let Some(letter) = letters.next() {
        kept.push(letter);
        if letter == '{' && !is_escaped && letters.peek().is_some_and(char::is_ascii_digit) {
            kept.push('0');
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    kept
}

mod names;
#[cfg(test)]
mod tests;
