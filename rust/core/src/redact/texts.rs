//! Texts that may have secrets inside: URLs, forms, JSON, and texts encoded in them.

use bumpalo::Bump;
use memchr::{memchr2, memchr3};

use super::names::again;
use super::{Place, Redactor, Writer, is_redacted};
use crate::json::{Kind as JsonKind, Reader};

/// Hashes in one text; a text with more secrets is one secret as a whole.
const MAX_HASHES: usize = 64;
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
const SPACE_OR_MARK: [char; 5] = [' ', '\t', '\n', '\r', '\u{feff}'];
const SPACE_OR_QUOTE: [char; 7] = [' ', '\t', '\n', '\r', '"', '\'', '`'];
const SLASHES: [char; 2] = ['/', '\\'];
const DELIMITERS: [char; 4] = ['?', '#', '&', ';'];
/// Characters that no name has inside it.
const NAME_STOPS: [char; 19] = [
    ' ', '\t', '\n', '\r', '"', '\'', '`', ',', '(', ')', '{', '}', '<', '>', '|', '/', '\\', ':',
    '=',
];

/// The kind of a text, which determines the search in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A path or URL: no pair before the first delimiter.
    Link,
    /// The body of a request.
    Body,
    Text,
}

/// The result of a search.
enum Found {
    Nothing,
    /// The text with a hash for each secret in it.
    Parts(String),
    /// The text is one secret.
    Whole,
}

impl Found {
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

/// Searches texts for secrets.
#[derive(Clone, Copy)]
pub(super) struct Texts<'r, 'a> {
    redactor: &'r Redactor,
    arena: &'a Bump,
}

impl<'r, 'a> Texts<'r, 'a> {
    pub(super) fn new(redactor: &'r Redactor, arena: &'a Bump) -> Self {
        Self { redactor, arena }
    }

    /// A text of a member whose name is no secret, without its secrets; `None` when it has none.
    pub(super) fn redacted(self, name: &str, text: &str, kind: Kind, rounds: u8) -> Option<String> {
        if !may_have_secrets(text, kind) || is_redacted(text) {
            return None;
        }
        match self.searched(name, text, kind, rounds) {
            Found::Nothing => None,
            Found::Parts(redacted) if redacted.len() <= self.redactor.limits.event_string_bytes => {
                Some(redacted)
            }
            Found::Parts(_) | Found::Whole => Some(self.redactor.secret(name, text)),
        }
    }

    fn searched(self, name: &str, text: &str, kind: Kind, rounds: u8) -> Found {
        let start = text.trim_start_matches(SPACE_OR_MARK);
        if begins_as_json(start, kind) {
            return self.json(text, rounds);
        }
        if kind == Kind::Body && has_parts(start, text) {
            return Found::Whole;
        }
        self.pairs(name, text, kind, rounds)
    }

    /// A text that begins as JSON, and is one secret when it is none.
    fn json(self, text: &str, rounds: u8) -> Found {
        let Some(rounds) = rounds.checked_sub(1) else { return Found::Whole };
        let mut out = String::with_capacity(text.len());
        match self.json_into(text, rounds, &mut out) {
            Some(true) => Found::Parts(out),
            Some(false) => Found::Nothing,
            None => Found::Whole,
        }
    }

    /// Whether JSON has secrets; `None` if the text is not JSON.
    fn json_into(self, text: &str, rounds: u8, out: &mut String) -> Option<bool> {
        let text = self.arena.alloc_str(text);
        let mut reader = Reader::over(text, self.arena, &self.redactor.limits);
        if !matches!(reader.kind().ok()?, JsonKind::Object | JsonKind::Array) {
            return None;
        }
        let mut inner = Writer { rounds, ..Writer::writing(self.redactor, self.arena, out) };
        inner.value(&mut reader, "", Place::Inner).ok()?;
        reader.finish().ok()?;
        Some(inner.has_redacted)
    }

    /// Names and values of a query. The text before the first delimiter of a link is no pair.
    fn pairs(self, name: &str, text: &str, kind: Kind, rounds: u8) -> Found {
        let bytes = text.as_bytes();
        let may_hide = memchr3(b'%', b'{', b'[', bytes).is_some() || text.contains('@');
        if !may_hide && !self.redactor.names.may_be_in(text) {
            return Found::Nothing;
        }
        let (without, mut count) = self.without_userinfo(text);
        let text_now = without.as_deref().unwrap_or(text);
        let mut out = String::new();
        let (mut copied, mut at) = (0, 0);
        for (number, piece) in text_now.split(DELIMITERS).enumerate() {
            let is_pair = number > 0 || kind != Kind::Link;
            let end = piece.len().saturating_add(at);
            if let Some(made) = self.piece(name, piece, kind, is_pair, rounds) {
                count = count.saturating_add(1);
                out.push_str(text_now.get(copied..at).unwrap_or_default());
                out.push_str(&made);
                copied = end;
            }
            if count > MAX_HASHES {
                return Found::Whole;
            }
            at = end.saturating_add(1);
        }
        if copied == 0 && out.is_empty() {
            return match without {
                Some(without) if without != text => Found::Parts(without),
                _ => Found::Nothing,
            };
        }
        out.push_str(text_now.get(copied..).unwrap_or_default());
        Found::Parts(out)
    }

