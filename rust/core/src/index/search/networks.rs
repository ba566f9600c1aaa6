//! Which networks an address is in: the innermost by binary search, the others
//! from it outwards.

use std::cmp::Reverse;

use crate::predicate::first_network::FirstNetwork;
use crate::value::address::{Address, Network};

/// Set in the number of a node; what is less is the only condition of a network that
/// nothing is around, which is most of them.
const NODE: u32 = 1 << 31;

/// Networks, each with the conditions that name it.
#[derive(Debug)]
pub(crate) struct Networks {
    /// The node of each, or its condition.
    innermost: FirstNetwork,
    nodes: Box<[Node]>,
    conditions: Box<[u32]>,
}

#[derive(Debug)]
struct Node {
    /// The node or the condition of the next network around this one.
    outer: Option<u32>,
    /// The end of its conditions; they begin where those of the one before end.
    end: u32,
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
        let outer = around(&networks);
        let mut nodes = NODE..;
        let codes = named.iter().zip(&outer).map(|(named, outer)| match (named, outer) {
            (&[(_, condition)], None) if *condition < NODE => *condition,
            _ => nodes.next().unwrap_or(u32::MAX),
        });
        let codes: Vec<u32> = codes.collect();
        let code = |number: u32| codes.get(number as usize).copied();
        let mut conditions = Vec::new();
        let mut nodes = Vec::new();
        for ((own, outer), named) in codes.iter().zip(&outer).zip(named) {
            if *own >= NODE {
                conditions.extend(named.iter().map(|(_, condition)| *condition));
                let end = u32::try_from(conditions.len()).unwrap_or(u32::MAX);
                nodes.push(Node { outer: outer.and_then(code), end });
            }
        }
        let innermost = FirstNetwork::new(&networks);
        Self {
            innermost: innermost.renumbered(|number| code(number).unwrap_or(u32::MAX)),
            nodes: nodes.into(),
            conditions: conditions.into(),
        }
    }

    /// Reports the conditions of every network that contains an address.
    #[inline]
    pub(crate) fn report(&self, address: Address, mut report: impl FnMut(u32)) {
        let mut next = self.innermost.find(address);
        while let Some(code) = next {
            let Some(number) = code.checked_sub(NODE).map(|number| number as usize) else {
                return report(code);
            };
            let before = number.checked_sub(1).and_then(|before| self.nodes.get(before));
            let Some(node) = self.nodes.get(number) else { return };
            let start = before.map_or(0, |before| before.end as usize);
            for condition in self.conditions.get(start..node.end as usize).unwrap_or_default() {
                report(*condition);
            }
            next = node.outer;
        }
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
