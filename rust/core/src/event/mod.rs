//! An event as it was received, before any field is computed.

pub mod agent;
pub mod arena;
pub mod client;
pub mod encode;
pub mod field;
pub mod headers;
pub mod layout;
pub mod locate;
pub mod path;
pub mod prepared;
pub mod record;
pub(crate) mod sample;
pub mod strictness;
pub mod user_agent;
pub mod variable;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

use crate::event::field::{Member, Section};
use crate::event::layout::{KeySlot, Layout};
use crate::json::{self, Fault, FaultKind, Kind, Reader, Result};
use crate::text::ascii_case::has_upper;
use crate::value::error::EventError;
use crate::value::limits::Limits;
use crate::value::time::parse_moment;
use crate::value::{Timestamp, Value};

/// Bytes of an arena that are enough for most events until they are decided on.
pub const ARENA_BYTES: usize = 16 * 1024;

/// The entries of one of the event's maps, in order, each name once.
pub type Entries<'a> = &'a [(&'a str, &'a str)];

/// The content of `fields.body`.
#[derive(Clone, Debug)]
pub enum RawBody<'a> {
    /// Text, which may be JSON.
    Text(&'a str),
    Value(Value<'a>),
    /// An object or array with a number that isn't a double, or with a value that isn't of JSON.
    Unread,
}

/// The member of an event that holds a declared variable.
#[derive(Clone, Debug)]
pub struct RawVariable<'a> {
    pub name: &'a str,
    pub value: Value<'a>,
    /// JSON pointer to the value.
    pub pointer: String,
}

/// A member of the event that has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMember<'a> {
    /// Whether it is a member of `request`.
    pub is_of_request: bool,
    pub name: &'a str,
    /// The offset of its value in the text, if the event is text.
    pub offset: Option<usize>,
}

/// The members of an event that fields are computed from; text is borrowed.
#[derive(Clone, Debug, Default)]
pub struct RawEvent<'a> {
    members: [Option<&'a str>; Member::COUNT],
    sections: [Entries<'a>; Section::COUNT],
    /// The values of names that have several.
    several: Vec<(Section, &'a str, &'a [&'a str])>,
    pub observed_at: Option<Timestamp>,
    /// The URL to which a challenge leads back.
    pub return_url: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub tenant_id: Option<&'a str>,
    /// Whether `request` or `fields` has a member that is not null.
    pub has_content: bool,
    /// Whether it has the member `geo`, so that nobody looks up where its client is.
    pub states_place: bool,
    /// Members of the event itself, if it is text.
    pub member_count: usize,
    /// The first member of the event or of `request` that is neither in docs/fields.md nor a declared
    /// variable.
    pub unknown: Option<UnknownMember<'a>>,
    pub body: Option<RawBody<'a>>,
    /// The values of the declared variables that some program reads, not yet
    /// converted to their types.
    pub variables: Vec<RawVariable<'a>>,
    /// The values under the literal keys that some program reads, by slot. `None` if reading did
    /// not take them out, or if the names of headers are not folded yet.
    keys: Option<&'a [Option<&'a str>]>,
}

impl<'a> RawEvent<'a> {
    /// The text of a member, `None` when it is absent.
    pub fn member(&self, member: Member) -> Option<&'a str> {
        self.members.get(member.index()).copied().flatten()
    }

    pub fn set_member(&mut self, member: Member, text: Option<&'a str>) {
        if let Some(place) = self.members.get_mut(member.index()) {
            *place = text;
        }
    }

    /// The entries of a map, none when it is absent or not read by any program.
    pub fn section(&self, section: Section) -> Entries<'a> {
        self.sections.get(section.index()).copied().unwrap_or_default()
    }

    pub fn set_section(&mut self, section: Section, entries: Entries<'a>) {
        if let Some(place) = self.sections.get_mut(section.index()) {
            *place = entries;
        }
    }

    /// The text of several values under one name, `None` without one. All that a client sends are
    /// joined, as the values of a header are: the back end chooses among them.
    pub fn join(
        &mut self,
        (section, name): (Section, &'a str),
        texts: &'a [&'a str],
        arena: &'a Bump,
    ) -> Option<&'a str> {
        if let [] | [_] = texts {
            return texts.first().copied();
        }
        self.several.push((section, name, texts));
        Some(arena.alloc_str(&texts.join(", ")))
    }

    /// The names of a map that have several values, with them, in the order of the event.
    pub fn several(&self, section: Section) -> impl Iterator<Item = (&'a str, &'a [&'a str])> {
        let of_section = self.several.iter().filter(move |(each, ..)| *each == section);
        of_section.map(|(_, name, texts)| (*name, *texts))
    }

    /// Whether the request may have parameters that are not in `query_params`.
    fn has_query(&self) -> bool {
        self.section(Section::QueryParams).is_empty()
            && (self.member(Member::Query).is_some()
                || self.member(Member::Path).is_some_and(|path| path.contains('?')))
    }

    /// The values under literal keys by slot, if reading found them all; the names of headers are
    /// in lower case then.
    pub(crate) fn keys(&self) -> Option<&'a [Option<&'a str>]> {
        self.keys
    }
}

