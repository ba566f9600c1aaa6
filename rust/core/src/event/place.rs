//! Where a client is, as an event states it or as address databases know it: docs/fields.md,
//! "Country and network". `evaluation/place.py` has the definition.

use std::sync::LazyLock;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use memchr::memchr;

use crate::event::client::{Client, Problem};
use crate::event::encode::{Settings, client};
use crate::event::field::{Member, Section};
use crate::event::layout::Layout;
use crate::event::{Entries, RawEvent, read};
use crate::json::pointer_step;
use crate::json::write::write_string;
use crate::value::error::EventError;

const MEMBERS: [&str; 3] = ["country", "asn", "as_org"];
const COUNTRY_BYTES: usize = 2;
/// Reads all that the address of a client may be in.
static OF_CLIENTS: LazyLock<Layout> = LazyLock::new(|| {
    let mut layout = Layout::new([("request.client_ip", "string")]).unwrap_or_default();
    layout.slot("request.client_ip");
    layout
});

/// Where a client is; empty or 0 where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'p> {
    /// The ISO code of the country.
    pub country: &'p str,
    /// The number of the autonomous system.
    pub asn: u32,
    /// The organization that runs it.
    pub organization: &'p str,
}

impl<'p> Place<'p> {
    /// The place that a checked finding states.
    pub(crate) fn stated(finding: Entries<'p>) -> Self {
        let own = |name| member(finding, name).unwrap_or_default();
        Self {
            country: own("country"),
            asn: own("asn").parse().unwrap_or_default(),
            organization: own("as_org"),
        }
    }

    /// What another place knows next to this.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            country: if self.country.is_empty() { other.country } else { self.country },
            asn: if self.asn == 0 { other.asn } else { self.asn },
            organization: if self.organization.is_empty() {
                other.organization
            } else {
                self.organization
            },
        }
    }
}

/// Whether a text has the form of an ISO code of a country; some databases have others, as `T1`.
pub(crate) fn is_country(text: &str) -> bool {
    text.len() == COUNTRY_BYTES
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Rejects a finding that can't be used.
pub(crate) fn check_finding(finding: Entries<'_>) -> Result<(), EventError> {
    if let Some((name, _)) = finding.iter().find(|(name, _)| !MEMBERS.contains(name)) {
        let known = MEMBERS.join("`, `");
        return refused(format!("`geo` has no such member; its members are `{known}`"), name);
    }
    let country = member(finding, "country").unwrap_or_default();
    if !country.is_empty() && !is_country(country) {
        return refused("must be a country code of two capitals, as `NL`".to_owned(), "country");
    }
    let asn = member(finding, "asn").unwrap_or_default();
    let is_number = asn.bytes().all(|byte| byte.is_ascii_digit());
    if !asn.is_empty() && (!is_number || asn.parse::<u32>().is_err()) {
        return refused("must be a whole number from 0 to 4294967295".to_owned(), "asn");
    }
    Ok(())
}

fn member<'a>(finding: Entries<'a>, name: &str) -> Option<&'a str> {
    finding.iter().find(|(each, _)| *each == name).map(|(_, text)| *text)
}

#[cold]
fn refused(message: String, member: &str) -> Result<(), EventError> {
    let pointer = format!("/geo{}", pointer_step(member));
    Err(EventError { message, pointer, offset: None, is_unreadable: false })
}

/// Looks up where the client of an event is, and states it in the event; `None` if the event states
/// it already, if nothing is known, or if the event would exceed its limits.
///
/// # Arguments
/// * `body` - the text of the event.
/// * `event` - the event, as it was read of the text by the layout.
/// * `settings` - with the databases.
///
/// # Returns
/// The text with the finding as its first member; all else stays as it was sent.
pub fn locate<'a>(
    body: &'a [u8],
    event: &mut RawEvent<'a>,
    layout: &Layout,
    settings: Settings<'_>,
    arena: &'a Bump,
) -> Option<&'a [u8]> {
    let (databases, limits) = (settings.databases?, settings.limits);
    let is_full = event.member_count >= limits.event_members;
    let declares = |name| layout.declares_variable(name);
    if event.states_place || is_full || declares("geo") || declares("request") {
        return None;
    }
    let Client::Known(address) = client_of(body, event, layout, settings, arena) else {
        return None;
    };
    let place = databases.find(address);
    if place == Place::default() {
        return None;
    }
    let (stated, entries) = stated(place, arena);
    let start = memchr(b'{', body)?.checked_add(1)?;
    let (before, after) = body.split_at_checked(start)?;
    let length = body.len().checked_add(stated.len())?;
    if length > limits.event_bytes {
        return None;
    }
    let mut located = ArenaVec::with_capacity_in(length, arena);
    for part in [before, stated.as_bytes(), after] {
        located.extend_from_slice_copy(part);
    }
    event.set_section(Section::Geo, entries);
    Some(located.into_bump_slice())
}

/// The finding as the first member of an event, and as it is read.
fn stated<'a>(place: Place<'_>, arena: &'a Bump) -> (String, Entries<'a>) {
    let number = if place.asn == 0 { String::new() } else { place.asn.to_string() };
    let mut entries = ArenaVec::with_capacity_in(MEMBERS.len(), arena);
    let mut text = "\"geo\":{".to_owned();
    for (name, value) in MEMBERS.into_iter().zip([place.country, &number, place.organization]) {
        if value.is_empty() {
            continue;
        }
        if !entries.is_empty() {
            text.push(',');
        }
        write_string(&mut text, name);
        text.push(':');
        if name == "asn" {
            text.push_str(value);
        } else {
            write_string(&mut text, value);
        }
        entries.push((name, &*arena.alloc_str(value)));
    }
    text.push_str("},");
    (text, entries.into_bump_slice())
}

/// The client, whose address may be in a header that no program reads.
fn client_of<'a>(
    body: &'a [u8],
    event: &RawEvent<'a>,
    layout: &Layout,
    settings: Settings<'_>,
    arena: &'a Bump,
) -> Client {
    let is_read = layout.reads_section(Section::Headers);
    if is_read || event.member(Member::ClientIp).is_some() {
        return client(event, arena, settings);
    }
    match read(body, &OF_CLIENTS, arena, settings.limits) {
        Ok(event) => client(&event, arena, settings),
        Err(_) => Client::Unknown(Problem::Absent),
    }
}

#[cfg(test)]
mod tests;
