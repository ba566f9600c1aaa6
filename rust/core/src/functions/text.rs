//! Strings: the standard functions, the strings extension, and ours for traffic.

use std::borrow::Cow;

use memchr::memmem;

use super::{Function, Place, Pricing, Shape, function, member, overload, priced, shaped};
use crate::event::path::percent_decode;
use crate::functions::operators::Applied;
use crate::functions::prepared::{LikePattern, Prepared};
use crate::functions::{Call, Overload};
use crate::value::error::ErrorCode;
use crate::value::{List, Text, Value};

const MAX_DECODE_ROUNDS: i64 = 5;

pub(super) const FUNCTIONS: &[Function] = &[
    shaped(
        Shape::Has(Place::Anywhere),
        member("contains", &[overload!(|call, text: &str, part: &str| contains(call, text, part))]),
    ),
    priced(
        Pricing::Affix,
        shaped(
            Shape::Has(Place::Start),
            member(
                "startsWith",
                &[overload!(|_, text: &str, prefix: &str| Ok(Value::Bool(
                    text.starts_with(prefix)
                )))],
            ),
        ),
    ),
    priced(
        Pricing::Affix,
        shaped(
            Shape::Has(Place::End),
            member(
                "endsWith",
                &[overload!(|_, text: &str, suffix: &str| Ok(Value::Bool(text.ends_with(suffix))))],
            ),
        ),
    ),
    shaped(
        Shape::HasAny(Place::Anywhere),
        member(
            "containsAny",
            &[
                overload!(|call, text: &str, parts: &List<'_>| contains_any(call, text, parts)),
                overload!(|call, text: &str, list: &str| {
                    has_phrase(call, text, list, Place::Anywhere)
                }),
            ],
        ),
    ),
    shaped(
        Shape::HasAny(Place::Start),
        member(
            "startsWithAny",
            &[
                overload!(|_, text: &str, prefixes: &List<'_>| {
                    any(prefixes, |prefix| text.starts_with(prefix))
                }),
                overload!(|call, text: &str, list: &str| {
                    has_phrase(call, text, list, Place::Start)
                }),
            ],
        ),
    ),
    shaped(
        Shape::HasAny(Place::End),
        member(
            "endsWithAny",
            &[
                overload!(|_, text: &str, suffixes: &List<'_>| {
                    any(suffixes, |suffix| text.ends_with(suffix))
                }),
                overload!(|call, text: &str, list: &str| {
                    has_phrase(call, text, list, Place::End)
                }),
            ],
        ),
    ),
    shaped(Shape::Lower, member("lowerAscii", LOWER)),
    shaped(Shape::Lower, member("lower", LOWER)),
    shaped(Shape::Upper, member("upperAscii", UPPER)),
    shaped(Shape::Upper, member("upper", UPPER)),
    member(
        "charAt",
        &[overload!(|_, text: &Text<'_>, index: i64| {
            let start = offset(text, index)?;
            let length =
                text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
            Ok(Value::String(text.slice(start..start.saturating_add(length))))
        })],
    ),
    member(
        "indexOf",
        &[
            overload!(|_, text: &str, part: &str| index_of(text, part, 0)),
            overload!(|_, text: &str, part: &str, start: i64| index_of(text, part, start)),
        ],
    ),
    member(
        "lastIndexOf",
        &[
            overload!(|_, text: &str, part: &str| {
                Ok(position(text, memmem::rfind(text.as_bytes(), part.as_bytes())))
            }),
            overload!(|_, text: &str, part: &str, start: i64| last_index_of(text, part, start)),
        ],
    ),
    member(
        "substring",
        &[
            overload!(|_, text: &Text<'_>, start: i64| {
                Ok(Value::String(text.slice(offset(text, start)?..text.len())))
            }),
            overload!(|_, text: &Text<'_>, start: i64, end: i64| {
                let (first, last) = (offset(text, start)?, offset(text, end)?);
                if last < first {
                    return Err(ErrorCode::IndexOutOfRange);
                }
                Ok(Value::String(text.slice(first..last)))
            }),
        ],
    ),
    member("trim", &[overload!(|_, text: &Text<'_>| Ok(Value::String(trim(text))))]),
    member(
        "reverse",
        &[
            overload!(|_, text: &str| Ok(Value::text(text.chars().rev().collect::<String>()))),
            overload!(|_, values: &List<'_>| {
                Ok(Value::List(values.iter().rev().cloned().collect::<Vec<_>>().into()))
            }),
        ],
    ),
    member(
        "replace",
        &[
            overload!(|call, text: &str, old: &str, new: &str| replace(call, text, old, new, -1)),
            overload!(|call, text: &str, old: &str, new: &str, count: i64| {
                replace(call, text, old, new, count)
            }),
        ],
    ),
    member(
        "split",
        &[
            overload!(|_, text: &Text<'_>, separator: &str| Ok(split(text, separator, -1))),
            overload!(|_, text: &Text<'_>, separator: &str, parts: i64| {
                Ok(split(text, separator, parts))
            }),
        ],
    ),
    member(
        "join",
        &[
            overload!(|call, parts: &List<'_>| join(call, parts, "")),
            overload!(|call, parts: &List<'_>, separator: &str| join(call, parts, separator)),
        ],
    ),
    function("strings.quote", &[overload!(|call, text: &str| quote(call, text))]),
    shaped(
        Shape::Like,
        member(
            "like",
            &[overload!(|call, text: &str, pattern: &str| {
                Ok(Value::Bool(match call.prepared {
                    Prepared::Like(pattern) => pattern.matches(text),
                    _ => LikePattern::new(pattern).matches(text),
                }))
            })],
        ),
    ),
    shaped(
        Shape::LikeLower,
        member(
            "ilike",
            &[overload!(|call, text: &str, pattern: &str| {
                let text = text.to_ascii_lowercase();
                Ok(Value::Bool(match call.prepared {
                    Prepared::Like(pattern) => pattern.matches(&text),
                    _ => LikePattern::new(&pattern.to_ascii_lowercase()).matches(&text),
                }))
            })],
        ),
    ),
    member(
        "urlDecode",
        &[
            overload!(|_, text: &Text<'_>| Ok(Value::String(url_decode(text, 1)))),
            overload!(|_, text: &Text<'_>, rounds: i64| {
                if !(0..=MAX_DECODE_ROUNDS).contains(&rounds) {
                    return Err(ErrorCode::InvalidArgument);
                }
                Ok(Value::String(url_decode(text, rounds)))
            }),
        ],
    ),
    member(
        "formDecode",
        &[overload!(|_, text: &str| {
            let spaced = text.replace('+', " ");
            Ok(Value::text(percent_decode(&spaced).into_owned()))
        })],
    ),
    member("segments", &[overload!(|_, path: &Text<'_>| Ok(segments(path)))]),
];

const LOWER: &[Overload] = &[overload!(|_, text: &Text<'_>| Ok(Value::String(
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.clone()
    }
)))];

const UPPER: &[Overload] = &[overload!(|_, text: &Text<'_>| Ok(Value::String(
    if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        text.to_ascii_uppercase().into()
    } else {
        text.clone()
    }
)))];