/// Reads an event from JSON text, keeping what the layout reads.
///
/// The whole text is checked, and the type of every member that docs/fields.md
/// names, whether it is read or not.
///
/// # Errors
/// The text isn't an event: see docs/fields.md.
pub fn read<'a>(
    bytes: &'a [u8],
    layout: &Layout,
    arena: &'a Bump,
    limits: &Limits,
) -> std::result::Result<RawEvent<'a>, EventError> {
    check_length(bytes, limits)?;
    let keys = arena.alloc_slice_fill_copy(layout.key_count(), None);
    let mut reading = Reading { layout, event: RawEvent::default(), keys, has_capitals: false };
    match reading.all(bytes, arena, limits) {
        Ok(()) => Ok(reading.event),
        Err(fault) => Err(refusal(fault, bytes, limits)),
    }
}

#[cold]
fn refusal(fault: Box<Fault>, bytes: &[u8], limits: &Limits) -> EventError {
    // A misplaced value may come before a fault of the text, which takes precedence.
    let earlier = match fault.kind {
        FaultKind::Shape => json::check(bytes, limits).err(),
        FaultKind::Text | FaultKind::Limit => None,
    };
    earlier.unwrap_or(fault).into()
}

/// Rejects a text that is too long to be an event.
pub(crate) fn check_length(bytes: &[u8], limits: &Limits) -> std::result::Result<(), EventError> {
    if bytes.len() > limits.event_bytes {
        let message = format!("the event is longer than {} bytes", limits.event_bytes);
        return Err(Fault::new(FaultKind::Limit, message, limits.event_bytes).into());
    }
    Ok(())
}

/// An event that is being read.
struct Reading<'l, 'a> {
    layout: &'l Layout,
    event: RawEvent<'a>,
    /// The values under literal keys that were met, by slot.
    keys: &'a mut [Option<&'a str>],
    /// Whether some header's name was not in lower case.
    has_capitals: bool,
}

