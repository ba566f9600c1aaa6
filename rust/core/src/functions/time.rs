//! Timestamps, durations and time zones.

use std::fmt::Write;
use std::sync::LazyLock;

use jiff::SignedDuration;
use jiff::civil::{Date, date};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::{Function, member, overload, split_digits};
use crate::error::ErrorCode;
use crate::prepare::Prepared;
use crate::value::{Duration, Timestamp, Value};

const NANOSECONDS: i128 = 1_000_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// Zones are asked about moments this far from the ends of time, where the
/// calendar runs out; no zone changes its offset there.
const FIRST_ASKED: i64 = -62_135_596_800 + 2 * DAY;
const LAST_ASKED: i64 = 253_402_300_799 - 2 * DAY;

/// The zones of the package, not of the machine: every host knows the same.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The overloads of a part of a timestamp: in UTC, and in a zone by name.
macro_rules! part {
    ($part:expr $(, $duration:expr)?) => {
        &[
            overload!(|_, moment: Timestamp| {
                Ok(Value::Int($part(&Local::new(moment, &TimeZone::UTC))))
            }),
            overload!(|call, moment: Timestamp, zone: &str| {
                let local = match call.prepared {
                    Prepared::Zone(zone) => Local::new(moment, zone),
                    _ => Local::new(moment, &find_zone(zone).ok_or(ErrorCode::InvalidArgument)?),
                };
                Ok(Value::Int($part(&local)))
            }),
            $(overload!(|_, length: Duration| Ok(Value::Int($duration(length)))),)?
        ]
    };
}

pub(super) const FUNCTIONS: &[Function] = &[
    member("getFullYear", part!(Local::year)),
    member("getMonth", part!(|local: &Local| i64::from(local.date.month()).saturating_sub(1))),
    member(
        "getDayOfYear",
        part!(|local: &Local| i64::from(local.date.day_of_year()).saturating_sub(1)),
    ),
    member("getDayOfMonth", part!(|local: &Local| i64::from(local.date.day()).saturating_sub(1))),
    member("getDate", part!(|local: &Local| i64::from(local.date.day()))),
    member(
        "getDayOfWeek",
        part!(|local: &Local| i64::from(local.date.weekday().to_sunday_zero_offset())),
    ),
    member("getHours", part!(Local::hour, |length| whole(length, HOUR))),
    member("getMinutes", part!(Local::minute, |length| whole(length, MINUTE))),
    member("getSeconds", part!(Local::second, |length| whole(length, 1))),
    member("getMilliseconds", part!(|local: &Local| local.millisecond, milliseconds)),
];

/// A moment on the clocks of a zone.
struct Local {
    date: Date,
    /// Years to add to those of `date`, which has only four digits.
    years_beyond: i64,
    second_of_day: i64,
    millisecond: i64,
}

impl Local {
    fn new(moment: Timestamp, zone: &TimeZone) -> Self {
        let seconds = floor_seconds(moment);
        let asked = jiff::Timestamp::from_second(seconds.clamp(FIRST_ASKED, LAST_ASKED));
        let offset = asked.map_or(0, |asked| zone.to_offset(asked).seconds());
        let seconds = seconds.saturating_add(i64::from(offset));
        let days = seconds.div_euclid(DAY);
        let (date, years_beyond) = match date_of_day(days) {
            Some(date) => (date, 0),
            // The year 10000, which only zones reach, is like the year 9600.
            None => (date_of_day(days.saturating_sub(DAYS_IN_400_YEARS)).unwrap_or_default(), 400),
        };
        let subsecond = moment.0.rem_euclid(NANOSECONDS).div_euclid(1_000_000);
        Self {
            date,
            years_beyond,
            second_of_day: seconds.rem_euclid(DAY),
            millisecond: i64::try_from(subsecond).unwrap_or_default(),
        }
    }

    fn year(&self) -> i64 {
        i64::from(self.date.year()).saturating_add(self.years_beyond)
    }

    fn hour(&self) -> i64 {
        self.second_of_day.div_euclid(HOUR)
    }

    fn minute(&self) -> i64 {
        self.second_of_day.div_euclid(MINUTE).rem_euclid(60)
    }

    fn second(&self) -> i64 {
        self.second_of_day.rem_euclid(60)
    }
}

