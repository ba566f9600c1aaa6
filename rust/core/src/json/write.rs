//! Writing JSON: strings, numbers, members, lists.

use std::fmt::Write;
use uuid::Uuid;

/// Appends a whole number.
pub fn push_int(out: &mut String, value: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(value));
}

/// Appends a JSON string. It escapes only the characters that must be escaped.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    if !has_escaped(text) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut rest = text;
    while let Some((place, byte)) = rest.bytes().enumerate().find(|&(_, byte)| is_escaped(byte)) {
        let (plain, escaped) = rest.split_at_checked(place).unwrap_or((rest, ""));
        out.push_str(plain);
        write_escape(out, byte);
        // An escaped byte is a whole character.
        rest = escaped.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}

/// Whether any byte must be escaped. The loop never ends early, so that the compiler makes vector
/// comparisons of it.
pub(crate) fn has_escaped(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | is_escaped(byte))
}

pub(crate) fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

pub(crate) fn write_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        // Writing to a string cannot fail.
        control => _ = write!(out, "\\u{control:04x}"),
    }
}

/// Appends a member, which is not the first.
pub fn member(out: &mut String, name: &str, text: Option<&str>) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    optional(out, text);
}

/// Appends an id as a JSON string.
pub fn write_id(out: &mut String, id: Uuid) {
    out.push('"');
    push_id(out, id);
    out.push('"');
}

pub fn push_id(out: &mut String, id: Uuid) {
    out.push_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
}

/// Appends 16 bytes in hexadecimal digits.
pub fn push_hash(out: &mut String, hash: &[u8; 16]) {
    out.push_str(Uuid::from_bytes_ref(hash).simple().encode_lower(&mut Uuid::encode_buffer()));
}

pub fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => write_string(out, text),
        None => out.push_str("null"),
    }
}

pub fn list<T>(
    out: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}
