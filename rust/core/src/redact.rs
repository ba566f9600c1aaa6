//! What may be kept of an event: secrets replaced by keyed hashes (docs/fields.md,
//! "What is kept of an event").

use std::ops::Range;

use bumpalo::Bump;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::EventError;
use crate::event::check_length;
use crate::json::{Kind, Reader, Result};
use crate::key::write_string;
use crate::limits::Limits;
use crate::wire::push_hash;

mod names;

use names::NamePatterns;
pub use names::PatternsError;

/// Replaces secrets by hashes that only the holder of the key can make.
pub struct Redactor {
    names: NamePatterns,
    mac: Hmac<Sha256>,
    limits: Limits,
}

impl Redactor {
    /// A redactor of members whose names match a pattern.
    ///
    /// # Errors
    /// The patterns are too large together.
    pub fn new(patterns: &[String], key: &[u8]) -> std::result::Result<Self, PatternsError> {
        let names = NamePatterns::new(patterns)?;
        let mac = Hmac::new_from_slice(key).map_err(|error| PatternsError(error.to_string()))?;
        Ok(Self { names, mac, limits: Limits::default() })
    }

    /// The event without its secrets, as compact JSON.
    ///
    /// # Errors
    /// The body is no strict JSON object within the limits of an event.
    pub fn redact(&self, body: &[u8]) -> std::result::Result<String, EventError> {
        let mut out = String::with_capacity(body.len().saturating_add(128));
        self.redact_into(body, &Bump::with_capacity(4096), &mut out)?;
        Ok(out)
    }

    /// As [`Self::redact`], into an empty text; what a refusal leaves there is of no use.
    pub(crate) fn redact_into(
        &self,
        body: &[u8],
        arena: &Bump,
        out: &mut String,
    ) -> std::result::Result<(), EventError> {
        check_length(body, &self.limits)?;
        let mut reader = Reader::new(body, arena, &self.limits)?;
        if reader.kind()? != Kind::Object {
            return Err(reader.shape_fault("the event must be an object").into());
        }
        let mut again = reader.clone();
        let mut writer = Writer::copying(self, arena, out, reader.text());
        writer.value(&mut reader, Place::Event)?;
        reader.finish()?;
        if !writer.is_copy_of(&reader) {
            out.clear();
            Writer::writing(self, arena, out).value(&mut again, Place::Event)?;
        }
        Ok(())
    }

    /// Appends what stands for a value: the hash of the name, without its case, and
    /// of the text.
    fn write_hash(&self, out: &mut String, name: &str, text: &str) {
        let mut mac = self.mac.clone();
        mac.update(itoa::Buffer::new().format(name.len()).as_bytes());
        mac.update(b":");
        mac.update(name.to_ascii_lowercase().as_bytes());
        mac.update(text.as_bytes());
        out.push_str("hmac:");
        if let Some(shown) = mac.finalize().into_bytes().first_chunk() {
            push_hash(out, shown);
        }
    }
}

/// Where a value stands, which says what its members are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Event,
    Request,
    Headers,
    Fields,
    /// `fields.body`.
    Body,
    /// A text with a query.
    Link,
    /// Members with names of their own.
    Inner,
    /// Inside what is hashed whole.
    Hashed,
}

impl Place {
    /// The place of a member that docs/fields.md names, whose name says nothing about
    /// its value; `None` for any other.
    fn of_known(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Event, "request") => Some(Self::Request),
            (Self::Event, "fields") => Some(Self::Fields),
            (Self::Event, "return_url") | (Self::Request, "path" | "referer") => Some(Self::Link),
            (Self::Request, "headers") => Some(Self::Headers),
            (Self::Event, "source" | "observed_at" | "idempotency_key" | "tenant_id")
            | (
                Self::Request,
                "method" | "scheme" | "host" | "client_ip" | "user_agent" | "content_type"
                | "query_params" | "cookies" | "route_params",
            ) => Some(Self::Inner),
            (Self::Hashed, _) => Some(Self::Hashed),
            _ => None,
        }
    }
}

/// Whether a header is a secret whatever the patterns are: it holds cookies of any name.
fn holds_cookies(header: &str) -> bool {
    header.eq_ignore_ascii_case("cookie") || header.eq_ignore_ascii_case("set-cookie")
}

