//! What an engine asks of an event beyond its form: docs/fields.md, "What is refused".

use crate::event::{RawEvent, UnknownMember};
use crate::json::pointer_step;
use crate::value::error::EventError;

/// Which events an engine decides on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every event: what a service has recorded is decided on again as it is.
    #[default]
    Any,
    /// Those with something in `request` or `fields`; unknown members are kept out.
    WithContent,
    /// Of these, those without unknown members at their top.
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
            _ => None,
        }
    }
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
mod tests {
    use super::*;

    #[test]
    fn each_strictness_asks_for_what_it_says() {
        let unknown = Some(UnknownMember { name: "a/b", offset: Some(7) });
        let event = |unknown, has_content| {
            let mut event = RawEvent::default();
            (event.unknown, event.has_content) = (unknown, has_content);
            event
        };
        for (name, of_unknown, of_empty) in
            [("any", true, true), ("lenient", true, false), ("strict", false, false)]
        {
            let strictness = Strictness::named(name).unwrap();
            assert_eq!(strictness.refusal(&event(unknown, true)).is_none(), of_unknown, "{name}");
            assert_eq!(strictness.refusal(&event(None, false)).is_none(), of_empty, "{name}");
            assert_eq!(strictness.refusal(&event(None, true)), None, "{name}");
        }
        let refused = Strictness::Strict.refusal(&event(unknown, false)).unwrap();
        assert_eq!((&*refused.pointer, refused.offset), ("/a~1b", Some(7)));
        assert_eq!(Strictness::named("other"), None);
    }
}
