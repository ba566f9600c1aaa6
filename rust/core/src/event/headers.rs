//! Request headers: names in one case, and the meaning of some values.

use std::collections::HashMap;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use foldhash::fast::RandomState;

use crate::event::Entries;
use crate::text::ascii_case::has_upper;

/// Values by name, in order.
pub type Groups<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// The headers with names in ASCII lower case; values whose names become equal
/// are joined by `", "`, at the place of the first.
pub fn fold<'a>(entries: Entries<'a>, arena: &'a Bump) -> Entries<'a> {
    if !entries.iter().any(|(name, _)| has_upper(name.as_bytes())) {
        return entries;
    }
    let folded = entries.iter().map(|(name, value)| {
        let folded = arena.alloc_str(name);
        folded.make_ascii_lowercase();
        (&*folded, *value)
    });
    joined(grouped(folded), arena)
}

/// The values of each name, at the place of its first.
pub fn grouped<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Groups<'a> {
    let mut places: HashMap<&str, usize, RandomState> = HashMap::default();
    let mut groups: Groups<'a> = Vec::new();
    for (name, value) in pairs {
        let place = *places.entry(name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => groups.push((name, vec![value])),
        }
    }
    groups
}

/// The values of each name, joined by `", "`.
pub fn joined<'a>(groups: Groups<'a>, arena: &'a Bump) -> Entries<'a> {
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

/// The name of a host: without its port (`name:port`, `[v6]:port`) and without the dot of the root
/// that may end it. Anything else stays.
pub fn host_name(host: &str) -> &str {
    let name = without_port(host);
    name.strip_suffix('.').unwrap_or(name)
}

fn without_port(host: &str) -> &str {
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

#[cfg(test)]
mod tests;
