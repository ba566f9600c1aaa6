//! The strictness of an engine beyond an event's form: docs/fields.md, "What is refused".

use crate::event::field::{Member, Section};
use crate::event::{RawEvent, UnknownMember};
use crate::json::pointer_step;
use crate::value::error::EventError;

/// The members of an event.
const MEMBERS: [&str; 9] = [
    "request",
    "fields",
    "source",
    "observed_at",
    "return_url",
    "idempotency_key",
    "tenant_id",
    "agent",
    "geo",
];
/// Letters between a misspelt name and the one that was meant, at most.
const MOST_AWAY: usize = 2;
/// Letters of a name that are compared.
const LONGEST: usize = 64;

/// The events that an engine accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every event, since a service decides again on recorded events.
    #[default]
    Any,
    /// Events with something in `request` or `fields`; unknown members are left out.
    WithContent,
    /// The same, without unknown members of the event and of `request`.
    Strict,
}

impl Strictness {
    /// The strictness with a name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "any" => Some(Self::Any),
            "lenient" => Some(Self::WithContent),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// The reason why an event is rejected; `None` if it is accepted.
    pub fn refusal(self, event: &RawEvent<'_>) -> Option<EventError> {
        match event.unknown {
            Some(unknown) if self == Self::Strict => Some(no_such_member(unknown)),
            _ if self != Self::Any && !event.has_content => Some(empty()),
            _ if self != Self::Any => return_url_refusal(event),
            _ => None,
        }
    }
}

/// Why visitors can't return to the `return_url` of an event; `None` if they can, or if the event
/// has none.
pub fn return_url_refusal(event: &RawEvent<'_>) -> Option<EventError> {
    match event.return_url {
        Some(url) if !is_return_url(url) => Some(no_return_url()),
        _ => None,
    }
}

/// Whether a text is an absolute http or https URL, or empty, which means none. The part after the
/// host is the visitor's request, which may hold anything, since attacks must be decided too.
fn is_return_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return text.is_empty() };
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && !host.is_empty()
        && !host.bytes().any(|byte| byte <= b' ' || byte == 0x7f)
}

#[cold]
fn no_return_url() -> EventError {
    let message = "must be an absolute http or https URL".to_owned();
    EventError { message, pointer: "/return_url".to_owned(), offset: None, is_unreadable: false }
}

#[cold]
fn no_such_member(unknown: UnknownMember<'_>) -> EventError {
    let UnknownMember { is_of_request, name, offset } = unknown;
    let pointer = if is_of_request { "/request".to_owned() } else { String::new() };
    let (whole, known) = if is_of_request {
        let texts = Member::OF_REQUEST.iter().map(|(_, name)| *name);
        let maps = Section::OF_REQUEST.iter().map(|section| section.member());
        ("`request`", texts.chain(maps).collect())
    } else {
        ("an event", MEMBERS.to_vec())
    };
    let hint = match nearest(name, &known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("its members are {}", listed(&known)),
    };
    EventError {
        message: format!("{whole} has no such member; {hint}"),
        pointer: pointer + &pointer_step(name),
        offset,
        is_unreadable: false,
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [first @ .., last] => format!("`{}` and `{last}`", first.join("`, `")),
        [] => String::new(),
    }
}

/// The known name that a misspelt one most likely means: at most two letters away, ignoring case
/// and the separators between words.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let folded = folded(name);
    let near = known.iter().map(|each| (distance(&folded, &self::folded(each)), *each));
    let (away, nearest) = near.min_by_key(|(away, _)| *away)?;
    (away <= MOST_AWAY && away < folded.len()).then_some(nearest)
}

fn folded(name: &str) -> Vec<u8> {
    let signs = |byte: &u8| !matches!(byte, b'_' | b'-');
    name.bytes().take(LONGEST).filter(signs).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The letters to insert, leave out or replace on the way from one text to another.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (number, letter) in from.iter().enumerate() {
        let (mut diagonal, mut left) = (number, number.saturating_add(1));
        let mut next = vec![left];
        for (other, above) in to.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal.saturating_add(usize::from(letter != other));
            left = replaced.min(above.min(&left).saturating_add(1));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cold]
fn empty() -> EventError {
    let message = "`request` or `fields` must hold something".to_owned();
    EventError { message, pointer: String::new(), offset: None, is_unreadable: false }
}

#[cfg(test)]
mod tests;
