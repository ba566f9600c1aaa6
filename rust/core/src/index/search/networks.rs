//! The networks of an address: the innermost by binary search, the others from it outwards.

use std::cmp::Reverse;
use std::iter::successors;

use crate::predicate::first_network::FirstNetwork;
use crate::value::address::{Address, Network};

/// Networks, each with the conditions that name it.
#[derive(Debug)]
pub(crate) struct Networks {
    innermost: FirstNetwork,
    named: Box<[Named]>,
}

/// A network that conditions name.
#[derive(Debug)]
struct Named {
    /// The next network around this one.
    outer: Option<u32>,
    conditions: Box<[u32]>,
}

impl Networks {
    pub(crate) fn new(named: impl IntoIterator<Item = (Network, u32)>) -> Self {
        let named = named.into_iter().map(|(network, condition)| (network.masked(), condition));
        let mut named: Vec<(Network, u32)> = named.collect();
        // Inner networks first, so that the first to contain an address is the innermost.
        named.sort_by_key(|(network, _)| Reverse((network.address, network.prefix)));
        let named: Vec<&[(Network, u32)]> = named.chunk_by(|one, other| one.0 == other.0).collect();
        let networks: Vec<Network> =
            named.iter().filter_map(|named| named.first()).map(|(network, _)| *network).collect();
        let named = around(&networks).into_iter().zip(named).map(|(outer, named)| Named {
            outer,
            conditions: named.iter().map(|(_, condition)| *condition).collect(),
        });
        Self { named: named.collect(), innermost: FirstNetwork::new(&networks) }
    }

    /// Reports the conditions of every network that contains an address.
    #[inline]
    pub(crate) fn report(&self, address: Address, report: impl FnMut(u32)) {
        let get = |number: u32| self.named.get(number as usize);
        let innermost = self.innermost.find(address).and_then(get);
        let around = successors(innermost, |named| named.outer.and_then(get));
        around.flat_map(|named| named.conditions.iter().copied()).for_each(report);
    }
}

/// The number of the smallest network around each; it comes after those inside it.
fn around(networks: &[Network]) -> Vec<Option<u32>> {
    let mut around = vec![None; networks.len()];
    let mut open: Vec<(u32, Network)> = Vec::new();
    for (number, (network, outer)) in networks.iter().zip(&mut around).enumerate().rev() {
        while open.pop_if(|(_, last)| !last.contains(network.address)).is_some() {}
        *outer = open.last().map(|(number, _)| *number);
        open.push((u32::try_from(number).unwrap_or(u32::MAX), *network));
    }
    around
}

#[cfg(test)]
mod tests;