fn date_of_day(days: i64) -> Option<Date> {
    let since = SignedDuration::from_secs(days.checked_mul(DAY)?);
    date(1970, 1, 1).checked_add(since).ok()
}

/// Seconds since the Unix epoch, rounded down.
pub(super) fn floor_seconds(moment: Timestamp) -> i64 {
    i64::try_from(moment.0.div_euclid(NANOSECONDS)).unwrap_or_default()
}

/// How often a number of seconds goes into a duration, rounded toward zero.
fn whole(length: Duration, seconds: i64) -> i64 {
    let unit = i128::from(seconds).saturating_mul(NANOSECONDS);
    length.0.checked_div(unit).and_then(|count| i64::try_from(count).ok()).unwrap_or_default()
}

/// What is left of a duration below a second.
fn milliseconds(length: Duration) -> i64 {
    let rest = length.0.checked_rem(NANOSECONDS).unwrap_or_default();
    rest.checked_div(1_000_000).and_then(|count| i64::try_from(count).ok()).unwrap_or_default()
}

/// The zone of an IANA name, told apart by case, or of an offset such as `-02:30`.
pub(crate) fn find_zone(name: &str) -> Option<TimeZone> {
    if let Some(seconds) = offset_seconds(name) {
        return Offset::from_seconds(seconds?).ok().map(TimeZone::fixed);
    }
    let zone = ZONES.get(name).ok()?;
    (zone.iana_name() == Some(name) && !zone.is_unknown()).then_some(zone)
}

/// The seconds of `[+-]hh:mm`, None for text of another form, `Some(None)` when
/// there is no such time.
fn offset_seconds(text: &str) -> Option<Option<i32>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let [b'0'..=b'9', b'0'..=b'9', b':', b'0'..=b'9', b'0'..=b'9'] = digits.as_bytes() else {
        return None;
    };
    let seconds = clock(number(digits.get(..2)?)?, number(digits.get(3..)?)?, 0);
    let sign = if text.starts_with('-') { -1 } else { 1 };
    Some(seconds.and_then(|seconds| i32::try_from(seconds.saturating_mul(sign)).ok()))
}

/// The seconds of a time of day, if it exists.
fn clock(hour: i64, minute: i64, second: i64) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(hour.saturating_mul(HOUR).saturating_add(minute.saturating_mul(MINUTE)).saturating_add(second))
}

/// The number that some decimal digits write.
fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Reads RFC 3339 with upper-case `T` and `Z`, at most nine digits of fraction
/// and no leap second.
///
/// # Errors
/// `invalid_argument` for text of another form or no time that exists;
/// `overflow` outside the years 1 to 9999.
pub(crate) fn parse_timestamp(text: &str) -> Result<Timestamp, ErrorCode> {
    let parts = TimestampParts::split(text).ok_or(ErrorCode::InvalidArgument)?;
    let [year, month, day, hour, minute, second] = parts.numbers;
    if year == 0 {
        return Err(ErrorCode::Overflow);
    }
    let seconds = parts
        .seconds_of_day(month, day, year)
        .zip(clock(hour, minute, second))
        .zip(parts.offset)
        .map(|((days, clock), offset)| days.saturating_add(clock).saturating_sub(offset))
        .ok_or(ErrorCode::InvalidArgument)?;
    let nanoseconds = i128::from(seconds).saturating_mul(NANOSECONDS);
    Timestamp::checked(nanoseconds.saturating_add(parts.nanoseconds)).ok_or(ErrorCode::Overflow)
}

/// The numbers in the text of a timestamp, not yet known to be a time.
struct TimestampParts {
    numbers: [i64; 6],
    nanoseconds: i128,
    /// Seconds east of UTC; None when there is no such offset.
    offset: Option<i64>,
}

impl TimestampParts {
    fn split(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_at_checked(19)?;
        let field = |start: usize, end: usize| number(whole.get(start..end)?);
        let signs = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
        let has_signs =
            signs.iter().all(|(at, sign)| whole.get(*at..).is_some_and(|rest| rest.starts_with(*sign)));
        if !has_signs {
            return None;
        }
        let numbers = [
            field(0, 4)?,
            field(5, 7)?,
            field(8, 10)?,
            field(11, 13)?,
            field(14, 16)?,
            field(17, 19)?,
        ];
        let (nanoseconds, zone) = match rest.strip_prefix('.') {
            None => (0, rest),
            Some(rest) => {
                let (digits, zone) = split_digits(rest);
                if digits.is_empty() || digits.len() > 9 {
                    return None;
                }
                (i128::from(number(&format!("{digits:0<9}"))?), zone)
            }
        };
        let offset = match zone {
            "Z" => Some(0),
            _ if zone.starts_with(['+', '-']) => offset_seconds(zone)?.map(i64::from),
            _ => return None,
        };
        Some(Self { numbers, nanoseconds, offset })
    }

