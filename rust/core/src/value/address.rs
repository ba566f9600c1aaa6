//! Addresses and networks: text, masks, membership.
//!
//! There are two parsers, see docs/fields.md. Expressions and lists use the strict one, which
//! rejects dotted decimal inside IPv6 text. Text from clients is read with
//! [`Address::parse_received`], which accepts that spelling too. Both treat an IPv4-mapped IPv6
//! address as the IPv4 address it maps.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const V4_BITS: u8 = 32;
const V6_BITS: u8 = 128;
/// Bits of `::ffff:0:0/96`, the prefix of the IPv4-mapped addresses.
const MAPPED_BITS: u8 = 96;
const MAPPED_PREFIX: u128 = 0xffff;

/// An IPv4 or IPv6 address; IPv4-mapped IPv6 is IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    V4(u32),
    V6(u128),
}

/// An address with a prefix length; host bits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    pub address: Address,
    pub prefix: u8,
}

impl Address {
    /// Reads an address as expressions and lists write it.
    pub fn parse(text: &str) -> Option<Self> {
        is_plain_notation(text).then(|| Self::parse_received(text)).flatten()
    }

    /// Reads an address as a client sends it: IPv6 may end in dotted decimal.
    pub fn parse_received(text: &str) -> Option<Self> {
        Some(match text.parse().ok()? {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::from_v6(address.to_bits()),
        })
    }

    /// The address of 128 bits, folded to IPv4 when it is mapped.
    pub fn from_v6(bits: u128) -> Self {
        mapped_v4(bits).map_or(Self::V6(bits), Self::V4)
    }

    /// 4 or 6.
    pub const fn family(self) -> u8 {
        match self {
            Self::V4(_) => 4,
            Self::V6(_) => 6,
        }
    }

    /// The length of the address in bits: the longest prefix.
    pub const fn bits(self) -> u8 {
        match self {
            Self::V4(_) => V4_BITS,
            Self::V6(_) => V6_BITS,
        }
    }

    /// The network of the first `prefix` bits; `None` when the address is shorter.
    pub fn network(self, prefix: u8) -> Option<Network> {
        Network::new(self, prefix).map(Network::masked)
    }

    pub const fn is_unspecified(self) -> bool {
        matches!(self, Self::V4(0) | Self::V6(0))
    }

    pub fn is_loopback(self) -> bool {
        match self {
            Self::V4(bits) => Ipv4Addr::from_bits(bits).is_loopback(),
            Self::V6(bits) => bits == 1,
        }
    }

    pub fn is_multicast(self) -> bool {
        match self {
            Self::V4(bits) => Ipv4Addr::from_bits(bits).is_multicast(),
            Self::V6(bits) => Ipv6Addr::from_bits(bits).is_multicast(),
        }
    }

    pub fn is_link_local_unicast(self) -> bool {
        match self {
            Self::V4(bits) => Ipv4Addr::from_bits(bits).is_link_local(),
            Self::V6(bits) => Ipv6Addr::from_bits(bits).is_unicast_link_local(),
        }
    }

    /// 224.0.0.0/24, or IPv6 multicast of link-local scope (`ffx2::/16`).
    pub const fn is_link_local_multicast(self) -> bool {
        match self {
            Self::V4(bits) => bits >> 8 == 0x00e0_0000,
            Self::V6(bits) => (bits >> 112) & 0xff0f == 0xff02,
        }
    }

    /// Unicast of more than local meaning; private addresses count, as in Go.
    pub fn is_global_unicast(self) -> bool {
        !self.is_unspecified()
            && self != Self::V4(u32::MAX)
            && !self.is_loopback()
            && !self.is_multicast()
            && !self.is_link_local_unicast()
    }

    /// RFC 1918 and `fc00::/7`.
    pub fn is_private(self) -> bool {
        match self {
            Self::V4(bits) => Ipv4Addr::from_bits(bits).is_private(),
            Self::V6(bits) => Ipv6Addr::from_bits(bits).is_unique_local(),
        }
    }
}

impl fmt::Display for Address {
    /// Canonical text (RFC 5952).
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(bits) => {
                // Sets have thousands, and to format a number in general takes longer.
                let [first, rest @ ..] = bits.to_be_bytes();
                let mut number = itoa::Buffer::new();
                formatter.write_str(number.format(first))?;
                rest.into_iter().try_for_each(|byte| {
                    formatter.write_str(".")?;
                    formatter.write_str(number.format(byte))
                })
            }
            // The standard library writes mapped addresses with dots, which
            // `parse` refuses; only the base of a short network can be one.
            Self::V6(bits) => match mapped_v4(bits) {
                Some(low) => write!(formatter, "::ffff:{:x}:{:x}", low >> 16, low & 0xffff),
                None => Ipv6Addr::from_bits(bits).fmt(formatter),
            },
        }
    }
}

