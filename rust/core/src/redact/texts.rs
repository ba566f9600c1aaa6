//! Texts that may have secrets inside: URLs, forms, JSON, and texts encoded in them.

use bumpalo::Bump;

use super::families::{Kind as NameKind, may_be_held};
use super::kept::Kept;
use super::names::again;
use super::place::Place;
use super::values::Scan;
use super::{DIGITS, HASH, Redactor, Writer, is_redacted};
use crate::json::{Kind as JsonKind, Reader};

/// Hashes in one text; a text with more secrets is one secret as a whole.
const MAX_HASHES: usize = 64;
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
const SPACE_OR_MARK: [char; 5] = [' ', '\t', '\n', '\r', '\u{feff}'];
const SPACE_OR_QUOTE: [char; 7] = [' ', '\t', '\n', '\r', '"', '\'', '`'];
/// Ends of names that are quoted in quoted texts, or are subscripts.
const SPACE_QUOTE_OR_END: [char; 9] = [' ', '\t', '\n', '\r', '"', '\'', '`', '\\', ']'];
/// Between the columns of a table.
const CELLS: [char; 4] = [',', ';', '\t', '|'];
const SLASHES: [char; 2] = ['/', '\\'];
const DELIMITERS: [char; 4] = ['?', '#', '&', ';'];
/// Characters that don't occur inside names.
const NAME_STOPS: [char; 19] = [
    ' ', '\t', '\n', '\r', '"', '\'', '`', ',', '(', ')', '{', '}', '<', '>', '|', '/', '\\', ':',
    '=',
];

