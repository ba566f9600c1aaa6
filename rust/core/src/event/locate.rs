//! States in an event where its client is, as far as address databases know.

use std::sync::LazyLock;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use memchr::memchr;

use crate::event::client::place::{MEMBERS, Place};
use crate::event::client::{Client, Problem};
use crate::event::encode::{Settings, client};
use crate::event::field::{Member, Section};
use crate::event::layout::Layout;
use crate::event::{Entries, RawEvent, read};
use crate::json::write::write_string;

/// Reads all that the address of a client may be in.
static OF_CLIENTS: LazyLock<Layout> = LazyLock::new(|| {
    let mut layout = Layout::new([("request.client_ip", "string")]).unwrap_or_default();
    layout.slot("request.client_ip");
    layout
});

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
