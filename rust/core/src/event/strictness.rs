//! The strictness of an engine beyond an event's form: docs/fields.md, "What is refused".

use crate::event::{RawEvent, UnknownMember};
use crate::json::pointer_step;
use crate::value::error::EventError;

/// The events that an engine accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every event: a service decides again on recorded events as they are.
    #[default]
    Any,
    /// Events with something in `request` or `fields`; unknown members are left out.
    WithContent,
    /// The same, without unknown members at the top.
    Strict,
}

impl Strictness {
    /// The strictness of a name, `None` when there is none.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "any" => Some(Self::Any),
            "lenient" => Some(Self::WithContent),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// Why an event is not decided on, `None` when it is.
    pub fn refusal(self, event: &RawEvent<'_>) -> Option<EventError> {
        match event.unknown {
            Some(unknown) if self == Self::Strict => Some(no_such_member(unknown)),
            _ if self != Self::Any && !event.has_content => Some(empty()),
            _ if self != Self::Any => return_url_refusal(event),
            _ => None,
        }
    }
}

/// Why nobody can be sent back to the `return_url` of an event, `None` when somebody can, or when
/// there is none.
pub fn return_url_refusal(event: &RawEvent<'_>) -> Option<EventError> {
    match event.return_url {
        Some(url) if !is_return_url(url) => Some(no_return_url()),
        _ => None,
    }
}

/// Whether a text is an absolute http or https URL, or empty, which stands for none. The rest after
/// the host is the visitor's request: it may hold anything, since an attack is to be decided.
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
    EventError { message, pointer: "/return_url".to_owned(), offset: None }
}

#[cold]
fn no_such_member(UnknownMember { name, offset }: UnknownMember<'_>) -> EventError {
    let message = "an event has no such member; its members are `request`, `fields`, `source`, \
        `observed_at`, `return_url`, `idempotency_key` and `tenant_id`";
    EventError { message: message.to_owned(), pointer: pointer_step(name), offset }
}

#[cold]
fn empty() -> EventError {
    let message = "`request` or `fields` must hold something".to_owned();
    EventError { message, pointer: String::new(), offset: None }
}

#[cfg(test)]
mod tests;
