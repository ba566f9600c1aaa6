//! Request headers: names in one case, and what some of their values mean.

use std::collections::HashMap;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;

use crate::event::Entries;
use crate::text::ascii_case::has_upper;
use crate::value::address::{Address, NetworkSet};

/// The headers with names in ASCII lower case; values whose names become equal
/// are joined by `", "`, at the place of the first.
pub fn fold<'a>(entries: Entries<'a>, arena: &'a Bump) -> Entries<'a> {
    if !entries.iter().any(|(name, _)| has_upper(name.as_bytes())) {
        return entries;
    }
    let mut places: HashMap<&str, usize, RandomState> = HashMap::default();
    let mut groups: Vec<(&'a str, Vec<&'a str>)> = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let folded = arena.alloc_str(name);
        folded.make_ascii_lowercase();
        let place = *places.entry(folded).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => groups.push((folded, vec![value])),
        }
    }
    let joined = groups.into_iter().map(|(name, values)| match values.as_slice() {
        [value] => (name, *value),
        values => (name, &*arena.alloc_str(&values.join(", "))),
    });
    ArenaVec::from_iter_in(joined, arena).into_bump_slice()
}

/// The value of a header, by its name in lower case.
pub fn header<'a>(headers: Entries<'a>, name: &str) -> Option<&'a str> {
    headers.iter().find(|(each, _)| *each == name).map(|(_, value)| *value)
}

/// A host without its port: `name:port`, `[v6]:port`. Anything else stays.
pub fn without_port(host: &str) -> &str {
    let is_whole = |name: &str| match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|inner| !inner.contains(']')),
        None => !name.contains(':'),
    };
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && is_whole(name) => {
            name
        }
        _ => host,
    }
}

/// The client of a chain of proxies (`x-forwarded-for`): the rightmost address
/// that is no trusted proxy. An entry that is no address ends the search: what
/// stands left of it may be made up by the client.
pub fn client_address(chain: &str, trusted_proxies: &NetworkSet) -> Option<Address> {
    for entry in chain.rsplit(',') {
        let address = Address::parse_received(entry.trim_matches([' ', '\t']))?;
        if !trusted_proxies.contains(address) {
            return Some(address);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::address::Network;

    #[test]
    fn names_fold_to_lower_case_and_equal_ones_are_joined() {
        let arena = Bump::new();
        let entries = [("Accept", "a"), ("X-Id", "1"), ("accept", "b"), ("ACCEPT", "c")];
        let entries = arena.alloc_slice_copy(&entries);
        assert_eq!(fold(entries, &arena), [("accept", "a, b, c"), ("x-id", "1")]);
    }

    #[test]
    fn ports_are_removed_and_nothing_else() {
        for (host, expected) in [
            ("example.test", "example.test"),
            ("example.test:8080", "example.test"),
            ("example.test:", "example.test"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("::1", "::1"),
            ("example.test:80a", "example.test:80a"),
            ("[::1]x:80", "[::1]x:80"),
            ("[:80", "[:80"),
            ("a:b:80", "a:b:80"),
            (":80", ""),
            ("", ""),
        ] {
            assert_eq!(without_port(host), expected, "{host}");
        }
    }

    #[test]
    fn the_client_is_the_rightmost_address_that_is_no_trusted_proxy() {
        let trusted: NetworkSet = Network::parse("10.0.0.0/8").into_iter().collect();
        for (chain, expected) in [
            ("192.0.2.1", Some("192.0.2.1")),
            ("6.6.6.6, 192.0.2.1,10.0.0.1 ,\t10.0.0.2", Some("192.0.2.1")),
            ("6.6.6.6, unknown, 10.0.0.1", None),
            ("10.0.0.1", None),
            ("", None),
            ("2001:db8::1, ::ffff:10.0.0.1", Some("2001:db8::1")),
        ] {
            let expected = expected.and_then(Address::parse);
            assert_eq!(client_address(chain, &trusted), expected, "{chain}");
        }
    }
}
