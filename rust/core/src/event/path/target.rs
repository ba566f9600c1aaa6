//! The target of a request: the text given as its path, and the pairs of a query.

use bumpalo::Bump;

use crate::event::path::percent_decode;

/// The parts of a target, as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// The scheme of an absolute address.
    pub scheme: Option<&'a str>,
    /// The host of an absolute address, with its port.
    pub host: Option<&'a str>,
    pub path: &'a str,
    /// The text after the first `?`.
    pub query: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Reads a path that may have a query, or an absolute address (RFC 9112, 3.2).
    pub fn read(text: &'a str) -> Self {
        let (scheme, host, rest) = if text.starts_with('/') {
            (None, None, text)
        } else {
            absolute(text).unwrap_or((None, None, text))
        };
        let (path, query) = match memchr::memchr(b'?', rest.as_bytes()) {
            Some(at) => (rest.get(..at), rest.get(at.saturating_add(1)..)),
            None => (Some(rest), None),
        };
        let path = path.unwrap_or_default();
        let path = if host.is_some() && path.is_empty() { "/" } else { path };
        Self { scheme, host, path, query }
    }
}

type Absolute<'a> = (Option<&'a str>, Option<&'a str>, &'a str);

/// Scheme, host and what follows them; `None` for a text that is not an absolute address.
#[cold]
fn absolute(text: &str) -> Option<Absolute<'_>> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some((Some(scheme), Some(host), rest))
}

/// The names and values of a query, in order, decoded as forms are.
pub fn pairs<'a>(
    query: &'a str,
    arena: &'a Bump,
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let query = query.strip_prefix('?').unwrap_or(query);
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form_decoded(name, arena), form_decoded(value, arena))
    })
}

/// The number of pairs of a query.
pub fn count(query: &str) -> usize {
    query.split('&').filter(|pair| !pair.is_empty()).count()
}

fn form_decoded<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    if !text.contains(['+', '%']) {
        return text;
    }
    arena.alloc_str(&percent_decode(&text.replace('+', " ")))
}

#[cfg(test)]
mod tests;
