//! Regular expressions: constant patterns, compiled when the program is.

use super::{Function, Shape, function, member, overload, shaped};
use crate::functions::operators::Applied;
use crate::functions::prepared::Prepared;
use crate::functions::{Call, Overload};
use crate::value::error::ErrorCode;
use crate::value::limits::REGEX_SUBJECT_BYTES;
use crate::value::meter::units;
use crate::value::{Text, Value};
use tidegate_regex::Regex;

pub(super) const FUNCTIONS: &[Function] = &[
    shaped(Shape::Matches, member("matches", MATCHES)),
    shaped(Shape::Matches, function("matches", MATCHES)),
    shaped(
        Shape::Matches,
        member(
            "matchesAny",
            &[overload!(|call, subject: &str, _patterns: &crate::value::List<'_>| {
                let subject = clip(subject);
                let patterns = patterns(call);
                let work = &mut call.meter.work;
                Ok(Value::Bool(patterns.iter().any(|pattern| pattern.is_match(subject, work))))
            })],
        ),
    ),
    function(
        "regex.extract",
        &[overload!(|call, subject: &Text<'_>, _pattern: &str| extract(call, subject))],
    ),
    function(
        "regex.extractAll",
        &[overload!(|call, subject: &Text<'_>, _pattern: &str| extract_all(call, subject))],
    ),
    function(
        "regex.replace",
        &[
            overload!(|call, subject: &str, _pattern: &str, replacement: &str| {
                replace(call, subject, replacement, -1)
            }),
            overload!(|call, subject: &str, _pattern: &str, replacement: &str, count: i64| {
                replace(call, subject, replacement, count)
            }),
        ],
    ),
];

const MATCHES: &[Overload] = &[overload!(|call, subject: &str, _pattern: &str| {
    Ok(Value::Bool(pattern(call)?.is_match(clip(subject), &mut call.meter.work)))
})];

/// The part of a subject that a match reads.
pub(crate) fn clip(subject: &str) -> &str {
    let mut end = REGEX_SUBJECT_BYTES.min(subject.len());
    while !subject.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    subject.get(..end).unwrap_or(subject)
}

fn patterns<'a>(call: &Call<'a, '_>) -> &'a [Regex] {
    match call.prepared {
        Prepared::Patterns(patterns) => patterns,
        _ => &[],
    }
}

/// The pattern of the call.
///
/// # Errors
/// `invalid_argument` for one that isn't constant, which the checker rejects.
fn pattern<'a>(call: &Call<'a, '_>) -> Result<&'a Regex, ErrorCode> {
    patterns(call).first().ok_or(ErrorCode::InvalidArgument)
}

/// The pattern of the call, and which group is extracted: 0 for the whole match.
fn pattern_to_extract<'a>(call: &Call<'a, '_>) -> Result<(&'a Regex, usize), ErrorCode> {
    let pattern = pattern(call)?;
    match pattern.groups() {
        group @ (0 | 1) => Ok((pattern, group)),
        _ => Err(ErrorCode::InvalidArgument),
    }
}

fn extract<'a>(call: &mut Call<'a, '_>, subject: &Text<'a>) -> Applied<'a> {
    let (pattern, group) = pattern_to_extract(call)?;
    let mut matches = pattern.matches(clip(subject), &mut call.meter.work);
    let taken = matches.next().and_then(|found| found.get(group));
    let taken = taken.filter(|taken| group == 0 || !taken.is_empty());
    Ok(match taken {
        Some(taken) => Value::some(Value::String(subject.slice(taken))),
        None => Value::Optional(None),
    })
}

fn extract_all<'a>(call: &mut Call<'a, '_>, subject: &Text<'a>) -> Applied<'a> {
    let (pattern, group) = pattern_to_extract(call)?;
    let text = clip(subject);
    let mut found = Vec::new();
    for captures in pattern.matches(text, &mut call.meter.work) {
        // The search for each match may look at all of the text.
        call.meter.charge(units(text.len()))?;
        let taken = captures.get(group).filter(|taken| group == 0 || !taken.is_empty());
        found.extend(taken.map(|taken| Value::String(subject.slice(taken))));
    }
    Ok(Value::List(found.into()))
}

fn replace<'a>(
    call: &mut Call<'a, '_>,
    subject: &str,
    replacement: &str,
    count: i64,
) -> Applied<'a> {
    let pattern = pattern(call)?;
    let parts = replacement_parts(replacement, pattern.groups())?;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let text = clip(subject);
    let mut built = String::new();
    let mut copied = 0_usize;
    for captures in pattern.matches(text, &mut call.meter.work).take(limit) {
        call.meter.charge(units(text.len()))?;
        let Some(whole) = captures.get(0) else { break };
        built.push_str(text.get(copied..whole.start).unwrap_or_default());
        for part in &parts {
            built.push_str(match part {
                Part::Text(text) => text,
                Part::Group(group) => {
                    captures.get(*group).and_then(|taken| text.get(taken)).unwrap_or_default()
                }
            });
            call.meter.allow_bytes(built.len())?;
        }
        copied = whole.end;
    }
    built.push_str(subject.get(copied..).unwrap_or_default());
    call.meter.allow_bytes(built.len())?;
    Ok(Value::text(built))
}

enum Part<'t> {
    Text(&'t str),
    Group(usize),
}

/// The parts of a replacement: text, `\0` to `\9`, and `\\` for a backslash.
fn replacement_parts(replacement: &str, groups: usize) -> Result<Vec<Part<'_>>, ErrorCode> {
    let mut parts = Vec::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('\\') {
        parts.push(Part::Text(before));
        let escaped = after.chars().next().ok_or(ErrorCode::InvalidArgument)?;
        parts.push(match escaped.to_digit(10) {
            _ if escaped == '\\' => Part::Text("\\"),
            Some(group) => Part::Group(group as usize),
            None => return Err(ErrorCode::InvalidArgument),
        });
        rest = after.get(1..).unwrap_or_default();
    }
    parts.push(Part::Text(rest));
    let is_legal = |part: &Part<'_>| !matches!(part, Part::Group(group) if *group > groups);
    if parts.iter().all(is_legal) { Ok(parts) } else { Err(ErrorCode::InvalidArgument) }
}
