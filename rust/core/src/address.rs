//! Addresses and networks.

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