impl Network {
    /// The network of an address; `None` when the prefix is longer than the address.
    pub fn new(address: Address, prefix: u8) -> Option<Self> {
        (prefix <= address.bits()).then_some(Self { address, prefix })
    }

    /// Reads `address/prefix` as expressions and lists write it.
    pub fn parse(text: &str) -> Option<Self> {
        is_plain_notation(text).then(|| Self::parse_received(text)).flatten()
    }

    /// Reads `address/prefix`; an IPv6 address may end in dotted decimal.
    pub fn parse_received(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix = parse_prefix(prefix)?;
        if !address.contains(':') {
            return Self::new(Address::parse_received(address)?, prefix);
        }
        let bits = address.parse::<Ipv6Addr>().ok()?.to_bits();
        match (mapped_v4(bits), prefix.checked_sub(MAPPED_BITS)) {
            (Some(low), Some(prefix)) => Self::new(Address::V4(low), prefix),
            _ => Self::new(Address::V6(bits), prefix),
        }
    }

    /// Reads a network, or an address as the network of that address alone.
    pub fn parse_entry(text: &str) -> Option<Self> {
        if text.contains('/') {
            return Self::parse(text);
        }
        let address = Address::parse(text)?;
        Self::new(address, address.bits())
    }

    /// The same network without host bits.
    pub fn masked(self) -> Self {
        let address = match self.address {
            Address::V4(bits) => Address::V4(bits & v4_mask(self.prefix)),
            Address::V6(bits) => Address::V6(bits & v6_mask(self.prefix)),
        };
        Self { address, ..self }
    }

    /// Whether the address lies in the network; families never match each other.
    pub fn contains(self, address: Address) -> bool {
        match (self.address, address) {
            (Address::V4(base), Address::V4(bits)) => (base ^ bits) & v4_mask(self.prefix) == 0,
            (Address::V6(base), Address::V6(bits)) => (base ^ bits) & v6_mask(self.prefix) == 0,
            _ => false,
        }
    }

    /// Whether every address of the other network lies in this one.
    pub fn contains_network(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(formatter)?;
        formatter.write_str("/")?;
        formatter.write_str(itoa::Buffer::new().format(self.prefix))
    }
}

/// Many networks as sorted disjoint ranges: membership by binary search.
#[derive(Clone, Debug, Default)]
pub struct NetworkSet {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl NetworkSet {
    pub fn contains(&self, address: Address) -> bool {
        match address {
            Address::V4(bits) => in_ranges(&self.v4, bits),
            Address::V6(bits) => in_ranges(&self.v6, bits),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }
}

impl FromIterator<Network> for NetworkSet {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let mut v4 = Vec::new();
        let mut v6 = Vec::new();
        for network in networks {
            match network.masked().address {
                Address::V4(first) => v4.push((first, first | !v4_mask(network.prefix))),
                Address::V6(first) => v6.push((first, first | !v6_mask(network.prefix))),
            }
        }
        Self { v4: merge(v4), v6: merge(v6) }
    }
}

/// The ranges in order, overlapping ones joined.
fn merge<T: Ord + Copy>(mut ranges: Vec<(T, T)>) -> Box<[(T, T)]> {
    ranges.sort_unstable();
    let mut merged: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(previous) if first <= previous.1 => previous.1 = previous.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged.into_boxed_slice()
}

fn in_ranges<T: Ord + Copy>(ranges: &[(T, T)], bits: T) -> bool {
    let after = ranges.partition_point(|range| range.0 <= bits);
    after.checked_sub(1).and_then(|index| ranges.get(index)).is_some_and(|range| bits <= range.1)
}

/// False for IPv6 text with a dotted part.
fn is_plain_notation(text: &str) -> bool {
    !(text.contains(':') && text.contains('.'))
}

fn mapped_v4(bits: u128) -> Option<u32> {
    (bits >> 32 == MAPPED_PREFIX).then(|| u32::try_from(bits & u128::from(u32::MAX)).ok()).flatten()
}

/// A prefix length: decimal without sign or leading zero.
fn parse_prefix(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    (digits && !padded).then(|| text.parse().ok()).flatten()
}

/// The first `prefix` bits set; none for a prefix of 0, where the shift would overflow.
fn v4_mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(u32::from(V4_BITS.saturating_sub(prefix))).unwrap_or(0)
}

fn v6_mask(prefix: u8) -> u128 {
    u128::MAX.checked_shl(u32::from(V6_BITS.saturating_sub(prefix))).unwrap_or(0)
}

#[cfg(test)]
mod tests;
