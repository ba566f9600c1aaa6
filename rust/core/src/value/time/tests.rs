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
        ("0000-12-31T23:00:00-01:00", -62_135_596_800 * SECOND),
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
        "0000-12-31T23:59:59Z",
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
