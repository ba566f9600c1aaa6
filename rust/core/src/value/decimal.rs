//! The decimal digits of doubles.

/// The shortest decimal that reads back to the same double.
///
/// Of two shortest decimals that are equally near, it is the even one, as in Python and ECMAScript.
/// `format!` takes the one farther from zero: 2098645499556942.25 ends with `.3` there, not `.2`.
pub(crate) struct Decimal {
    sign: &'static str,
    /// Without zeros at either end; `0` for zero.
    digits: String,
    /// How many digits are before the point; negative when zeros follow it first.
    point: i32,
}

impl Decimal {
    /// The decimal of a finite double.
    pub(crate) fn of(value: f64) -> Self {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let digits = all.trim_start_matches('0');
        let point = length(whole)
            .saturating_add(exponent.parse().unwrap_or_default())
            .saturating_sub(length(&all).saturating_sub(length(digits)));
        let sign = if value.is_sign_negative() { "-" } else { "" };
        match digits.trim_end_matches('0') {
            "" => Self { sign, digits: "0".into(), point: 1 },
            digits => Self { sign, digits: digits.into(), point },
        }
    }

    /// The exponent of the first digit.
    pub(crate) fn exponent(&self) -> i32 {
        self.point.saturating_sub(1)
    }

    /// Without an exponent, and without a point where all digits are before it.
    pub(crate) fn positional(&self) -> String {
        let Self { sign, digits, point } = self;
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
        match usize::try_from(*point) {
            Ok(before @ 1..) => match digits.split_at_checked(before) {
                Some((whole, fraction)) if !fraction.is_empty() => {
                    format!("{sign}{whole}.{fraction}")
                }
                _ => format!("{sign}{digits}{}", zeros(point.saturating_sub(length(digits)))),
            },
            _ => format!("{sign}0.{}{digits}", zeros(point.saturating_neg())),
        }
    }

    /// With one digit before the point, and an exponent with its sign.
    ///
    /// # Arguments
    /// `width`: the least number of digits of the exponent.
    pub(crate) fn scientific(&self, width: usize) -> String {
        let Self { sign, digits, .. } = self;
        let (first, more) = digits.split_at_checked(1).unwrap_or((digits, ""));
        let point = if more.is_empty() { "" } else { "." };
        let exponent = self.exponent();
        let direction = if exponent < 0 { '-' } else { '+' };
        format!("{sign}{first}{point}{more}e{direction}{:0>width$}", exponent.unsigned_abs())
    }
}

/// The shortest decimal that reads back to the same double, without exponent:
/// `1.0` is `1`; `NaN`, `Infinity`, `-Infinity`, `-0`.
pub(crate) fn positional_text(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        Decimal::of(value).positional()
    }
}

/// The same digits in the layout of ECMAScript: `1e+21`, `1.5e-7`, `0.000001`.
pub(crate) fn double_text(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() || value == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return positional_text(value);
    }
    Decimal::of(value).scientific(1)
}

fn length(text: &str) -> i32 {
    i32::try_from(text.len()).unwrap_or(i32::MAX)
}