    /// Seconds from the Unix epoch to the start of a day, if it exists.
    fn seconds_of_day(&self, month: i64, day: i64, year: i64) -> Option<i64> {
        let day = Date::new(
            i16::try_from(year).ok()?,
            i8::try_from(month).ok()?,
            i8::try_from(day).ok()?,
        );
        Some(day.ok()?.duration_since(date(1970, 1, 1)).as_secs())
    }
}

/// RFC 3339 in UTC, the fraction without trailing zeros.
pub(crate) fn timestamp_text(moment: Timestamp) -> String {
    let local = Local::new(moment, &TimeZone::UTC);
    let mut text = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        local.year(),
        local.date.month(),
        local.date.day(),
        local.hour(),
        local.minute(),
        local.second()
    );
    push_fraction(&mut text, moment.0.rem_euclid(NANOSECONDS));
    text.push('Z');
    text
}

fn push_fraction(text: &mut String, nanoseconds: i128) {
    if nanoseconds > 0 {
        let digits = format!("{nanoseconds:09}");
        // Writing to a string cannot fail.
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

/// Seconds, exact, the fraction without trailing zeros: `-90.5s`.
pub(crate) fn duration_text(length: Duration) -> String {
    let sign = if length.0 < 0 { "-" } else { "" };
    let magnitude = length.0.saturating_abs();
    let mut text = format!("{sign}{}", magnitude.div_euclid(NANOSECONDS));
    push_fraction(&mut text, magnitude.rem_euclid(NANOSECONDS));
    text.push('s');
    text
}

/// Digits of a fraction that are read; an hour has fewer than 10^13 nanoseconds.
const FRACTION_DIGITS: usize = 18;

/// Longest number of a duration whose value can be in range.
const WHOLE_DIGITS: usize = 20;

/// Reads numbers with units, as `1h30m`, `-1.5s` and `0`.
///
/// # Errors
/// `invalid_argument` for text of another form; `overflow` when out of range.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, ErrorCode> {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut total = Some(0_i128);
    if rest == "0" {
        return Ok(Duration(0));
    }
    if rest.is_empty() {
        return Err(ErrorCode::InvalidArgument);
    }
    while !rest.is_empty() {
        let (part, after) = DurationPart::split(rest).ok_or(ErrorCode::InvalidArgument)?;
        // The form of what follows matters even when this part is out of range.
        total = total.zip(part.nanoseconds()).map(|(total, part)| total.saturating_add(part));
        rest = after;
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    total
        .and_then(|total| Duration::checked(total.saturating_mul(sign)))
        .ok_or(ErrorCode::Overflow)
}

struct DurationPart<'t> {
    whole: &'t str,
    fraction: &'t str,
    unit: i128,
}

impl<'t> DurationPart<'t> {
    /// The part that a text starts with, and what follows it.
    fn split(text: &'t str) -> Option<(Self, &'t str)> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, rest) = UNITS
            .iter()
            .find_map(|(name, unit)| rest.strip_prefix(name).map(|rest| (*unit, rest)))?;
        Some((Self { whole, fraction, unit }, rest))
    }

    /// None when the number is too long to be in range.
    fn nanoseconds(&self) -> Option<i128> {
        let whole = self.whole.trim_start_matches('0');
        if whole.len() > WHOLE_DIGITS {
            return None;
        }
        let fraction = self.fraction.get(..FRACTION_DIGITS).unwrap_or(self.fraction);
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let below = digits(fraction).checked_mul(self.unit)?.checked_div(scale)?;
        digits(whole).checked_mul(self.unit)?.checked_add(below)
    }
}