impl<'a> Reading<'_, 'a> {
    fn all(&mut self, bytes: &'a [u8], arena: &'a Bump, limits: &Limits) -> Result<()> {
        let mut reader = Reader::over(json::utf8(bytes)?, arena, limits);
        let start = self.layout.reads_variables().then(|| reader.clone());
        expect(&mut reader, Kind::Object, "the event must be an object")?;
        self.members(&mut reader, Self::member)?;
        reader.finish()?;
        let keys = std::mem::take(&mut self.keys);
        let reads_query = self.layout.reads_section(Section::QueryParams) && self.event.has_query();
        self.event.keys = (!self.has_capitals && !reads_query).then_some(keys);
        if let Some(start) = start {
            self.event.variables = read_variables(start, self.layout)?;
        }
        Ok(())
    }

    /// Reads an object by a function for its members. The loop's code exists once: fetching more
    /// code into the cache costs more than a call.
    #[inline(never)]
    fn members(
        &mut self,
        reader: &mut Reader<'a>,
        member: fn(&mut Self, &mut Reader<'a>, &'a str, Option<&'a str>) -> Result<()>,
    ) -> Result<()> {
        reader.texts(|reader, name, text| member(self, reader, name, text))
    }

    fn member(
        &mut self,
        reader: &mut Reader<'a>,
        name: &'a str,
        text: Option<&'a str>,
    ) -> Result<()> {
        self.event.member_count = self.event.member_count.saturating_add(1);
        if self.layout.declares_variable(name) {
            return pass(reader, text);
        }
        match name {
            "source" => {
                let text = optional_text(reader, text)?;
                self.event.set_member(Member::Source, text);
            }
            "return_url" => self.event.return_url = optional_text(reader, text)?,
            "idempotency_key" => self.event.idempotency_key = optional_text(reader, text)?,
            "tenant_id" => self.event.tenant_id = optional_text(reader, text)?,
            "observed_at" => self.event.observed_at = read_observed_at(reader, text)?,
            "request" => return self.request(reader, text),
            "fields" => return self.section(reader, Section::Fields, text),
            "agent" => return self.section(reader, Section::Agent, text),
            "geo" => {
                self.event.states_place = true;
                return self.section(reader, Section::Geo, text);
            }
            _ => return self.unknown(reader, name, text, false),
        }
        Ok(())
    }

    #[cold]
    fn unknown(
        &mut self,
        reader: &mut Reader<'a>,
        name: &'a str,
        text: Option<&'a str>,
        is_of_request: bool,
    ) -> Result<()> {
        if is_of_request && self.layout.declares_of_request(name) {
            return pass(reader, text);
        }
        let offset = match text {
            Some(text) => reader.offset().saturating_sub(text.len().saturating_add(2)),
            None => {
                reader.kind()?;
                reader.offset()
            }
        };
        let found = UnknownMember { is_of_request, name, offset: Some(offset) };
        self.event.unknown.get_or_insert(found);
        pass(reader, text)
    }

    fn request(&mut self, reader: &mut Reader<'a>, text: Option<&'a str>) -> Result<()> {
        if !begins_object(reader, text)? {
            return Ok(());
        }
        self.members(reader, Self::request_member)
    }

    fn request_member(
        &mut self,
        reader: &mut Reader<'a>,
        name: &'a str,
        text: Option<&'a str>,
    ) -> Result<()> {
        self.event.has_content |= text.is_some() || !reader.next_is(b'n');
        let member = match name {
            "method" => Member::Method,
            "protocol" => Member::Protocol,
            "scheme" => Member::Scheme,
            "host" => Member::Host,
            "path" => Member::Path,
            "query" => Member::Query,
            "client_ip" => Member::ClientIp,
            "user_agent" => Member::UserAgent,
            "referer" => Member::Referer,
            "content_type" => Member::ContentType,
            "headers" => return self.section(reader, Section::Headers, text),
            "query_params" => return self.section(reader, Section::QueryParams, text),
            "cookies" => return self.section(reader, Section::Cookies, text),
            "route_params" => return self.section(reader, Section::RouteParams, text),
            _ => return self.unknown(reader, name, text, true),
        };
        let text = optional_text(reader, text)?;
        self.event.set_member(member, text);
        Ok(())
    }

    fn section(
        &mut self,
        reader: &mut Reader<'a>,
        section: Section,
        text: Option<&'a str>,
    ) -> Result<()> {
        if !begins_object(reader, text)? {
            return Ok(());
        }
        let keys = self.layout.keys(section).filter(|_| self.layout.reads_section(section));
        let capacity = if keys.is_some() { 16 } else { 0 };
        let mut entries = ArenaVec::with_capacity_in(capacity, reader.arena());
        let is_fields = section == Section::Fields;
        let reads_body = is_fields && self.layout.reads_body();
        reader.texts(|reader, name, text| {
            let text = match text {
                Some(text) => {
                    self.event.has_content |= is_fields;
                    if reads_body {
                        self.keep_body(name, text);
                    }
                    text
                }
                None => match self.unusual_entry(reader, section, name)? {
                    Some(text) => text,
                    None => return Ok(()),
                },
            };
            let Some(keys) = keys else { return Ok(()) };
            entries.push((name, text));
            match keys.get(name) {
                Some(slot) => self.keep(*slot, text),
                None if section == Section::Headers => {
                    self.has_capitals = self.has_capitals || has_upper(name.as_bytes());
                }
                None => {}
            }
            Ok(())
        })?;
        self.event.set_section(section, entries.into_bump_slice());
        Ok(())
    }

    #[cold]
    fn keep_body(&mut self, name: &str, text: &'a str) {
        if name == "body" {
            self.event.body = Some(RawBody::Text(text));
        }
    }

    /// One value of a map as text, `None` when it counts as absent.
    #[cold]
    fn unusual_entry(
        &mut self,
        reader: &mut Reader<'a>,
        section: Section,
        name: &'a str,
    ) -> Result<Option<&'a str>> {
        let kind = reader.kind()?;
        if section == Section::Fields {
            self.event.has_content |= kind != Kind::Null;
            if name == "body" {
                return self.body(reader, kind);
            }
        }
        self.entry(reader, kind, (section, name))
    }

    /// One value of a map as text, `None` when it counts as absent.
    fn entry(
        &mut self,
        reader: &mut Reader<'a>,
        kind: Kind,
        place: (Section, &'a str),
    ) -> Result<Option<&'a str>> {
        if kind != Kind::Array {
            return read_scalar(reader);
        }
        let arena = reader.arena();
        let mut texts = ArenaVec::new_in(arena);
        reader.array(|reader, _| {
            texts.extend(read_scalar(reader)?);
            Ok(())
        })?;
        Ok(self.event.join(place, texts.into_bump_slice(), arena))
    }

    /// Reads `fields.body`, which is an entry if it isn't structured.
    fn body(&mut self, reader: &mut Reader<'a>, kind: Kind) -> Result<Option<&'a str>> {
        let reads_body = self.layout.reads_body();
        if !matches!(kind, Kind::Object | Kind::Array) {
            let text = self.entry(reader, kind, (Section::Fields, "body"))?;
            if reads_body && kind == Kind::String {
                self.event.body = text.map(RawBody::Text);
            }
            return Ok(text);
        }
        if reads_body {
            let value = reader.value()?;
            let is_read = !reader.is_out_of_range();
            self.event.body = Some(if is_read { RawBody::Value(value) } else { RawBody::Unread });
        } else {
            reader.skip()?;
        }
        Ok(None)
    }

    #[inline]
    fn keep(&mut self, slot: KeySlot, text: &'a str) {
        if let Some(place) = self.keys.get_mut(slot.number() as usize) {
            *place = Some(text);
        }
    }
}

