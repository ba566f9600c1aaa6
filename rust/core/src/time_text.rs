//! Moments and lengths of time in text, as events and expressions write them.

use std::ops::RangeInclusive;

use crate::value::{Duration, Timestamp};

const NANOSECONDS_OF_SECOND: i32 = 1_000_000_000;
const NANOSECONDS: i128 = NANOSECONDS_OF_SECOND as i128;

/// The years 1 to 9999.
const TIMESTAMP_RANGE: RangeInclusive<i128> =
    -62_135_596_800 * NANOSECONDS..=253_402_300_800 * NANOSECONDS - 1;

/// Why a text is no moment or no length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeTextError {
    /// The text is not of the form, or names no day or time that exists.
    Malformed,
    /// The text means something beyond what the language can hold.
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
    let (seconds, nanosecond) = split_timestamp(text).ok_or(TimeTextError::Malformed)?;
    if text.starts_with("0000") {
        return Err(TimeTextError::OutOfRange);
    }
    let moment = i128::from(seconds).checked_mul(NANOSECONDS);
    moment
        .and_then(|moment| moment.checked_add(i128::from(nanosecond)))
        .filter(|moment| TIMESTAMP_RANGE.contains(moment))
        .map(Timestamp)
        .ok_or(TimeTextError::OutOfRange)
}

/// The seconds since 1970, and the nanoseconds after them.
fn split_timestamp(text: &str) -> Option<(i64, i32)> {
    let (date_time, rest) = text.as_bytes().split_first_chunk::<19>()?;
    let &[
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b'T', //
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
    ] = date_time
    else {
        return None;
    };
    let year = pair(y1, y2)?.checked_mul(100)?.checked_add(pair(y3, y4)?)?;
    let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
    let (hour, minute, second) = (pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?);
    let (nanosecond, offset) = split_fraction(rest)?;
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !is_day || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let of_day = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?;
    let of_day = of_day.checked_add(second)?.checked_sub(parse_offset(offset)?)?;
    let days = i64::from(days_since_epoch(year, month, day));
    Some((days.checked_mul(86_400)?.checked_add(i64::from(of_day))?, nanosecond))
}

/// How many days a month of a year has.
fn days_of(year: i32, month: i32) -> i32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28_i32.wrapping_add(i32::from(is_leap)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// How many days after the first of 1970 a day is.
fn days_since_epoch(year: i32, month: i32, day: i32) -> i32 {
    // Years begin in March here, so that a leap day is the last of its year; 400 years, after
    // which the calendar repeats, keep everything positive.
    let is_early = month < 3;
    let year = year.wrapping_add(i32::from(!is_early)).wrapping_sub(1).wrapping_add(400);
    let month = if is_early { month.wrapping_add(9) } else { month.wrapping_sub(3) };
    let leap_days = (year / 4).wrapping_sub(year / 100).wrapping_add(year / 400);
    let before_month = month.wrapping_mul(153).wrapping_add(2) / 5;
    let before_year = year.wrapping_mul(365).wrapping_add(leap_days);
    before_year.wrapping_add(before_month).wrapping_add(day).wrapping_sub(865_566)
}

/// The number of two ASCII digits.
fn pair(tens: u8, ones: u8) -> Option<i32> {
    let digit =
        |byte: u8| char::from(byte).to_digit(10).and_then(|digit| i32::try_from(digit).ok());
    digit(tens)?.checked_mul(10)?.checked_add(digit(ones)?)
}

/// The nanoseconds of a fraction, 0 without one, and what follows it.
fn split_fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let Some(mut rest) = text.strip_prefix(b".") else {
        return Some((0, text));
    };
    let (mut nanoseconds, mut unit) = (0_i32, NANOSECONDS_OF_SECOND);
    while let [byte @ b'0'..=b'9', after @ ..] = rest {
        unit /= 10;
        if unit == 0 {
            return None;
        }
        nanoseconds = i32::from(byte & 0xf).checked_mul(unit)?.checked_add(nanoseconds)?;
        rest = after;
    }
    (unit < NANOSECONDS_OF_SECOND).then_some((nanoseconds, rest))
}