    /// The text with the user and password of each URL hashed, if there are some; and how many.
    fn without_userinfo(self, text: &str) -> (Option<String>, usize) {
        if !text.contains('@') {
            return (None, 0);
        }
        let (mut out, mut count, mut copied) = (String::new(), 0_usize, 0);
        let mut at = 0;
        while let Some(place) = text.get(at..).and_then(|rest| rest.find(SLASHES)) {
            let slash = at.saturating_add(place);
            at = slash.saturating_add(1);
            let Some((start, userinfo)) = userinfo(text, at) else { continue };
            out.push_str(text.get(copied..start).unwrap_or_default());
            self.redactor.write_hash(&mut out, "userinfo", userinfo);
            count = count.saturating_add(1);
            copied = start.saturating_add(userinfo.len());
            at = copied;
            if count > MAX_HASHES {
                break;
            }
        }
        if count == 0 {
            return (None, 0);
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        (Some(out), count)
    }

    /// The text between two delimiters, without its secret; `None` if it has none.
    fn piece(
        self,
        name: &str,
        piece: &str,
        kind: Kind,
        is_pair: bool,
        rounds: u8,
    ) -> Option<String> {
        let pair = piece.split_once('=').filter(|_| is_pair);
        if let Some((label, value)) = pair
            && self.redactor.names.is_secret(label)
        {
            return self.replaced(piece, label, value);
        }
        if is_pair && let Some((word, value)) = self.named_inside(piece, kind) {
            return self.replaced(piece, word, value);
        }
        let (name, value) = pair.unwrap_or((name, piece));
        let kind = if is_pair { Kind::Text } else { Kind::Link };
        if self.is_hidden_in(value, kind, rounds) {
            return self.replaced(piece, name, value);
        }
        None
    }

    /// A piece with a hash in place of the value at its end.
    fn replaced(self, piece: &str, name: &str, value: &str) -> Option<String> {
        if is_redacted(value) {
            return None;
        }
        let mut out = piece.strip_suffix(value).unwrap_or_default().to_owned();
        self.redactor.write_hash(&mut out, name, value);
        Some(out)
    }

    /// A secret name that separators follow inside a piece, and the value after it.
    fn named_inside(self, piece: &str, kind: Kind) -> Option<(&str, &str)> {
        let separates = |character| character == '=' || (character == ':' && kind == Kind::Body);
        let mut rest = piece;
        while let Some((before, after)) = rest.split_once(separates) {
            let word = last_word(before);
            if !word.is_empty() && self.redactor.names.is_secret(word) {
                return Some((word, after));
            }
            rest = after;
        }
        None
    }

    /// Whether a value has a secret when it is read as JSON, or decoded.
    fn is_hidden_in(self, value: &str, kind: Kind, rounds: u8) -> bool {
        if begins_as_json(value.trim_start_matches(SPACE_OR_MARK), Kind::Text) {
            return !self.json(value, rounds).is_nothing();
        }
        let Some(decoded) = again(value) else { return false };
        rounds
            .checked_sub(1)
            .is_none_or(|rounds| !self.searched("", &decoded, kind, rounds).is_nothing())
    }
}

/// Whether a text has any mark of a secret.
fn may_have_secrets(text: &str, kind: Kind) -> bool {
    let bytes = text.as_bytes();
    kind == Kind::Body
        || memchr3(b'=', b'%', b'@', bytes).is_some()
        || memchr2(b'{', b'[', bytes).is_some()
}

/// Whether a text, after space, begins as a JSON object or array. A bracket alone also begins
/// other texts than bodies: `[2001:db8::1]`.
fn begins_as_json(start: &str, kind: Kind) -> bool {
    match start.strip_prefix('[') {
        Some(_) if kind == Kind::Body => true,
        Some(inside) => inside.trim_start_matches(SPACE).starts_with(['{', '"', '[']),
        None => start.starts_with('{'),
    }
}

/// Whether a body begins as XML or HTML, or is made of MIME parts.
fn has_parts(start: &str, text: &str) -> bool {
    const PART: &[u8] = b"content-disposition:";
    start.starts_with('<')
        || start.starts_with("--")
        || memchr::memchr2_iter(b'c', b'C', text.as_bytes()).any(|at| {
            let end = at.saturating_add(PART.len());
            text.as_bytes().get(at..end).is_some_and(|part| part.eq_ignore_ascii_case(PART))
        })
}

/// The name that a text before a separator ends in.
fn last_word(text: &str) -> &str {
    let text = text.trim_end_matches(SPACE_OR_QUOTE);
    text.rsplit(NAME_STOPS).next().unwrap_or_default()
}

/// The text before the last `@` of an authority behind a slash, and its start. A canonical path has
/// one of two slashes left: there it must be a user and a password.
fn userinfo(text: &str, after_slash: usize) -> Option<(usize, &str)> {
    let rest = text.get(after_slash..)?;
    let (start, rest, is_authority) = match rest.strip_prefix(SLASHES) {
        Some(rest) => (after_slash.saturating_add(1), rest, true),
        None => (after_slash, rest, false),
    };
    let is_end = |byte: &u8| {
        matches!(byte, b'/' | b'\\' | b'?' | b'#' | b'"' | b'<' | b'>' | b' ' | b'\t'..=b'\r')
    };
    let end = rest.as_bytes().iter().position(is_end).unwrap_or(rest.len());
    let (userinfo, _) = rest.get(..end)?.rsplit_once('@')?;
    let has_password =
        || userinfo.find([':', '@']).is_some_and(|at| userinfo.as_bytes().get(at) == Some(&b':'));
    let is_one = !userinfo.is_empty() && (is_authority || has_password());
    is_one.then_some((start, userinfo))
}