/// The kind of a text, which determines the search in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A path or URL: no pair before the first delimiter.
    Link,
    /// A query by itself.
    Search,
    /// The body of a request.
    Body,
    /// A parameter of a query.
    Query,
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

    /// A text of a member whose name isn't secret, without its secrets; `None` if it has none.
    /// `kept` is for a body, of which not all may be kept.
    pub(super) fn redacted(
        self,
        name: &str,
        text: &str,
        kind: Kind,
        rounds: u8,
        kept: Kept<'r>,
    ) -> Option<String> {
        if text.is_empty() || is_redacted(text) {
            return None;
        }
        let names = &self.redactor.names;
        let is_queried = kind == Kind::Query;
        if (is_queried || may_be_held(text)) && names.kind(name).holds(text, is_queried) {
            return Some(self.redactor.secret(name, text));
        }
        let scan = self.scan(text);
        if scan.is_quiet() && kept.is_whole() && !self.is_limited(kind, scan) {
            return None;
        }
        match self.searched(name, text, kind, rounds, scan, kept) {
            Found::Nothing => None,
            Found::Parts(redacted) if redacted.len() <= self.redactor.limits.event_string_bytes => {
                Some(redacted)
            }
            Found::Parts(_) | Found::Whole => Some(self.redactor.secret(name, text)),
        }
    }

    fn scan(self, text: &str) -> Scan {
        self.redactor.names.families.values.scan(text)
    }

    /// Whether some parameters in a link may not be kept.
    fn is_limited(self, kind: Kind, scan: Scan) -> bool {
        let has_pairs = kind == Kind::Search || (kind == Kind::Link && scan.marks.has_delimiter);
        has_pairs && self.redactor.read.is_some()
    }

    fn searched(
        self,
        name: &str,
        text: &str,
        kind: Kind,
        rounds: u8,
        scan: Scan,
        kept: Kept<'r>,
    ) -> Found {
        let start = text.trim_start_matches(SPACE_OR_MARK);
        if begins_as_json(start, kind) {
            return self.json(text, rounds, kept);
        }
        if !kept.is_whole() {
            return Found::Whole;
        }
        let is_document = kind == Kind::Body && (start.starts_with('<') || start.starts_with("--"));
        let marks = scan.marks;
        if is_document
            || (marks.has_colon && has_parts(text))
            || (marks.has_tag && self.is_markup(text))
            || (marks.has_line && self.is_table(text))
        {
            return Found::Whole;
        }
        self.pairs(name, text, kind, rounds, scan)
    }

    /// Whether a text has XML or HTML with the name of a secret in it.
    fn is_markup(self, text: &str) -> bool {
        let is_name = |found: regex::Captures<'_>| {
            let name = found.iter().skip(1).flatten().next();
            name.is_some_and(|name| self.redactor.is_label(name.as_str()))
        };
        self.redactor.names.families.in_markup.captures_iter(text).any(is_name)
    }

    /// Whether the first of several lines has the names of columns, one of them a secret's.
    fn is_table(self, text: &str) -> bool {
        let Some((head, rest)) = text.split_once('\n') else { return false };
        if rest.trim_matches(SPACE).is_empty() || head.contains(['=', ':']) {
            return false;
        }
        let is_one = !head.contains(CELLS);
        head.split(CELLS)
            .map(|cell| cell.trim_matches(SPACE_OR_QUOTE))
            .any(|cell| !(is_one && cell.contains(' ')) && self.redactor.is_label(cell))
    }

    /// A text that begins like JSON; if it isn't JSON, all of it is a secret.
    fn json(self, text: &str, rounds: u8, kept: Kept<'r>) -> Found {
        let Some(rounds) = rounds.checked_sub(1) else { return Found::Whole };
        let mut out = String::with_capacity(text.len());
        match self.json_into(text, rounds, kept, &mut out) {
            Some(true) => Found::Parts(out),
            Some(false) => Found::Nothing,
            None => Found::Whole,
        }
    }

    /// Whether JSON has secrets; `None` if the text is not JSON.
    fn json_into(self, text: &str, rounds: u8, kept: Kept<'r>, out: &mut String) -> Option<bool> {
        let text = self.arena.alloc_str(text);
        let mut reader = Reader::over(text, self.arena, &self.redactor.limits);
        if !matches!(reader.kind().ok()?, JsonKind::Object | JsonKind::Array) {
            return None;
        }
        let mut inner = Writer { rounds, ..Writer::writing(self.redactor, self.arena, out) };
        inner.value(&mut reader, "", Place::Inner, kept).ok()?;
        reader.finish().ok()?;
        Some(inner.has_redacted)
    }

    /// Names and values of a query. The text before the first delimiter of a link isn't a pair.
    fn pairs(self, name: &str, text: &str, kind: Kind, rounds: u8, scan: Scan) -> Found {
        let (valued, mut count) = self.without_values(name, text, scan);
        let seen = valued.as_deref().unwrap_or(text);
        let marks = scan.marks;
        let may_pair = || {
            let has_pieces = kind != Kind::Link || marks.has_delimiter;
            marks.has_pair && has_pieces && self.redactor.names.may_be_in(seen)
        };
        if !marks.has_hiding && !may_pair() && !self.is_limited(kind, scan) {
            return if count > MAX_HASHES {
                Found::Whole
            } else {
                valued.map_or(Found::Nothing, Found::Parts)
            };
        }
        let (without, more) = self.without_userinfo(seen);
        count = count.saturating_add(more);
        let text_now = without.as_deref().unwrap_or(seen);
        let mut out = String::new();
        let (mut copied, mut at) = (0, 0);
        for (number, piece) in text_now.split(DELIMITERS).enumerate() {
            let is_pair = number > 0 || kind != Kind::Link;
            let end = piece.len().saturating_add(at);
            let is_of_query = is_pair && matches!(kind, Kind::Link | Kind::Search);
            let made = if is_of_query && !self.redactor.keeps_in_link(piece) {
                self.unread(name, piece)
            } else {
                self.piece(name, piece, is_pair, rounds)
            };
            if let Some(made) = made {
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
            return match without.or(valued) {
                Some(made) if made != text => Found::Parts(made),
                _ => Found::Nothing,
            };
        }
        out.push_str(text_now.get(copied..).unwrap_or_default());
        Found::Parts(out)
    }

    /// The text with a hash for each value that looks like a secret, if any; and their number.
    fn without_values(self, name: &str, text: &str, scan: Scan) -> (Option<String>, usize) {
        let names = &self.redactor.names;
        let spans = names.families.values.spans(text, scan);
        if spans.is_empty() || names.is_clear(name) {
            return (None, 0);
        }
        let (mut out, mut copied) = (String::new(), 0);
        for span in &spans {
            out.push_str(text.get(copied..span.start).unwrap_or_default());
            self.redactor.write_hash(&mut out, name, text.get(span.clone()).unwrap_or_default());
            copied = span.end;
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        (Some(out), spans.len())
    }

    /// The text with the user and password of each URL hashed, if any; and their number.
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

    /// A part of a query with a hash in place of its value; all of it, if it has no name.
    fn unread(self, name: &str, piece: &str) -> Option<String> {
        let (name, value) = piece.split_once('=').unwrap_or((name, piece));
        self.replaced(piece, name, value)
    }

    /// The text between two delimiters, without its secret; `None` if it has none.
    fn piece(self, name: &str, piece: &str, is_pair: bool, rounds: u8) -> Option<String> {
        let pair = piece.split_once('=').filter(|_| is_pair);
        if let Some((label, value)) = pair
            && self.redactor.names.holds_secret(label, value, true)
        {
            return self.replaced(piece, label, value);
        }
        if is_pair && let Some((word, value)) = self.named_inside(piece) {
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

    /// A secret name that a separator follows inside a piece, and the rest after it.
    fn named_inside(self, piece: &str) -> Option<(&str, &str)> {
        let end = piece.trim_end_matches(SPACE_OR_QUOTE).len();
        let (mut before, mut space) = (0, 0);
        for (at, byte) in piece.bytes().enumerate() {
            let after = at.saturating_add(1);
            let is_space = matches!(byte, b' ' | b'\t');
            let word = match byte {
                b'=' | b':' => {
                    let word = last_word(piece.get(before..at)?);
                    before = after;
                    word
                }
                b' ' | b'\t' if piece.get(space..)?.starts_with("--") => piece.get(space..at)?,
                b' ' | b'\t' if matches!(piece.as_bytes().get(after), Some(b'"' | b'\'')) => {
                    let word = last_word(piece.get(before..at)?);
                    before = at;
                    word
                }
                b' ' | b'\t' => "",
                _ => continue,
            };
            if is_space {
                space = after;
            }
            let is_hash = after
                .checked_sub(HASH.len())
                .and_then(|start| piece.get(start..)?.get(..HASH.len().saturating_add(DIGITS)))
                .is_some_and(is_redacted);
            if word.is_empty() || is_hash {
                continue;
            }
            let names = &self.redactor.names;
            let kind = if byte == b'=' { names.kind(word) } else { names.kind_of_word(word) };
            if kind == NameKind::NONE {
                continue;
            }
            let value =
                piece.get(after..end).unwrap_or_default().trim_start_matches(SPACE_OR_QUOTE);
            let is_secret = kind == NameKind::ALL || kind.holds(value, byte == b'=');
            if is_secret && !value.is_empty() {
                return Some((word, piece.get(after..)?));
            }
        }
        None
    }

    /// Whether a value has a secret when it is read as JSON, or decoded.
    fn is_hidden_in(self, value: &str, kind: Kind, rounds: u8) -> bool {
        if begins_as_json(value.trim_start_matches(SPACE_OR_MARK), Kind::Text) {
            return !self.json(value, rounds, Kept::Whole).is_nothing();
        }
        let Some(decoded) = again(value) else { return false };
        rounds.checked_sub(1).is_none_or(|rounds| {
            let scan = self.scan(&decoded);
            !self.searched("", &decoded, kind, rounds, scan, Kept::Whole).is_nothing()
        })
    }
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

/// Whether a text is made of MIME parts.
fn has_parts(text: &str) -> bool {
    const PART: &[u8] = b"content-disposition:";
    memchr::memchr2_iter(b'c', b'C', text.as_bytes()).any(|at| {
        let end = at.saturating_add(PART.len());
        text.as_bytes().get(at..end).is_some_and(|part| part.eq_ignore_ascii_case(PART))
    })
}

/// The name that a text before a separator ends in.
fn last_word(text: &str) -> &str {
    let text = text.trim_end_matches(SPACE_QUOTE_OR_END);
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
