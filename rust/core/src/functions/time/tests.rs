use super::*;
use crate::functions::tests::{fails, gives};

fn timestamp(text: &str) -> Value<'static> {
    Value::Timestamp(parse_timestamp(text).unwrap())
}

#[test]
fn timestamps_and_durations_are_written_as_they_are_read() {
    for text in [
        "2009-02-13T23:31:30Z",
        "0001-01-01T00:00:00.000000001Z",
        "9999-12-31T23:59:59.999999999Z",
        "2024-02-29T00:00:00.5Z",
    ] {
        assert_eq!(timestamp_text(parse_timestamp(text).unwrap()), text);
    }
    for text in ["0s", "-1.5s", "60.001s", "-9223372036.854775808s"] {
        assert_eq!(duration_text(parse_duration(text).unwrap()), text);
    }
    assert_eq!(read_timestamp("0000-01-01T00:00:00Z"), Err(ErrorCode::Overflow));
    assert_eq!(read_duration("1 s"), Err(ErrorCode::InvalidArgument));
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
