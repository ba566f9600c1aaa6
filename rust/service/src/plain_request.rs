//! The plain form of a request, which nearly every client sends.
//!
//! This parser accepts exactly one complete request. It leaves anything unusual to the server's
//! full parser, so no request can be read in two ways.

use httparse::{EMPTY_HEADER, Header, Status};

/// Headers of a plain request; the full parser takes more.
const MAX_HEADERS: usize = 32;
/// Digits of a body's length.
const MAX_LENGTH_DIGITS: usize = 7;

/// The contents of a plain request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainRequest<'r> {
    /// The number of the path it goes to.
    pub target: usize,
    /// The credential.
    pub key: &'r [u8],
    /// The request's own id, if any.
    pub id: Option<&'r [u8]>,
    /// Its `traceparent` as it was sent, valid or not.
    pub traceparent: Option<&'r [u8]>,
    pub body: &'r [u8],
}

/// Recognises plain requests.
#[derive(Debug)]
pub struct PlainForm {
    /// The request line of each path.
    lines: Vec<Vec<u8>>,
    max_head: usize,
    max_body: usize,
}

impl PlainForm {
    /// A form for some paths, and the bytes that a head and a body have at most.
    pub fn new(paths: &[&str], max_head: usize, max_body: usize) -> Self {
        let lines = paths.iter().map(|path| format!("POST {path} HTTP/1.1\r\n").into_bytes());
        Self { lines: lines.collect(), max_head, max_body }
    }

    /// The contents of one whole plain request; None for any other data, shorter or longer.
    pub fn read<'r>(&self, data: &'r [u8]) -> Option<PlainRequest<'r>> {
        let mut lines = self.lines.iter().enumerate();
        let (target, line) = lines.find(|(_, line)| data.starts_with(line))?;
        let rest = data.strip_prefix(&**line)?;
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let Ok(Status::Complete((end, headers))) = httparse::parse_headers(rest, &mut headers)
        else {
            return None;
        };
        let (head, body) = rest.split_at_checked(end)?;
        if line.len().saturating_add(end) > self.max_head || !is_plain(head) {
            return None;
        }
        let said = Said::of(headers)?;
        if body.len() != said.length? || body.len() > self.max_body || !said.is_json || !said.host {
            return None;
        }
        let Said { id, traceparent, .. } = said;
        Some(PlainRequest { target, key: said.key?, id, traceparent, body })
    }
}

/// The headers of a plain request.
#[derive(Default)]
struct Said<'a> {
    host: bool,
    is_json: bool,
    length: Option<usize>,
    key: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    traceparent: Option<&'a [u8]>,
}

impl<'a> Said<'a> {
    /// None if a header is unusual or repeated.
    fn of(headers: &[Header<'a>]) -> Option<Self> {
        let mut said = Self::default();
        for Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let is_usual = if is("x-service-api-key") {
                said.key.replace(value).is_none()
            } else if is("content-length") {
                said.length.replace(length(value)?).is_none()
            } else if is("content-type") {
                !std::mem::replace(&mut said.is_json, true) && *value == b"application/json"
            } else if is("host") {
                !std::mem::replace(&mut said.host, true)
            } else if is("x-request-id") {
                said.id.replace(value).is_none() && is_request_id(value)
            } else if is("traceparent") {
                said.traceparent.replace(value).is_none()
            } else if is("connection") {
                value.eq_ignore_ascii_case(b"keep-alive")
            } else {
                !is_unusual(name)
            };
            if !is_usual {
                return None;
            }
        }
        Some(said)
    }
}

/// Whether a header changes how a request is framed or answered.
fn is_unusual(name: &str) -> bool {
    const UNUSUAL: [&str; 8] = [
        "transfer-encoding",
        "content-encoding",
        "expect",
        "upgrade",
        "proxy-connection",
        "http2-settings",
        "te",
        "trailer",
    ];
    UNUSUAL.iter().any(|each| name.eq_ignore_ascii_case(each))
}

/// A number as it is written in one way only.
fn length(value: &[u8]) -> Option<usize> {
    let is_decimal = value.iter().all(u8::is_ascii_digit);
    let is_padded = value.len() > 1 && value.first() == Some(&b'0');
    if !is_decimal || is_padded || value.len() > MAX_LENGTH_DIGITS {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Whether an id can be sent back as it is, by the rule of `headers.py`, which a test compares.
fn is_request_id(value: &[u8]) -> bool {
    let is_kept = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:/+=-".contains(byte);
    (1..=128).contains(&value.len()) && value.iter().all(is_kept)
}

/// Whether a head is printable ASCII in lines that end in CR LF and not in space: parsers differ on
/// everything else.
fn is_plain(head: &[u8]) -> bool {
    let pairs = head.iter().zip(head.iter().skip(1));
    let odd = pairs.fold(false, |odd, (&before, &byte)| {
        let is_bare = (byte == b'\n') != (before == b'\r');
        let is_trailing = (byte == b'\r') & (before == b' ');
        let is_strange = !matches!(byte, b' '..=b'~' | b'\r' | b'\n');
        odd | is_bare | is_trailing | is_strange
    });
    !odd
}

#[cfg(test)]
mod tests;
