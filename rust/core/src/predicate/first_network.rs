//! Search for the first network of a list that contains an address.

use crate::value::address::{Address, Network};

/// A run of addresses, as numbers, and the first network that has them.
#[derive(Clone, Copy, Debug)]
struct Segment<N = u128> {
    first: N,
    last: N,
    network: u32,
}

/// Networks as sorted disjoint segments: the walk by binary search.
#[derive(Debug)]
pub(crate) struct FirstNetwork {
    v4: Box<[Segment<u32>]>,
    v6: Box<[Segment]>,
}

impl FirstNetwork {
    pub(crate) fn new(networks: &[Network]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (network, each) in (0_u32..).zip(networks) {
            let segments = if matches!(each.address, Address::V4(_)) { &mut v4 } else { &mut v6 };
            let (first, last) = ends(*each);
            segments.push(Segment { first, last, network });
        }
        let narrow = |segment: Segment| Segment {
            first: segment.first as u32,
            last: segment.last as u32,
            network: segment.network,
        };
        Self { v4: disjoint(v4).into_iter().map(narrow).collect(), v6: disjoint(v6).into() }
    }

    /// The number of the first network that contains the address.
    pub(crate) fn find(&self, address: Address) -> Option<u32> {
        match address {
            Address::V4(bits) => find(&self.v4, bits),
            Address::V6(bits) => find(&self.v6, bits),
        }
    }
}

fn find<N: Copy + PartialOrd>(segments: &[Segment<N>], bits: N) -> Option<u32> {
    let after = segments.partition_point(|segment| segment.first <= bits);
    let around = segments.get(after.checked_sub(1)?).filter(|segment| bits <= segment.last);
    around.map(|segment| segment.network)
}

/// The first and the last address of a network, as numbers.
fn ends(network: Network) -> (u128, u128) {
    let host_bits = network.address.bits().saturating_sub(network.prefix);
    let hosts = u128::MAX.checked_shr(128_u32.saturating_sub(u32::from(host_bits)));
    let first = match network.masked().address {
        Address::V4(bits) => u128::from(bits),
        Address::V6(bits) => bits,
    };
    (first, first | hosts.unwrap_or(0))
}

/// Cuts networks, of which any two are nested or disjoint, into segments.
fn disjoint(mut networks: Vec<Segment>) -> Vec<Segment> {
    // An outer network comes before those inside it.
    networks.sort_by(|one, other| one.first.cmp(&other.first).then(other.last.cmp(&one.last)));
    let mut cut = Cut { segments: Vec::new(), open: Vec::new(), next: Some(0) };
    for network in networks {
        cut.close_before(network.first);
        cut.emit_until(network.first.checked_sub(1));
        cut.next = Some(network.first);
        let outer = cut.open.last().map_or(u32::MAX, |outer| outer.network);
        cut.open.push(Segment { network: network.network.min(outer), ..network });
    }
    cut.close_all();
    cut.segments
}

/// A walk over addresses in order.
struct Cut {
    segments: Vec<Segment>,
    /// The networks around the present place, the innermost last, each with the least number among
    /// itself and those around it.
    open: Vec<Segment>,
    /// The first address that is not yet in a segment; None past the last one.
    next: Option<u128>,
}

impl Cut {
    fn close_before(&mut self, first: u128) {
        while self.open.last().is_some_and(|innermost| innermost.last < first) {
            self.close();
        }
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        self.emit_until(self.open.last().map(|innermost| innermost.last));
        self.open.pop();
    }

    /// Adds the segment that ends there, if there is any of it.
    fn emit_until(&mut self, last: Option<u128>) {
        let (Some(first), Some(last), Some(innermost)) = (self.next, last, self.open.last()) else {
            return;
        };
        if first <= last {
            self.segments.push(Segment { first, last, network: innermost.network });
            self.next = last.checked_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
