//! Timestamps, durations and time zones.

use std::fmt::Write;
use std::sync::LazyLock;

use jiff::SignedDuration;
use jiff::civil::{Date, date};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::{Function, Overload, Shape, member, overload, shaped};
use crate::functions::prepared::Prepared;
use crate::value::error::ErrorCode;
use crate::value::time::{TimeTextError, parse_duration, parse_timestamp};
use crate::value::{Duration, Timestamp, Value};

const NANOSECONDS: i128 = 1_000_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// Zone lookups stay this far from the ends of time, where the calendar runs out; no zone changes
/// its offset there.
const FIRST_ASKED: i64 = -62_135_596_800 + 2 * DAY;
const LAST_ASKED: i64 = 253_402_300_799 - 2 * DAY;

/// The zones of the package, not of the machine, so that all hosts agree.
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
    time_part("getFullYear", part!(Local::year)),
    time_part("getMonth", part!(|local: &Local| i64::from(local.date.month()).saturating_sub(1))),
    time_part(
        "getDayOfYear",
        part!(|local: &Local| i64::from(local.date.day_of_year()).saturating_sub(1)),
    ),
    time_part(
        "getDayOfMonth",
        part!(|local: &Local| i64::from(local.date.day()).saturating_sub(1)),
    ),
    time_part("getDate", part!(|local: &Local| i64::from(local.date.day()))),
    time_part(
        "getDayOfWeek",
        part!(|local: &Local| i64::from(local.date.weekday().to_sunday_zero_offset())),
    ),
    time_part("getHours", part!(Local::hour, |length| whole(length, HOUR))),
    time_part("getMinutes", part!(Local::minute, |length| whole(length, MINUTE))),
    time_part("getSeconds", part!(Local::second, |length| whole(length, 1))),
    time_part("getMilliseconds", part!(|local: &Local| local.millisecond, milliseconds)),
];

const fn time_part(name: &'static str, overloads: &'static [Overload]) -> Function {
    shaped(Shape::TimePart, member(name, overloads))
}

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

/// The number of whole `seconds` in a duration, rounded toward zero.
fn whole(length: Duration, seconds: i64) -> i64 {
    let unit = i128::from(seconds).saturating_mul(NANOSECONDS);
    length.0.checked_div(unit).and_then(|count| i64::try_from(count).ok()).unwrap_or_default()
}

/// The part of a duration below a second.
fn milliseconds(length: Duration) -> i64 {
    let rest = length.0.checked_rem(NANOSECONDS).unwrap_or_default();
    rest.checked_div(1_000_000).and_then(|count| i64::try_from(count).ok()).unwrap_or_default()
}

/// The zone of an IANA name, in its exact case, or of an offset such as `-02:30`.
pub(crate) fn find_zone(name: &str) -> Option<TimeZone> {
    if let Some(seconds) = offset_seconds(name) {
        return Offset::from_seconds(seconds?).ok().map(TimeZone::fixed);
    }
    let zone = ZONES.get(name).ok()?;
    (zone.iana_name() == Some(name) && !zone.is_unknown()).then_some(zone)
}

/// The seconds of `[+-]hh:mm`; None for text of another form, `Some(None)` if the time doesn't
/// exist.
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
    Some(
        hour.saturating_mul(HOUR)
            .saturating_add(minute.saturating_mul(MINUTE))
            .saturating_add(second),
    )
}

/// The number that some decimal digits write.
fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
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

/// Reads a timestamp; an error gives the code of the fault.
pub(super) fn read_timestamp(text: &str) -> Result<Timestamp, ErrorCode> {
    parse_timestamp(text).map_err(code_of)
}

/// Reads a duration; an error gives the code of the fault.
pub(super) fn read_duration(text: &str) -> Result<Duration, ErrorCode> {
    parse_duration(text).map_err(code_of)
}

const fn code_of(error: TimeTextError) -> ErrorCode {
    match error {
        TimeTextError::Malformed => ErrorCode::InvalidArgument,
        TimeTextError::OutOfRange => ErrorCode::Overflow,
    }
}

#[cfg(test)]
mod tests;