fn contains<'a>(call: &Call<'a, '_>, text: &str, part: &str) -> Applied<'a> {
    Ok(Value::Bool(match call.prepared {
        Prepared::Part(part) => part.is_in(text),
        _ => memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
    }))
}

fn contains_any<'a>(call: &Call<'a, '_>, text: &str, parts: &[Value<'_>]) -> Applied<'a> {
    match call.prepared {
        Prepared::Parts(search) => Ok(Value::Bool(search.is_match(text))),
        _ => any(parts, |part| memmem::find(text.as_bytes(), part.as_bytes()).is_some()),
    }
}

/// Whether a text has a phrase of a named list at a place.
fn has_phrase<'a>(call: &Call<'a, '_>, text: &str, name: &str, place: Place) -> Applied<'a> {
    let list = call.list(name)?;
    call.lists.has_phrase(list, place, text).map(Value::Bool).ok_or(ErrorCode::InvalidArgument)
}

/// Whether the test holds for any of the elements. Fails if one is not a string.
fn any<'a>(elements: &[Value<'_>], test: impl Fn(&str) -> bool) -> Applied<'a> {
    strings(elements)?;
    Ok(Value::Bool(elements.iter().filter_map(Value::as_str).any(test)))
}

/// The elements as text.
///
/// # Errors
/// `no_such_overload` if one isn't a string.
pub(super) fn strings<'v>(elements: &'v [Value<'_>]) -> Result<Vec<&'v str>, ErrorCode> {
    elements.iter().map(|element| element.as_str().ok_or(ErrorCode::NoSuchOverload)).collect()
}

/// The byte at which the character of an index starts; the end of the text counts.
fn offset(text: &str, index: i64) -> Result<usize, ErrorCode> {
    let index = usize::try_from(index).map_err(|_| ErrorCode::IndexOutOfRange)?;
    let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    starts.into_iter().nth(index).ok_or(ErrorCode::IndexOutOfRange)
}

/// The index of the character that starts at a byte, or -1.
fn position<'a>(text: &str, start: Option<usize>) -> Value<'a> {
    let before = start.and_then(|start| text.get(..start));
    Value::Int(before.map_or(-1, |before| i64::try_from(before.chars().count()).unwrap_or(-1)))
}

fn index_of<'a>(text: &str, part: &str, start: i64) -> Applied<'a> {
    let first = offset(text, start)?;
    let rest = text.get(first..).unwrap_or_default();
    let found = memmem::find(rest.as_bytes(), part.as_bytes());
    Ok(position(text, found.map(|found| found.saturating_add(first))))
}

/// The last place that starts at `start` or before it.
fn last_index_of<'a>(text: &str, part: &str, start: i64) -> Applied<'a> {
    let last = offset(text, start)?;
    let end = last.saturating_add(part.len()).min(text.len());
    let head = text.as_bytes().get(..end).unwrap_or_default();
    Ok(position(text, memmem::rfind(head, part.as_bytes())))
}

fn trim<'a>(text: &Text<'a>) -> Text<'a> {
    let start = text.len().saturating_sub(text.trim_start().len());
    text.slice(start..start.saturating_add(text.trim().len()))
}