/// The event written anew.
struct Writer<'r, 'a, 'o> {
    redactor: &'r Redactor,
    arena: &'a Bump,
    out: &'o mut String,
    /// A text without space, nearly all of which is copied in large pieces; `None` when each
    /// part is written for itself.
    source: Option<&'a str>,
    /// Bytes of the source that are in the output.
    copied: usize,
    /// Strings with an escape that are written anew.
    unescaped: usize,
    has_redacted: bool,
}

impl<'r, 'a, 'o> Writer<'r, 'a, 'o> {
    fn writing(redactor: &'r Redactor, arena: &'a Bump, out: &'o mut String) -> Self {
        let source = None;
        Self { redactor, arena, out, source, copied: 0, unescaped: 0, has_redacted: false }
    }

    fn copying(
        redactor: &'r Redactor,
        arena: &'a Bump,
        out: &'o mut String,
        source: &'a str,
    ) -> Self {
        Self { source: Some(source), ..Self::writing(redactor, arena, out) }
    }

    /// Copies the rest of what was read, if it may be copied: there is no space in it, nor an
    /// escape in a name, which others would write in another way.
    fn is_copy_of(&mut self, reader: &Reader<'a>) -> bool {
        let is_copy = !reader.has_space() && reader.escaped() == self.unescaped;
        if is_copy {
            let rest = reader.text().get(self.copied..).unwrap_or_default();
            self.out.push_str(rest);
        }
        is_copy
    }

    fn value(&mut self, reader: &mut Reader<'a>, place: Place) -> Result<()> {
        match reader.kind()? {
            Kind::String => self.string(reader, place)?,
            Kind::Number => {
                let number = reader.number()?;
                self.put(number);
            }
            Kind::Bool => {
                let word = if reader.boolean()? { "true" } else { "false" };
                self.put(word);
            }
            Kind::Null => {
                reader.null()?;
                self.put("null");
            }
            Kind::Array => {
                self.put("[");
                reader.array(|reader, index| {
                    self.separate(index);
                    self.value(reader, place)
                })?;
                self.put("]");
            }
            Kind::Object => {
                self.put("{");
                let mut count: usize = 0;
                reader.object(|reader, name| {
                    self.separate(count);
                    count = count.saturating_add(1);
                    self.member(reader, name, place)
                })?;
                self.put("}");
            }
        }
        Ok(())
    }

    /// Writes what stands in the source as it is.
    fn put(&mut self, text: &str) {
        if self.source.is_none() {
            self.out.push_str(text);
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.put(",");
        }
    }

    /// Writes something in place of a part of the source.
    fn replace(&mut self, part: Range<usize>, write: impl FnOnce(&Redactor, &mut String)) {
        if let Some(source) = self.source {
            self.out.push_str(source.get(self.copied..part.start).unwrap_or_default());
            self.copied = part.end;
        }
        write(self.redactor, self.out);
    }

    fn member(&mut self, reader: &mut Reader<'a>, name: &str, place: Place) -> Result<()> {
        if self.source.is_none() {
            write_string(self.out, name);
            self.out.push(':');
        }
        if let Some(place) = place.of_known(name) {
            return self.value(reader, place);
        }
        if (place == Place::Headers && holds_cookies(name)) || self.redactor.names.matches(name) {
            return self.secret(reader, name);
        }
        self.value(
            reader,
            match place {
                Place::Headers if name.eq_ignore_ascii_case("referer") => Place::Link,
                Place::Fields if name == "body" => Place::Body,
                _ => Place::Inner,
            },
        )
    }

    /// Writes the hash of a value that is not null.
    fn secret(&mut self, reader: &mut Reader<'a>, name: &str) -> Result<()> {
        let (start, escaped) = (reader.offset(), reader.escaped());
        let text = match reader.kind()? {
            Kind::Null => return self.value(reader, Place::Hashed),
            Kind::String => reader.string()?,
            _ => {
                let mut text = String::new();
                let mut whole = Writer::writing(self.redactor, self.arena, &mut text);
                whole.value(reader, Place::Hashed)?;
                self.arena.alloc_str(&text)
            }
        };
        self.note_escapes(escaped, reader);
        self.replace(start..reader.offset(), |redactor, out| {
            out.push('"');
            redactor.write_hash(out, name, text);
            out.push('"');
        });
        self.has_redacted = true;
        Ok(())
    }