/// Units with the longer names first, so that `ms` is not read as `m`.
const UNITS: &[(&str, i128)] = &[
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ns", 1),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// The number of at most twenty digits; no digits are zero.
fn digits(text: &str) -> i128 {
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tests::{fails, gives};

    fn timestamp(text: &str) -> Value<'static> {
        Value::Timestamp(parse_timestamp(text).unwrap())
    }

    #[test]
    fn timestamps_are_strict_rfc_3339() {
        for text in [
            "2009-02-13T23:31:30Z",
            "0001-01-01T00:00:00.000000001Z",
            "9999-12-31T23:59:59.999999999Z",
            "2024-02-29T00:00:00.5Z",
        ] {
            assert_eq!(timestamp_text(parse_timestamp(text).unwrap()), text);
        }
        let zoned = parse_timestamp("2009-02-13T23:31:30+01:00").unwrap();
        assert_eq!(timestamp_text(zoned), "2009-02-13T22:31:30Z");
        for text in [
            "",
            "2009-02-13 23:31:30Z",
            "2009-02-13t23:31:30z",
            "2009-02-30T00:00:00Z",
            "2009-02-13T24:00:00Z",
            "2009-02-13T23:59:60Z",
            "2009-02-13T23:31:30",
            "2009-02-13T23:31:30.Z",
            "2009-02-13T23:31:30.1234567890Z",
            "2009-02-13T23:31:30+24:00",
            "2009-02-13T23:31:30+0100",
            "+009-02-13T23:31:30Z",
            "2009-02-1éT23:31:30Z",
        ] {
            assert_eq!(parse_timestamp(text), Err(ErrorCode::InvalidArgument), "{text}");
        }
        for text in ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(parse_timestamp(text), Err(ErrorCode::Overflow), "{text}");
        }
    }

    #[test]
    fn durations_add_up_their_parts() {
        for (text, expected) in [
            ("0", "0s"),
            ("-0", "0s"),
            ("1h30m", "5400s"),
            ("-1.5s", "-1.5s"),
            (".5s1.s", "1.5s"),
            ("1µs1μs1us", "0.000003s"),
            ("1ms1m", "60.001s"),
            ("0.0000000001h", "0.00000036s"),
        ] {
            assert_eq!(duration_text(parse_duration(text).unwrap()), expected, "{text}");
        }
        for text in ["", "-", "1", "s", ".s", "1.5", "1d", "1s ", "00", "1s0", "+-1s", "1e3s"] {
            assert_eq!(parse_duration(text), Err(ErrorCode::InvalidArgument), "{text}");
        }
        for text in ["320000000000s", "99999999999999999999999h", "9223372036854775808ns"] {
            assert_eq!(parse_duration(text), Err(ErrorCode::Overflow), "{text}");
        }
        let least = parse_duration("-9223372036854775808ns").unwrap();
        assert_eq!(duration_text(least), "-9223372036.854775808s");
    }

    #[test]
    fn parts_follow_the_clocks_of_the_zone() {
        let moment = timestamp("2009-02-13T23:31:30Z");
        let zone = |name: &'static str| [moment.clone(), Value::text(name)];
        gives("getHours", true, &zone("Europe/Amsterdam"), Value::Int(0));
        gives("getDate", true, &zone("+00:30"), Value::Int(14));
        gives("getDate", true, &zone("-02:30"), Value::Int(13));
        gives("getDayOfWeek", true, std::slice::from_ref(&moment), Value::Int(5));
        for name in ["europe/amsterdam", "Etc/Unknown", "Nowhere", "24:00", "+1:00", ""] {
            fails("getHours", true, &zone(name), ErrorCode::InvalidArgument);
        }
    }

    #[test]
    fn zones_reach_past_the_ends_of_time() {
        let last = [timestamp("9999-12-31T23:59:59Z"), Value::text("+01:00")];
        gives("getFullYear", true, &last, Value::Int(10_000));
        gives("getDayOfYear", true, &last, Value::Int(0));
        let first = [timestamp("0001-01-01T00:00:00Z"), Value::text("-01:00")];
        gives("getFullYear", true, &first, Value::Int(0));
    }

    #[test]
    fn parts_of_durations_are_whole_but_for_milliseconds() {
        let length = || [Value::Duration(Duration(-3_730_500_000_000))];
        gives("getMinutes", true, &length(), Value::Int(-62));
        gives("getSeconds", true, &length(), Value::Int(-3730));
        gives("getMilliseconds", true, &length(), Value::Int(-500));
    }
}