/// Replaces from the left; a negative count means all.
fn replace<'a>(
    call: &mut Call<'a, '_>,
    text: &str,
    old: &str,
    new: &str,
    count: i64,
) -> Applied<'a> {
    let occurrences = text.matches(old).count();
    let replaced = usize::try_from(count).map_or(occurrences, |count| count.min(occurrences));
    // Each takes as long as a unit of bytes does, and they may be as many as the bytes.
    call.meter.work.add(occurrences as u64);
    let removed = replaced.saturating_mul(old.len());
    let kept = text.len().saturating_sub(removed);
    call.meter.allow_bytes(kept.saturating_add(replaced.saturating_mul(new.len())))?;
    Ok(Value::text(text.replacen(old, new, replaced)))
}

/// Splits into at most `limit` parts, the rest being the last; negative: no limit.
fn split<'a>(text: &Text<'a>, separator: &str, parts: i64) -> Value<'a> {
    let limit = usize::try_from(parts).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut start = 0_usize;
    if limit == 0 || (separator.is_empty() && text.is_empty()) {
        return Value::List(found.into());
    }
    while found.len().saturating_add(1) < limit {
        let rest = text.get(start..).unwrap_or_default();
        let (length, skipped) = if separator.is_empty() {
            let mut characters = rest.chars();
            let first = characters.next().map_or(0, char::len_utf8);
            if characters.next().is_none() {
                break;
            }
            (first, 0)
        } else {
            let Some(length) = memmem::find(rest.as_bytes(), separator.as_bytes()) else { break };
            (length, separator.len())
        };
        let end = start.saturating_add(length);
        found.push(Value::String(text.slice(start..end)));
        start = end.saturating_add(skipped);
    }
    found.push(Value::String(text.slice(start..text.len())));
    Value::List(found.into())
}

fn join<'a>(call: &mut Call<'a, '_>, parts: &[Value<'_>], separator: &str) -> Applied<'a> {
    let parts = strings(parts)?;
    let separators = parts.len().saturating_sub(1).saturating_mul(separator.len());
    let length = parts.iter().fold(separators, |sum, part| sum.saturating_add(part.len()));
    call.meter.allow_bytes(length)?;
    Ok(Value::text(parts.join(separator)))
}

fn quote<'a>(call: &mut Call<'a, '_>, text: &str) -> Applied<'a> {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    quoted.push('"');
    for character in text.chars() {
        let escape = match character {
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{b}' => "\\v",
            '\\' => "\\\\",
            '"' => "\\\"",
            other => {
                quoted.push(other);
                continue;
            }
        };
        quoted.push_str(escape);
    }
    quoted.push('"');
    call.meter.allow_bytes(quoted.len())?;
    Ok(Value::text(quoted))
}

/// Percent-decodes in rounds, ending when one changes nothing.
fn url_decode<'a>(text: &Text<'a>, rounds: i64) -> Text<'a> {
    let mut current = text.clone();
    for _ in 0..rounds {
        let decoded = match percent_decode(&current) {
            Cow::Borrowed(_) => break,
            Cow::Owned(decoded) => decoded,
        };
        current = decoded.into();
    }
    current
}

/// The parts of a path after its first `/`.
fn segments<'a>(path: &Text<'a>) -> Value<'a> {
    let start = usize::from(path.starts_with('/'));
    let rest = path.slice(start..path.len());
    if rest.is_empty() { Value::List(Vec::new().into()) } else { split(&rest, "/", -1) }
}

#[cfg(test)]
mod tests;