    fn string(&mut self, reader: &mut Reader<'a>, place: Place) -> Result<()> {
        let (start, escaped) = (reader.offset(), reader.escaped());
        let text = reader.string()?;
        let redacted = match place {
            Place::Link => text.find(['?', '#']).and_then(|end| self.pairs(text, end)),
            Place::Body => self.body(text),
            _ => None,
        };
        let is_copied = self.source.is_some() && reader.escaped() == escaped;
        if !is_copied || redacted.is_some() {
            self.note_escapes(escaped, reader);
            let text = redacted.as_deref().unwrap_or(text);
            self.replace(start..reader.offset(), |_, out| write_string(out, text));
        }
        Ok(())
    }

    /// The strings with an escape since there were so many are written anew.
    fn note_escapes(&mut self, before: usize, reader: &Reader<'a>) {
        self.unescaped = self.unescaped.wrapping_add(reader.escaped().wrapping_sub(before));
    }

    /// A text that is JSON, or else pairs of names and values; `None` when it has no
    /// secret.
    fn body(&mut self, text: &'a str) -> Option<String> {
        self.structured(text).unwrap_or_else(|| self.pairs(text, 0))
    }

    /// A text that is a JSON object or array; the outer `None` when it is none.
    fn structured(&mut self, text: &'a str) -> Option<Option<String>> {
        let mut reader = Reader::over(text, self.arena, &self.redactor.limits);
        if !matches!(reader.kind().ok()?, Kind::Object | Kind::Array) {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut inner = Writer::writing(self.redactor, self.arena, &mut out);
        inner.value(&mut reader, Place::Inner).ok()?;
        reader.finish().ok()?;
        let has_redacted = inner.has_redacted;
        self.has_redacted |= has_redacted;
        Some(has_redacted.then_some(out))
    }

    /// A text whose part from `start` is names and values as of a query; `None` when it
    /// has no secret.
    fn pairs(&mut self, text: &str, start: usize) -> Option<String> {
        let (before, query) = text.split_at_checked(start)?;
        let mut out = String::new();
        for pair in query.split_inclusive(['?', '#', '&', ';']) {
            let (pair, end) = match pair.char_indices().next_back() {
                Some((place, '?' | '#' | '&' | ';')) => pair.split_at_checked(place)?,
                _ => (pair, ""),
            };
            let secret = pair.split_once('=').filter(|(name, _)| self.redactor.names.matches(name));
            match secret {
                Some((name, value)) => {
                    out.push_str(name);
                    out.push('=');
                    self.redactor.write_hash(&mut out, name, value);
                    self.has_redacted = true;
                }
                None => out.push_str(pair),
            }
            out.push_str(end);
        }
        (out != query).then(|| format!("{before}{out}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(body: &str) -> String {
        let redactor = Redactor::new(&["*pass*".to_owned()], b"key").unwrap();
        redactor.redact(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_secret_is_its_hash_and_the_rest_stays() {
        // HMAC-SHA-256 of `8:passwordx` under `key`.
        let hash = "hmac:6bfda456cb57d75a11ec2f605d879057";
        assert_eq!(
            redacted(r#" {"fields":{"Password": "x", "n" : 1.50, "t": "\u00e9\n"}} "#),
            format!(r#"{{"fields":{{"Password":"{hash}","n":1.50,"t":"é\n"}}}}"#)
        );
        let link = format!("/?a=1&password={hash}#x");
        let body = r#"{"request":{"path":"/?a=1&password=x#x"}}"#;
        assert!(redacted(body).contains(&link));
    }

    #[test]
    fn nothing_is_kept_of_what_is_no_event() {
        let redactor = Redactor::new(&[], b"").unwrap();
        for body in [&b"[]"[..], b"{", b"{\"a\":1,\"a\":2}", &[b' '; 65_537]] {
            assert!(redactor.redact(body).is_err());
        }
    }
}
