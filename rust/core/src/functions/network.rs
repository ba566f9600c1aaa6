//! Addresses and networks.

use super::{Function, Shape, function, member, overload, shaped};
use crate::functions::operators::Applied;
use crate::functions::prepared::Prepared;
use crate::functions::text::strings;
use crate::functions::{Call, Overload};
use crate::value::address::{Address, Network, NetworkSet};
use crate::value::error::ErrorCode;
use crate::value::{List, Value};

/// The overload of a property of an address.
macro_rules! property {
    ($holds:expr) => {
        &[overload!(|_, address: Address| Ok(Value::Bool($holds(address))))]
    };
}

pub(super) const FUNCTIONS: &[Function] = &[
    shaped(
        Shape::Address,
        function(
            "ip",
            &[overload!(|call, text: &str| match call.prepared {
                Prepared::Address(address) => Ok(Value::Ip(*address)),
                _ => parse_address(text).map(Value::Ip),
            })],
        ),
    ),
    function("isIP", &[overload!(|_, text: &str| Ok(Value::Bool(Address::parse(text).is_some())))]),
    function(
        "ip.isCanonical",
        &[overload!(|_, text: &str| Ok(Value::Bool(parse_address(text)?.to_string() == text)))],
    ),
    member(
        "family",
        &[overload!(|_, address: Address| Ok(Value::Int(i64::from(address.family()))))],
    ),
    member("isUnspecified", property!(Address::is_unspecified)),
    member("isLoopback", property!(Address::is_loopback)),
    member("isGlobalUnicast", property!(Address::is_global_unicast)),
    member("isLinkLocalMulticast", property!(Address::is_link_local_multicast)),
    member("isLinkLocalUnicast", property!(Address::is_link_local_unicast)),
    member("isPrivate", property!(Address::is_private)),
    member(
        "masked",
        &[
            overload!(|_, address: Address, v4_bits: i64, v6_bits: i64| {
                masked(address, v4_bits, v6_bits)
            }),
            overload!(|_, network: Network| Ok(Value::Cidr(network.masked()))),
        ],
    ),
    shaped(
        Shape::Network,
        function(
            "cidr",
            &[overload!(|call, text: &str| match call.prepared {
                Prepared::Network(network) => Ok(Value::Cidr(*network)),
                _ => parse_network(text).map(Value::Cidr),
            })],
        ),
    ),
    function(
        "isCIDR",
        &[overload!(|_, text: &str| Ok(Value::Bool(Network::parse(text).is_some())))],
    ),
    shaped(
        Shape::HasAddress,
        member(
            "containsIP",
            &[
                overload!(|_, network: Network, address: Address| {
                    Ok(Value::Bool(network.contains(address)))
                }),
                overload!(|_, network: Network, text: &str| {
                    Ok(Value::Bool(network.contains(parse_address(text)?)))
                }),
            ],
        ),
    ),
    member(
        "containsCIDR",
        &[
            overload!(|_, network: Network, other: Network| {
                Ok(Value::Bool(network.contains_network(other)))
            }),
            overload!(|_, network: Network, text: &str| {
                Ok(Value::Bool(network.contains_network(parse_network(text)?)))
            }),
        ],
    ),
    member("ip", &[overload!(|_, network: Network| Ok(Value::Ip(network.address)))]),
    member(
        "prefixLength",
        &[overload!(|_, network: Network| Ok(Value::Int(i64::from(network.prefix))))],
    ),
    member(
        "isMask",
        &[overload!(|_, network: Network| Ok(Value::Bool(network == network.masked())))],
    ),
    shaped(Shape::InNetworks, function("inIpRange", IN_IP_RANGE)),
    shaped(
        Shape::InList,
        member(
            "inList",
            &[
                overload!(|call, text: &str, name: &str| {
                    let list = call.list(name)?;
                    Ok(Value::Bool(call.lists.has_text(list, text)))
                }),
                overload!(|call, address: Address, name: &str| {
                    let list = call.list(name)?;
                    Ok(Value::Bool(call.lists.has_address(list, address)))
                }),
            ],
        ),
    ),
];

const IN_IP_RANGE: &[Overload] = &[
    overload!(|call, text: &str, range: &str| {
        in_ranges(call, Address::parse(text), &[Value::text(range)])
    }),
    overload!(|call, text: &str, ranges: &List<'_>| {
        in_ranges(call, Address::parse(text), ranges)
    }),
    overload!(|call, address: Address, range: &str| {
        in_ranges(call, Some(address), &[Value::text(range)])
    }),
    overload!(|call, address: Address, ranges: &List<'_>| {
        in_ranges(call, Some(address), ranges)
    }),
];

/// Whether an address is in one of the ranges. Fails if one is not a range.
fn in_ranges<'a>(
    call: &Call<'a, '_>,
    address: Option<Address>,
    ranges: &[Value<'_>],
) -> Applied<'a> {
    let contains =
        |networks: &NetworkSet| address.is_some_and(|address| networks.contains(address));
    if let Prepared::Networks(networks) = call.prepared {
        return Ok(Value::Bool(contains(networks)));
    }
    let networks: Option<NetworkSet> =
        strings(ranges)?.into_iter().map(Network::parse_entry).collect();
    networks.map(|networks| Value::Bool(contains(&networks))).ok_or(ErrorCode::InvalidArgument)
}

fn parse_address(text: &str) -> Result<Address, ErrorCode> {
    Address::parse(text).ok_or(ErrorCode::InvalidArgument)
}

fn parse_network(text: &str) -> Result<Network, ErrorCode> {
    Network::parse(text).ok_or(ErrorCode::InvalidArgument)
}

/// The network of an address for grouping; both prefixes must be possible.
fn masked<'a>(address: Address, v4_bits: i64, v6_bits: i64) -> Applied<'a> {
    if !((0..=32).contains(&v4_bits) && (0..=128).contains(&v6_bits)) {
        return Err(ErrorCode::InvalidArgument);
    }
    let bits = match address {
        Address::V4(_) => v4_bits,
        Address::V6(_) => v6_bits,
    };
    let network = u8::try_from(bits).ok().and_then(|bits| address.network(bits));
    network.map(Value::Cidr).ok_or(ErrorCode::InvalidArgument)
}

#[cfg(test)]
mod tests;
