//! Parses timestamps and durations as events and expressions write them.

use std::ops::RangeInclusive;

use jiff::civil::DateTime;

use crate::value::{Duration, Timestamp};

const NANOSECONDS: i128 = 1_000_000_000;

/// The years 1 to 9999.
const TIMESTAMP_RANGE: RangeInclusive<i128> =
    -62_135_596_800 * NANOSECONDS..=253_402_300_800 * NANOSECONDS - 1;

/// Why a text isn't a timestamp or a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeTextError {
    /// The text isn't of the form, or the day or time doesn't exist.
    Malformed,
    /// The value is beyond the range of the language.
    OutOfRange,
}

type Result<T> = std::result::Result<T, TimeTextError>;

/// Reads RFC 3339 text: `2009-02-13T23:31:30.5+01:00`.
///
/// `T` and `Z` in upper case, at most nine digits of fraction, no leap second, an
/// offset (`Z` or `±HH:MM`) of at most 23:59.
///
/// # Errors
/// The text is not of this form, or outside the years 1 to 9999 in UTC.
pub fn parse_timestamp(text: &str) -> Result<Timestamp> {
    let (local, offset_seconds) = split_timestamp(text).ok_or(TimeTextError::Malformed)?;
    let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    // Not jiff's timestamps: theirs end some hours before the year 10000.
    let offset = i128::from(offset_seconds).checked_mul(NANOSECONDS);
    offset
        .and_then(|offset| local.duration_since(epoch).as_nanos().checked_sub(offset))
        .filter(|moment| TIMESTAMP_RANGE.contains(moment))
        .map(Timestamp)
        .ok_or(TimeTextError::OutOfRange)
}

fn split_timestamp(text: &str) -> Option<(DateTime, i32)> {
    let (date_time, rest) = text.as_bytes().split_first_chunk::<19>()?;
    let [c, y, a, b, b'-', m, n, b'-', d, e, b'T', h, i, b':', o, p, b':', s, t] = *date_time
    else {
        return None;
    };
    let year = i16::from(pair(c, y)?).wrapping_mul(100).wrapping_add(pair(a, b)?.into());
    let (nanosecond, offset) = split_fraction(rest)?;
    let [month, day, hour] = [pair(m, n)?, pair(d, e)?, pair(h, i)?];
    let [minute, second] = [pair(o, p)?, pair(s, t)?];
    let local = DateTime::new(year, month, day, hour, minute, second, nanosecond).ok()?;
    Some((local, parse_offset(offset)?))
}

/// Reads the forms of ISO 8601 that name one moment (`docs/fields.md`, "The event"), such as
/// `20090213t2331+01`.
///
/// # Errors
/// The text is in none of these forms, or outside the years 1 to 9999 in UTC.
pub fn parse_moment(text: &str) -> Result<Timestamp> {
    match parse_timestamp(text) {
        Err(TimeTextError::Malformed) => written_out(text)
            .ok_or(TimeTextError::Malformed)
            .and_then(|text| parse_timestamp(&text)),
        read => read,
    }
}

/// A moment of ISO 8601 as RFC 3339 writes it.
fn written_out(text: &str) -> Option<String> {
    let (year, rest) = text.split_at_checked(4)?;
    let dash = if rest.starts_with('-') { "-" } else { "" };
    let (month, rest) = two(rest.strip_prefix(dash)?)?;
    let (day, rest) = two(rest.strip_prefix(dash)?)?;
    let (hour, mut rest) = two(rest.strip_prefix(['T', 't', ' '])?)?;
    let colon = if rest.starts_with(':') { ":" } else { "" };
    let (mut minute, mut second, mut fraction) = ("00", "00", String::new());
    if let Some((found, after)) = rest.strip_prefix(colon).and_then(two) {
        (minute, rest) = (found, after);
        if let Some((found, after)) = rest.strip_prefix(colon).and_then(two) {
            (second, rest) = (found, after);
            if let Some(digits) = rest.strip_prefix(['.', ',']) {
                let (digits, after) = split_digits(digits);
                fraction = format!(".{digits:.9}");
                rest = after;
            }
        }
    }
    let offset = if let "Z" | "z" = rest {
        String::from("Z")
    } else {
        let (sign, rest) = rest.split_at_checked(1)?;
        let (hours, rest) = two(rest)?;
        let minutes = rest.strip_prefix(':').unwrap_or(rest);
        format!("{sign}{hours}:{}", if rest.is_empty() { "00" } else { minutes })
    };
    Some(format!("{year}-{month}-{day}T{hour}:{minute}:{second}{fraction}{offset}"))
}

