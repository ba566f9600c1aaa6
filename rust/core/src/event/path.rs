//! Paths: percent decoding, the canonical form, segments and extension.

pub mod target;

use std::borrow::Cow;

use bumpalo::Bump;
use wide::u8x16;

/// Blanks that some back ends cut off at the end of a segment.
const BLANKS: [char; 7] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r', '\u{a0}'];

/// The text with percent escapes decoded once. Bad sequences stay as they are;
/// bytes that aren't UTF-8 become U+FFFD.
pub fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = match after {
            [high, low, ..] if byte == b'%' => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        if let Some((high, low)) = escaped {
            decoded.push((high << 4) | low);
            rest = after.get(2..).unwrap_or_default();
        } else {
            decoded.push(byte);
            rest = after;
        }
    }
    Cow::Owned(match String::from_utf8(decoded) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The canonical path: decoded once, without empty and dot segments.
pub fn canonical_path<'a>(path: &'a str, arena: &'a Bump) -> &'a str {
    if is_canonical(path) {
        return path;
    }
    resolved(&percent_decode(path), |segment| segment, arena)
}

/// The path as the most lenient of back ends reads it (docs/fields.md).
pub fn lenient_path<'a>(path: &str, arena: &'a Bump) -> &'a str {
    let path = path.split('#').next().unwrap_or_default();
    let decoded = percent_decode(path);
    let decoded = percent_decode(&decoded).replace('\\', "/");
    resolved(&decoded, lenient_segment, arena)
}

/// A segment without its parameters, the name of a stream, and blanks and dots at its end.
fn lenient_segment(segment: &str) -> &str {
    let name = segment.split([';', '\0']).next().unwrap_or_default();
    let name = match name.split_once(":$") {
        Some((name, _)) => name.trim_end_matches(':'),
        None => name,
    };
    match name.trim_end_matches(BLANKS) {
        dots @ ("." | "..") => dots,
        _ => name.trim_end_matches(|end| end == '.' || BLANKS.contains(&end)),
    }
}

/// A decoded path without empty and dot segments.
fn resolved<'a>(decoded: &str, read: impl Fn(&str) -> &str, arena: &'a Bump) -> &'a str {
    let mut segments: Vec<&str> = Vec::new();
    let mut is_directory = false;
    for segment in decoded.split('/').map(read) {
        is_directory = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let mut canonical = bumpalo::collections::String::with_capacity_in(decoded.len(), arena);
    if decoded.starts_with('/') {
        canonical.push('/');
    }
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            canonical.push('/');
        }
        canonical.push_str(segment);
    }
    if is_directory && decoded.contains('/') && !canonical.ends_with('/') {
        canonical.push('/');
    }
    canonical.into_bump_str()
}

/// Whether the path certainly needs no change; some canonical paths are not recognised.
fn is_canonical(path: &str) -> bool {
    let bytes = path.as_bytes();
    let Some((first, after)) = bytes.split_first() else { return true };
    let before = bytes.split_last().map_or(after, |(_, before)| before);
    let is_split = |pair: (&u8, &u8)| matches!(pair, (_, b'%') | (b'/', b'/' | b'.'));
    let (blocks, rest) = before.as_chunks::<16>();
    let (after_blocks, after_rest) = after.as_chunks::<16>();
    let has_change = blocks.iter().zip(after_blocks).any(|(block, after)| {
        let [slash, dot, percent] = [b'/', b'.', b'%'].map(u8x16::splat);
        let (block, after) = (u8x16::new(*block), u8x16::new(*after));
        let ends = after.simd_eq(slash) | after.simd_eq(dot);
        (after.simd_eq(percent) | (block.simd_eq(slash) & ends)).to_bitmask() != 0
    });
    !matches!(first, b'.' | b'%') && !has_change && !rest.iter().zip(after_rest).any(is_split)
}

/// The segments of a path: the texts between slashes after the first one. `""` and `"/"` have none.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    let inner = path.strip_prefix('/').unwrap_or(path);
    let count = if inner.is_empty() { 0 } else { usize::MAX };
    inner.split('/').take(count)
}

/// The text after the last `.` of the last segment, `""` if that dot is missing or begins the
/// segment.
pub fn extension(path: &str) -> &str {
    let last = path.rsplit_once('/').map_or(path, |(_, last)| last);
    match last.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    }
}

#[cfg(test)]
mod tests;
