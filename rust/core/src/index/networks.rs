//! Which networks an address is in: the innermost by binary search, the others
//! from it outwards.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::address::{Address, Network};
use crate::first_network::FirstNetwork;

/// Networks, each with the conditions that name it.
#[derive(Debug)]
pub(crate) struct Networks {
    innermost: FirstNetwork,
    nodes: Box<[Node]>,
    conditions: Box<[u32]>,
}

#[derive(Debug)]
struct Node {
    /// The next network around this one.
    outer: Option<u32>,
    /// The end of its conditions; they begin where those of the one before end.
    end: u32,
}

impl Networks {
    pub(crate) fn new(named: impl IntoIterator<Item = (Network, u32)>) -> Self {
        let mut by_network: HashMap<Network, Vec<u32>, RandomState> = HashMap::default();
        for (network, condition) in named {
            by_network.entry(network.masked()).or_default().push(condition);
        }
        let mut networks: Vec<(Network, Vec<u32>)> = by_network.into_iter().collect();
        // Inner networks first, so that the first to contain an address is the innermost.
        networks
            .sort_by_key(|(network, _)| (u8::MAX.saturating_sub(network.prefix), network.address));
        let numbers: HashMap<Network, u32, RandomState> =
            networks.iter().map(|(network, _)| *network).zip(0..).collect();
        let mut conditions = Vec::new();
        let mut nodes = Vec::with_capacity(networks.len());
        for (network, named) in &networks {
            conditions.extend(named);
            let end = u32::try_from(conditions.len()).unwrap_or(u32::MAX);
            nodes.push(Node { outer: around(*network, &numbers), end });
        }
        let networks: Vec<Network> = networks.into_iter().map(|(network, _)| network).collect();
        Self {
            innermost: FirstNetwork::new(&networks),
            nodes: nodes.into(),
            conditions: conditions.into(),
        }
    }

    /// Reports the conditions of every network that contains an address.
    #[inline]
    pub(crate) fn report(&self, address: Address, mut report: impl FnMut(u32)) {
        let mut next = self.innermost.find(address);
        while let Some((number, node)) =
            next.and_then(|number| Some((number, self.nodes.get(number)?)))
        {
            let before = number.checked_sub(1).and_then(|before| self.nodes.get(before));
            let start = before.map_or(0, |before| before.end as usize);
            for condition in self.conditions.get(start..node.end as usize).unwrap_or_default() {
                report(*condition);
            }
            next = node.outer.map(|outer| outer as usize);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.nodes)
            .saturating_add(std::mem::size_of_val(&*self.conditions))
            .saturating_add(self.innermost.memory_bytes())
    }
}

/// The smallest of the networks around one.
fn around(network: Network, numbers: &HashMap<Network, u32, RandomState>) -> Option<u32> {
    (0..network.prefix).rev().find_map(|prefix| {
        let outer = Network::new(network.address, prefix)?.masked();
        numbers.get(&outer).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_around_an_address_is_reported() {
        let texts = [
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.3/32",
            "0.0.0.0/0",
            "10.1.9.9/16",
            "2001:db8::/32",
            "::/0",
            "11.0.0.0/8",
        ];
        let networks: Vec<Network> =
            texts.iter().map(|text| Network::parse(text).unwrap()).collect();
        let index = Networks::new(networks.iter().copied().zip(0..));
        for text in
            ["10.1.2.3", "10.1.2.4", "10.200.0.1", "11.1.1.1", "99.0.0.1", "2001:db8::1", "::1"]
        {
            let address = Address::parse(text).unwrap();
            let mut found = Vec::new();
            index.report(address, |condition| found.push(condition));
            found.sort_unstable();
            let expected: Vec<u32> = (0..)
                .zip(&networks)
                .filter(|(_, network)| network.contains(address))
                .map(|(number, _)| number)
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