/// The first two bytes of a text that begins with two digits, and the text after them.
fn two(text: &str) -> Option<(&str, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some((digits, rest))
}

/// The nanoseconds of a fraction, 0 without one, and the text after it.
fn split_fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    const SECOND: i32 = 1_000_000_000;
    let Some(mut rest) = text.strip_prefix(b".") else {
        return Some((0, text));
    };
    let (mut nanoseconds, mut unit) = (0_i32, SECOND);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        unit /= 10;
        if unit == 0 {
            return None;
        }
        nanoseconds = nanoseconds.wrapping_add(i32::from(digit & 0xf).wrapping_mul(unit));
        rest = after;
    }
    (unit < SECOND).then_some((nanoseconds, rest))
}

/// The seconds of an offset from UTC.
fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, hours, minutes) = match text {
        b"Z" => return Some(0),
        [sign @ (b'+' | b'-'), h, i, b':', m, n] => {
            (*sign, i32::from(pair(*h, *i)?), i32::from(pair(*m, *n)?))
        }
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
    if sign == b'-' { seconds.checked_neg() } else { Some(seconds) }
}

/// The number of two digits.
fn pair(tens: u8, ones: u8) -> Option<i8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| (byte & 0xf).cast_signed());
    Some(digit(tens)?.wrapping_mul(10).wrapping_add(digit(ones)?))
}

/// Digits of a fraction that are read; an hour has fewer than 10^13 nanoseconds.
const FRACTION_DIGITS: usize = 18;

/// Reads numbers with units: `1h30m`, `-1.5s`, `0`.
///
/// Units are `h m s ms us ns` (and `µs`), as often as one likes. The fraction of
/// each part is exact, cut below the nanosecond.
///
/// # Errors
/// The text is not of this form, or means more nanoseconds than 64 bits hold.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(Duration(0));
    }
    if rest.is_empty() {
        return Err(TimeTextError::Malformed);
    }
    let mut total = Some(0i128);
    while !rest.is_empty() {
        let (part, after) = split_part(rest).ok_or(TimeTextError::Malformed)?;
        total = total.zip(part).and_then(|(total, part)| total.checked_add(part));
        rest = after;
    }
    let total = if is_negative { total.and_then(i128::checked_neg) } else { total };
    total
        .filter(|nanoseconds| i64::try_from(*nanoseconds).is_ok())
        .map(Duration)
        .ok_or(TimeTextError::OutOfRange)
}

/// The nanoseconds of the first number and unit (`None` if they overflow), and the text after them.
fn split_part(text: &str) -> Option<(Option<i128>, &str)> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) = split_unit(rest)?;
    Some((scaled(whole, fraction, unit), rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The nanoseconds of a unit, and the text after it.
fn split_unit(text: &str) -> Option<(i128, &str)> {
    const UNITS: [(&str, i128); 8] = [
        ("ms", 1_000_000),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ns", 1),
        ("h", 3_600 * NANOSECONDS),
        ("m", 60 * NANOSECONDS),
        ("s", NANOSECONDS),
    ];
    UNITS.iter().find_map(|(name, unit)| text.strip_prefix(name).map(|rest| (*unit, rest)))
}

fn scaled(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = part.checked_mul(unit)?.checked_div(scale)?;
    whole.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests;
