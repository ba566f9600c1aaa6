//! The network that represents a client's address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The /24 or /48 of an address, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    V4([u8; 3]),
    V6([u16; 3]),
}

impl Network {
    /// The network of an address given as text; `None` if the text isn't an address. An IPv4
    /// address mapped into IPv6 counts as IPv4.
    pub fn of(address: &str) -> Self {
        match address.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(IpAddr::V4(address)) => {
                let [a, b, c, _] = address.octets();
                Self::V4([a, b, c])
            }
            Ok(IpAddr::V6(address)) => {
                let [a, b, c, ..] = address.segments();
                Self::V6([a, b, c])
            }
            Err(_) => Self::None,
        }
    }

    /// The network of a text that [`fmt::Display`] wrote; `None` of any other.
    pub fn parse(text: &str) -> Option<Self> {
        let network = text.split_once('/').map_or(Self::None, |(address, _)| Self::of(address));
        (network.to_string() == text).then_some(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => Ok(()),
            Self::V4([a, b, c]) => write!(out, "{}/24", Ipv4Addr::new(a, b, c, 0)),
            Self::V6([a, b, c]) => write!(out, "{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)),
        }
    }
}
