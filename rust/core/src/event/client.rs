//! The client of an event: its address, or why it is missing (docs/fields.md, "Addresses").

pub mod geo;
pub mod place;

use crate::value::address::{Address, Network, NetworkSet};

/// Characters around an address that do not belong to it.
const AROUND: [char; 8] = [' ', '\t', '\n', '\r', '\x0b', '\x0c', '"', '\''];
/// Signs in the name of an interface, next to letters and digits.
const ZONE_SIGNS: &[u8] = b"._-~:@";
const MAX_PORT_DIGITS: usize = 5;

/// The client of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Known(Address),
    Unknown(Problem),
}

/// The reason why the client of an event has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The event has neither the member nor the header.
    Absent,
    /// Both are empty.
    Empty,
    NotAnAddress,
    /// Several addresses are given, and no trusted proxies tell which is the client's.
    SeveralAddresses,
    /// Every address is a trusted proxy's.
    OnlyProxies,
}

impl Problem {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Empty => "empty",
            Self::NotAnAddress => "not-an-address",
            Self::SeveralAddresses => "several-addresses",
            Self::OnlyProxies => "only-proxies",
        }
    }

    /// Whether the event names a client, so that its source or a proxy is most likely wrong.
    pub const fn is_noted(self) -> bool {
        !matches!(self, Self::Absent)
    }
}

impl Client {
    /// The client of an event.
    ///
    /// # Arguments
    /// * `member` - `request.client_ip`, if the event has it.
    /// * `chain` - the header `x-forwarded-for`, which counts without the member.
    pub fn of(member: Option<&str>, chain: Option<&str>, trusted_proxies: &NetworkSet) -> Self {
        match (member, chain) {
            (Some(text), _) => Self::of_member(text, trusted_proxies),
            (None, Some(chain)) => nearest(chain.rsplit(','), trusted_proxies),
            (None, None) => Self::Unknown(Problem::Absent),
        }
    }

    pub const fn address(self) -> Option<Address> {
        match self {
            Self::Known(address) => Some(address),
            Self::Unknown(_) => None,
        }
    }

    pub const fn problem(self) -> Option<Problem> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(problem) => Some(problem),
        }
    }

    fn of_member(text: &str, trusted_proxies: &NetworkSet) -> Self {
        if let Some(address) = read(text) {
            return Self::Known(address);
        }
        let entries = || text.rsplit(|each: char| each == ',' || each.is_ascii_whitespace());
        let found = nearest(entries(), trusted_proxies);
        if !trusted_proxies.is_empty() {
            return found;
        }
        match found {
            // The last of several may be a proxy, and blocking it would block everybody behind it.
            Self::Known(last)
                if entries().any(|each| !is_empty(each) && read(each) != Some(last)) =>
            {
                Self::Unknown(Problem::SeveralAddresses)
            }
            found => found,
        }
    }
}

/// The first address of entries, from the last, that is not a trusted proxy's. An entry that is not
/// an address ends the search: the client may have made up the rest.
fn nearest<'t>(entries: impl Iterator<Item = &'t str>, trusted_proxies: &NetworkSet) -> Client {
    let mut problem = Problem::Empty;
    for entry in entries.filter(|entry| !is_empty(entry)) {
        match read(entry) {
            None => return Client::Unknown(Problem::NotAnAddress),
            Some(address) if !trusted_proxies.contains(address) => return Client::Known(address),
            Some(_) => problem = Problem::OnlyProxies,
        }
    }
    Client::Unknown(problem)
}

fn is_empty(entry: &str) -> bool {
    entry.trim_matches(AROUND).is_empty()
}

/// Reads an address as sources write it: blanks and quotes around it, a port, brackets, a zone, the
/// length of the whole address and Java's slash are left out. `None` if the address is ambiguous.
pub fn read(text: &str) -> Option<Address> {
    if let Some(address) = Address::parse_received(text) {
        return Some(address);
    }
    let text = text.trim_matches(AROUND);
    let text = text.strip_prefix('/').unwrap_or(text);
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, after) = rest.split_once(']')?;
        let is_whole = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
        return is_whole.then(|| without_zone(inner)).flatten();
    }
    if text.contains('/') {
        let network = Network::parse_received(text)?;
        return (network.prefix == network.address.bits()).then_some(network.address);
    }
    if let Some(address) = without_zone(text) {
        return Some(address);
    }
    let (address, port) = text.rsplit_once(':')?;
    // Without brackets, the last part of a shortened IPv6 address may be its own or a port.
    let is_certain = address.contains('.') || !address.contains("::");
    (is_certain && is_port(port)).then(|| Address::parse_received(address)).flatten()
}

fn without_zone(text: &str) -> Option<Address> {
    let Some((address, zone)) = text.split_once('%') else {
        return Address::parse_received(text);
    };
    // `%25` is the sign itself, as in URLs.
    let zone = zone.strip_prefix("25").filter(|rest| !rest.is_empty()).unwrap_or(zone);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || ZONE_SIGNS.contains(&byte);
    let is_zone = !zone.is_empty() && zone.bytes().all(is_name) && address.contains(':');
    is_zone.then(|| Address::parse_received(address)).flatten()
}

fn is_port(text: &str) -> bool {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number && text.len() <= MAX_PORT_DIGITS && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests;