/// The text of a member that is read already, or is text or null.
#[inline]
fn optional_text<'a>(reader: &mut Reader<'a>, text: Option<&'a str>) -> Result<Option<&'a str>> {
    if text.is_some() { Ok(text) } else { unusual_text(reader) }
}

#[cold]
fn unusual_text<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a str>> {
    if reader.kind()? == Kind::Null {
        return reader.null().map(|()| None);
    }
    expect(reader, Kind::String, "must be a string")?;
    reader.string().map(Some)
}

/// Whether a member is an object, which is not read yet; false for null.
#[inline]
fn begins_object(reader: &mut Reader<'_>, text: Option<&str>) -> Result<bool> {
    if text.is_none() && reader.next_is(b'{') { Ok(true) } else { begins_no_object(reader, text) }
}

#[cold]
fn begins_no_object(reader: &mut Reader<'_>, text: Option<&str>) -> Result<bool> {
    const MESSAGE: &str = "must be an object";
    match text {
        Some(text) => Err(reader.text_shape_fault(text, MESSAGE)),
        None if reader.kind()? == Kind::Null => reader.null().map(|()| false),
        None => Err(reader.shape_fault(MESSAGE)),
    }
}

/// Skips a value, which is already read if it is a plain text.
fn pass(reader: &mut Reader<'_>, text: Option<&str>) -> Result<()> {
    if text.is_some() { Ok(()) } else { reader.skip() }
}

/// The error for an unreadable `observed_at`.
pub const NO_MOMENT: &str =
    "must be ISO 8601 text with an offset from UTC, such as `2026-03-02T10:00:00Z`";

fn read_observed_at<'a>(
    reader: &mut Reader<'a>,
    text: Option<&'a str>,
) -> Result<Option<Timestamp>> {
    let offset = reader.offset();
    let read = optional_text(reader, text)?;
    match read.map(parse_moment) {
        Some(Err(_)) => Err(match text {
            Some(text) => reader.text_shape_fault(text, NO_MOMENT),
            None => Fault::new(FaultKind::Shape, NO_MOMENT, offset),
        }),
        Some(Ok(moment)) => Ok(Some(moment)),
        None => Ok(None),
    }
}

fn read_scalar<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a str>> {
    Ok(match reader.kind()? {
        Kind::String => Some(reader.string()?),
        Kind::Number => Some(reader.number()?),
        Kind::Bool => Some(if reader.boolean()? { "true" } else { "false" }),
        Kind::Null => {
            reader.null()?;
            None
        }
        Kind::Array | Kind::Object => {
            return Err(reader.shape_fault("must be a string, a number, a bool or null"));
        }
    })
}

/// The values of the variables that are read.
fn read_variables<'a>(mut reader: Reader<'a>, layout: &Layout) -> Result<Vec<RawVariable<'a>>> {
    let arena = reader.arena();
    let mut members = Vec::new();
    reader.object(|reader, name| {
        if !layout.variables().any(|(variable, _)| variable::may_begin(name, variable)) {
            return reader.skip();
        }
        members.push((name, reader.value()?));
        Ok(())
    })?;
    let variables = layout.variables().filter_map(|(name, variable)| {
        let (value, pointer) = variable::find(&members, name, variable)?;
        Some(RawVariable { name: arena.alloc_str(name), value, pointer })
    });
    Ok(variables.collect())
}

fn expect(reader: &mut Reader<'_>, kind: Kind, message: &str) -> Result<()> {
    if reader.kind()? == kind { Ok(()) } else { Err(reader.shape_fault(message)) }
}

#[cfg(test)]
mod tests;
