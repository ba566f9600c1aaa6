//! A strict reader of JSON text (RFC 8259), made for the events of the hot path.
//!
//! It makes one forward pass, builds only the values that the caller asks for, and checks all text,
//! including skipped parts: UTF-8, grammar, escapes, duplicate members, and the limits on depth,
//! members and strings. Strings without escapes
//! are borrowed from the text, others are decoded into the arena.

mod escapes;
pub mod fault;
mod lenient;
pub mod meaning;
pub(crate) mod member_names;
pub mod rows;
pub(crate) mod string_ends;
pub mod tree;
pub mod write;

use bumpalo::Bump;

pub use crate::json::fault::{Fault, FaultKind, Result, pointer_step};
use crate::json::member_names::Names;
use crate::json::string_ends::StringEnds;
use crate::value::limits::Limits;
use crate::value::map::Map;
use crate::value::{List, Text, Value};

/// The kind of the next value, known from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// Checks that bytes are one JSON text within the limits.
///
/// # Errors
/// The first [`Fault`] of the text.
pub fn check(bytes: &[u8], limits: &Limits) -> Result<()> {
    let arena = Bump::new();
    let mut reader = Reader::new(bytes, &arena, limits)?;
    reader.skip()?;
    reader.finish()
}

/// A place in a JSON text, moved forward by reading.
#[derive(Clone)]
pub struct Reader<'a> {
    text: &'a str,
    string_ends: StringEnds<'a>,
    at: usize,
    arena: &'a Bump,
    depth: usize,
    max_depth: usize,
    max_members: usize,
    max_string_bytes: usize,
    is_out_of_range: bool,
    has_space: bool,
    escaped: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the bytes, which are checked to be UTF-8.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub fn new(bytes: &'a [u8], arena: &'a Bump, limits: &Limits) -> Result<Self> {
        utf8(bytes).map(|text| Self::over(text, arena, limits))
    }

    /// A reader at the start of the text.
    pub fn over(text: &'a str, arena: &'a Bump, limits: &Limits) -> Self {
        Self {
            text,
            string_ends: StringEnds::of(text.as_bytes(), arena),
            at: 0,
            arena,
            depth: 0,
            max_depth: limits.event_depth,
            max_members: limits.event_members,
            max_string_bytes: limits.event_string_bytes,
            is_out_of_range: false,
            has_space: false,
            escaped: 0,
        }
    }

    pub fn arena(&self) -> &'a Bump {
        self.arena
    }

    /// Whether [`Self::value`] has met a number that no kind of number holds.
    pub fn is_out_of_range(&self) -> bool {
        self.is_out_of_range
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The position in the bytes; the next value's place in a text without space.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Whether there was space between the parts of the text.
    pub(crate) fn has_space(&self) -> bool {
        self.has_space
    }

    /// Strings and names with an escape, so far.
    pub(crate) fn escaped(&self) -> usize {
        self.escaped
    }

    /// Whether a byte comes next, white space apart.
    #[inline]
    pub(crate) fn next_is(&mut self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    /// The kind of the next value, which is not read yet.
    #[inline]
    pub fn kind(&mut self) -> Result<Kind> {
        Ok(match self.peek() {
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => return Err(self.unexpected("a value")),
        })
    }

    /// A fault of the value that comes next.
    #[cold]
    pub fn shape_fault(&self, message: impl Into<String>) -> Box<Fault> {
        Fault::new(FaultKind::Shape, message, self.at)
    }

    /// A fault of the text that [`Self::texts`] has read and handed over.
    #[cold]
    pub fn text_shape_fault(&self, text: &str, message: impl Into<String>) -> Box<Fault> {
        let quoted = text.len().saturating_add(2);
        Fault::new(FaultKind::Shape, message, self.at.saturating_sub(quoted))
    }

    /// Reads a string.
    #[inline]
    pub fn string(&mut self) -> Result<&'a str> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a string"));
        }
        self.quoted()
    }

    /// Reads the string whose quote comes next.
    #[inline]
    fn quoted(&mut self) -> Result<&'a str> {
        let plain = self.text.get(self.at..).and_then(|rest| self.plain_string(rest));
        let Some((text, rest)) = plain else { return self.unusual_string() };
        self.go_to(rest);
        Ok(text)
    }

    #[cold]
    fn unusual_string(&mut self) -> Result<&'a str> {
        let start = self.at.wrapping_add(1);
        let end = self.string_ends.next(start);
        if self.byte_at(end) == Some(b'"') {
            return Err(self.long_string(start));
        }
        self.escaped_string(start, end)
    }

    /// Reads a name, and the text after it if both are plain. Reads nothing without a
    /// [`Self::plain_name`].
    #[inline(always)]
    fn plain_member(&mut self, names: &mut Names<'a>) -> Option<(&'a str, Option<&'a str>)> {
        let (name, rest) = self.plain_name(names)?;
        let (text, rest) = match self.plain_string(rest) {
            Some((text, rest)) => (Some(text), rest),
            None => (None, rest),
        };
        self.go_to(rest);
        Some((name, text))
    }

    /// The next name, if it has no space or escape and is surely new to the object, and the text
    /// after its colon.
    #[inline(always)]
    fn plain_name(&self, names: &mut Names<'a>) -> Option<(&'a str, &'a str)> {
        // Looked at first, as in a plain string.
        self.byte_at(self.at).filter(|byte| *byte == b'"')?;
        let (name, rest) = self.plain_string(self.text.get(self.at..)?)?;
        let rest = rest.strip_prefix(':')?;
        let is_added = names.len() < self.max_members && names.add_new_of_few(name);
        is_added.then_some((name, rest))
    }

    /// Moves to the beginning of the rest of the text.
    #[inline]
    fn go_to(&mut self, rest: &str) {
        self.at = self.text.len().wrapping_sub(rest.len());
    }

    /// The string that begins the rest of the text, if it has no escape and is not too long, and
    /// the text after it.
    #[inline(always)]
    fn plain_string(&self, rest: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = rest.strip_prefix('"')?;
        let length = self.string_ends.distance(self.text.len().wrapping_sub(rest.len()));
        // Looked at first, so that both texts need no other look at where they begin and end.
        if rest.as_bytes().get(length) != Some(&b'"') || length > self.max_string_bytes {
            return None;
        }
        let (text, rest) = rest.split_at_checked(length)?;
        Some((text, rest.strip_prefix('"')?))
    }

    /// Reads a number and gives its text.
    pub fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        if self.byte_at(self.at) == Some(b'-') {
            self.step();
        }
        if self.byte_at(self.at) == Some(b'0') {
            self.step();
        } else {
            self.digits()?;
        }
        if self.byte_at(self.at) == Some(b'.') {
            self.step();
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte_at(self.at) {
            self.step();
            if let Some(b'+' | b'-') = self.byte_at(self.at) {
                self.step();
            }
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool> {
        if self.peek() == Some(b't') {
            self.word("true")?;
            return Ok(true);
        }
        self.word("false")?;
        Ok(false)
    }

    /// Reads `null`.
    pub fn null(&mut self) -> Result<()> {
        self.peek();
        self.word("null")
    }

    /// Reads an object; `member` is called after each name and reads its value.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Result<()>,
    ) -> Result<()> {
        self.members(
            |reader, names| match reader.plain_name(names) {
                Some((name, rest)) => {
                    reader.go_to(rest);
                    Ok((name, ()))
                }
                None => Ok((reader.member_name(names)?, ())),
            },
            |reader, name, ()| member(reader, name),
        )
    }

    /// Reads an object most of whose values are texts: `member` is called with each name and its
    /// text, or with None if the value is not a plain text: then it reads the value.
    #[inline]
    pub fn texts(
        &mut self,
        member: impl FnMut(&mut Self, &'a str, Option<&'a str>) -> Result<()>,
    ) -> Result<()> {
        let read = |reader: &mut Self, names: &mut Names<'a>| match reader.plain_member(names) {
            Some(read) => Ok(read),
            None => Ok((reader.member_name(names)?, None)),
        };
        self.members(read, member)
    }

    /// Reads an object; `read` reads each name, and perhaps a value, and `member` reads the rest.
    #[inline(always)]
    fn members<T>(
        &mut self,
        read: impl Fn(&mut Self, &mut Names<'a>) -> Result<(&'a str, T)>,
        mut member: impl FnMut(&mut Self, &'a str, T) -> Result<()>,
    ) -> Result<()> {
        self.open(b'{', "an object")?;
        if self.closes(b'}') {
            return Ok(());
        }
        let mut names = Names::default();
        loop {
            let (name, value) = read(self, &mut names)?;
            if let Err(fault) = member(self, name, value) {
                return Err(fault.under(name));
            }
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array; `element` is called with each index and reads the element.
    #[inline]
    pub fn array(&mut self, mut element: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.open(b'[', "an array")?;
        if self.closes(b']') {
            return Ok(());
        }
        for index in 0.. {
            if index == self.max_members {
                return Err(self.many("elements in an array", self.at));
            }
            if let Err(fault) = element(self, index) {
                return Err(fault.under(index));
            }
            if self.ends(b']')? {
                break;
            }
        }
        Ok(())
    }

    /// Checks the next value and passes it over.
    pub fn skip(&mut self) -> Result<()> {
        match self.kind()? {
            Kind::String => self.string().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::Object => self.object(|reader, _| reader.skip()),
            Kind::Array => self.array(|reader, _| reader.skip()),
            Kind::Bool => self.boolean().map(drop),
            Kind::Null => self.null(),
        }
    }

    /// Reads any value: integers where they fit, maps in the order of the text.
    pub fn value(&mut self) -> Result<Value<'a>> {
        Ok(match self.kind()? {
            Kind::String => Value::String(Text::Borrowed(self.string()?)),
            Kind::Number => self.numeric_value()?,
            Kind::Bool => Value::Bool(self.boolean()?),
            Kind::Null => {
                self.null()?;
                Value::Null
            }
            Kind::Array => {
                let mut elements = Vec::new();
                self.array(|reader, _| {
                    elements.push(reader.value()?);
                    Ok(())
                })?;
                Value::List(List::from(elements))
            }
            Kind::Object => {
                let mut entries = Vec::new();
                self.object(|reader, name| {
                    entries.push((Value::String(Text::Borrowed(name)), reader.value()?));
                    Ok(())
                })?;
                Value::Map(Map::from_unique(entries).into())
            }
        })
    }

    /// Checks that nothing follows.
    pub fn finish(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the text")),
        }
    }

    /// Reads the name of a member, which the object has not had yet, and the colon
    /// after it.
    fn member_name(&mut self, names: &mut Names<'a>) -> Result<&'a str> {
        let offset = self.at;
        let name = self.name()?;
        if !names.add(name) {
            return Err(duplicate(name, offset));
        }
        if names.len() > self.max_members {
            return Err(self.many("members in an object", offset));
        }
        Ok(name)
    }

    /// Reads a name and the colon after it.
    #[inline]
    fn name(&mut self) -> Result<&'a str> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a member name"));
        }
        let name = self.quoted()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.step();
        Ok(name)
    }

    fn numeric_value(&mut self) -> Result<Value<'a>> {
        let text = self.number()?;
        if let Some(value) = integer_value(text) {
            return Ok(value);
        }
        let number: f64 = text.parse().unwrap_or(f64::NAN);
        self.is_out_of_range |= !number.is_finite();
        Ok(Value::Double(number))
    }

    /// Skips white space and gives the next byte.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        match self.byte_at(self.at) {
            Some(byte) if byte <= b' ' => self.pass_space(),
            byte => byte,
        }
    }

    #[cold]
    fn pass_space(&mut self) -> Option<u8> {
        self.has_space = true;
        loop {
            match self.byte_at(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.step(),
                byte => return byte,
            }
        }
    }

    #[inline]
    fn byte_at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    #[inline]
    fn step(&mut self) {
        self.at = self.at.wrapping_add(1);
    }

    fn digits(&mut self) -> Result<()> {
        if !matches!(self.byte_at(self.at), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        while let Some(b'0'..=b'9') = self.byte_at(self.at) {
            self.step();
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<()> {
        let end = self.at.wrapping_add(word.len());
        if self.text.as_bytes().get(self.at..end) != Some(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at = end;
        Ok(())
    }

    #[inline]
    fn open(&mut self, bracket: u8, wanted: &str) -> Result<()> {
        if self.peek() != Some(bracket) {
            return Err(self.unexpected(wanted));
        }
        if self.depth >= self.max_depth {
            return Err(self.deep());
        }
        self.depth = self.depth.wrapping_add(1);
        self.step();
        Ok(())
    }

    /// Whether the object or array just opened ends here, without a part.
    #[inline]
    fn closes(&mut self, bracket: u8) -> bool {
        let is_closed = self.peek() == Some(bracket);
        if is_closed {
            self.close();
        }
        is_closed
    }

    /// Whether the object or array ends after a part; false if another part follows.
    #[inline]
    fn ends(&mut self, bracket: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.step();
                Ok(false)
            }
            Some(byte) if byte == bracket => {
                self.close();
                Ok(true)
            }
            _ => Err(self.unexpected(if bracket == b'}' { "`,` or `}`" } else { "`,` or `]`" })),
        }
    }

    #[inline]
    fn close(&mut self) {
        self.depth = self.depth.wrapping_sub(1);
        self.step();
    }

    #[cold]
    fn text_fault(&self, message: impl Into<String>) -> Box<Fault> {
        Fault::new(FaultKind::Text, message, self.at)
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> Box<Fault> {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.text_fault(match found {
            Some(found) => format!("expected {wanted}, found `{}`", found.escape_debug()),
            None => format!("expected {wanted}, found the end of the text"),
        })
    }

    #[cold]
    fn long_string(&self, start: usize) -> Box<Fault> {
        let message = format!("a string is longer than {} bytes", self.max_string_bytes);
        Fault::new(FaultKind::Limit, message, start.saturating_sub(1))
    }

    #[cold]
    fn many(&self, what: &str, offset: usize) -> Box<Fault> {
        Fault::new(FaultKind::Limit, format!("more than {} {what}", self.max_members), offset)
    }

    #[cold]
    fn deep(&self) -> Box<Fault> {
        let message = format!("objects and arrays nest deeper than {}", self.max_depth);
        Fault::new(FaultKind::Limit, message, self.at)
    }
}

/// The integer that a number's text writes without fraction or exponent.
pub fn integer_value<'a>(text: &str) -> Option<Value<'a>> {
    let signed = text.parse().map(Value::Int);
    signed.or_else(|_| text.parse().map(Value::Uint)).ok()
}

/// The bytes as text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| invalid_utf8(bytes))
}

#[cold]
fn invalid_utf8(bytes: &[u8]) -> Box<Fault> {
    let offset = simdutf8::compat::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
    Fault::new(FaultKind::Text, "the text is not valid UTF-8", offset)
}

#[cold]
fn duplicate(name: &str, offset: usize) -> Box<Fault> {
    Fault::new(FaultKind::Text, format!("duplicate member `{}`", name.escape_debug()), offset)
}

#[cfg(test)]
mod tests;