/// The seconds of an offset from UTC.
fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, hours, minutes) = match text {
        b"Z" => return Some(0),
        [sign @ (b'+' | b'-'), hours @ .., b':', a, b] if hours.len() == 2 => {
            (*sign, decimal(hours)?, decimal(&[*a, *b])?)
        }
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
    if sign == b'-' { seconds.checked_neg() } else { Some(seconds) }
}

/// The number of a run of ASCII digits, at most nine.
fn decimal(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0i32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i32::from(byte & 0xf))?;
        number.checked_mul(10)?.checked_add(digit)
    })
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

/// The nanoseconds of the first number and unit (`None` when they overflow), and
/// what follows them.
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

/// The nanoseconds of a unit, and what follows it.
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
mod tests {
    use super::*;

    const SECOND: i128 = NANOSECONDS;

    fn nanoseconds(text: &str) -> Option<i128> {
        parse_timestamp(text).ok().map(|moment| moment.0)
    }

    #[test]
    fn moments_are_counted_from_the_epoch() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01T01:30:00+01:30", 0),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("2026-03-02T00:00:00.397Z", 1_772_409_600_397_000_000),
            ("2024-02-29T00:00:00.123456789Z", 1_709_164_800_123_456_789),
            ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
            ("9999-12-31T23:59:59Z", 253_402_300_799 * SECOND),
            ("2026-01-02T03:04:05+23:59", 1_767_236_705 * SECOND),
            ("2000-02-29T12:00:00Z", 951_825_600 * SECOND),
            ("2100-03-01T00:00:00Z", 4_107_542_400 * SECOND),
        ] {
            assert_eq!(nanoseconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "2026-01-02",
            "2026-01-02 03:04:05Z",
            "2026-01-02t03:04:05Z",
            "2026-01-02T03:04:05z",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05,1Z",
            "2026-01-02T03:04:05.1234567890Z",
            "2026-01-02T03:04:05+25:00",
            "2026-01-02T03:04:05+01:60",
            "2026-01-02T03:04:05+0100",
            "2026-01-02T03:04:05+1:00",
            "2026-01-02T03:04:05Z\n",
            " 2026-01-02T03:04:05Z",
            "2026-02-29T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T23:59:60Z",
            "0000-01-01T00:00:00Z",
            "0000-12-31T23:59:59-00:01",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T00:60:00Z",
            "10000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "٢٠٢٦-01-02T03:04:05Z",
            "20260102T030405Z",
            "2026-01-02T03:04:05\u{2212}01:00",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }

    #[test]
    fn moments_out_of_range_are_told_from_malformed_ones() {
        assert_eq!(parse_timestamp("0000-01-01T00:00:00Z"), Err(TimeTextError::OutOfRange));
        assert_eq!(parse_timestamp("9999-12-31T23:59:59-00:01"), Err(TimeTextError::OutOfRange));
        assert_eq!(parse_timestamp("2026-02-29T00:00:00Z"), Err(TimeTextError::Malformed));
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let epoch = jiff::civil::date(1970, 1, 1);
        for first in [1, 397, 1897, 1997, 2397, 9990] {
            let days = jiff::civil::date(first, 1, 1).series(jiff::Span::new().days(1));
            for day in days.take_while(|day| day.year() < first + 8) {
                let text = format!("{day}T00:00:00Z");
                let hours = i128::from(day.duration_since(epoch).as_hours());
                assert_eq!(nanoseconds(&text), Some(hours * 3_600 * SECOND), "{text}");
            }
        }
    }

    #[test]
    fn durations_add_their_parts() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("1h30m", 5_400 * SECOND),
            ("-1.5s", -1_500_000_000),
            (".5s", 500_000_000),
            ("1.s", SECOND),
            ("1s1s", 2 * SECOND),
            ("1ms2us3ns4\u{b5}s", 1_006_003),
            ("0.0000000019s", 1),
            ("9223372036854775807ns", i128::from(i64::MAX)),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration(expected)), "{text}");
        }
        for text in ["", "-", "1", "s", ".s", "1.5", "1 s", "1d", "--1s", "1s-1s", "00"] {
            assert_eq!(parse_duration(text), Err(TimeTextError::Malformed), "{text}");
        }
        let digits = "9".repeat(10_000);
        for text in ["9223372036854775808ns", "2562048h", &format!("{digits}s")] {
            assert_eq!(parse_duration(text), Err(TimeTextError::OutOfRange), "{text}");
        }
    }
}
