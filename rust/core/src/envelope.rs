//! What a service asks of an event before it is decided on: the key that makes it
//! idempotent, and whose it says it is.

use bumpalo::Bump;

use crate::error::EventError;
use crate::event;
use crate::field::Member;
use crate::limits::Limits;
use crate::record::Layout;

/// The members of an event that are about it, not about the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    pub idempotency_key: Option<Box<str>>,
    pub tenant_id: Option<Box<str>>,
    pub source: Option<Box<str>>,
    /// Neither `request` nor `fields` has a member that is not null.
    pub is_empty: bool,
}

impl Envelope {
    /// Reads an event as a decision would, to the same refusals.
    ///
    /// # Errors
    /// It is no event.
    pub fn read(body: &[u8], limits: &Limits) -> Result<Self, EventError> {
        let arena = Bump::with_capacity(1024);
        let event = event::read(body, &Layout::default(), &arena, limits)?;
        Ok(Self {
            idempotency_key: event.idempotency_key.map(Into::into),
            tenant_id: event.tenant_id.map(Into::into),
            source: event.member(Member::Source).map(Into::into),
            is_empty: !event.has_content,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_about_the_event_are_taken_out() {
        let read = |body: &str| Envelope::read(body.as_bytes(), &Limits::default());
        let envelope = read(r#"{"idempotency_key":"k","source":"s","request":{"path":null}}"#);
        let expected = Envelope {
            idempotency_key: Some("k".into()),
            tenant_id: None,
            source: Some("s".into()),
            is_empty: true,
        };
        assert_eq!(envelope, Ok(expected));
        assert!(!read(r#"{"fields":{"a":""}}"#).unwrap().is_empty);
        assert_eq!(read(r#"{"tenant_id":1}"#).unwrap_err().pointer, "/tenant_id");
    }
}
