//! Conditions: tests of one part of an event that a search can answer for many
//! rules at once.

use crate::event::layout::{KeySlot, Slot};
use crate::functions::Place;
use crate::functions::named_lists::ListIndex;
use crate::value::address::Network;

/// The source of a condition's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextSource {
    Field(Slot),
    /// A literal key of a map of the event; `""` when the event lacks it.
    Key(KeySlot),
    /// Each key of a map of the event.
    Keys(Slot),
    /// Each value of a map of the event.
    Values(Slot),
    /// Each element of a list.
    Elements(Slot),
}

/// The source of a condition's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumberSource {
    Int(Slot),
    Double(Slot),
    /// `int(text)`
    IntOf(TextSource),
    /// `double(text)`
    DoubleOf(TextSource),
    /// Code points of a text.
    LengthOf(TextSource),
    /// Elements or entries of a field.
    CountOf(Slot),
}

/// A set of numbers; doubles are given by their [`order_of`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bound {
    Above(i64),
    Below(i64),
    OneOf(Vec<i64>),
}

/// A test that is true for a text if it is for any of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextTest {
    Equals(Vec<Box<str>>),
    Contains(Vec<Box<str>>),
    StartsWith(Vec<Box<str>>),
    EndsWith(Vec<Box<str>>),
    Matches(Vec<Pattern>),
    InList(ListIndex),
    HasPhrase(ListIndex, Place),
}

/// A pattern, translated, and the texts it requires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    pub(crate) text: Box<str>,
    /// Texts in lower case of which every match has one; None if the pattern has none and is
    /// run on every text.
    pub(crate) required: Option<Vec<Box<str>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    Text {
        source: TextSource,
        /// Whether the text is taken in ASCII lower case, as are the parts.
        is_folded: bool,
        test: TextTest,
    },
    Network {
        source: TextSource,
        networks: Vec<Network>,
    },
    Number {
        source: NumberSource,
        bound: Bound,
    },
    /// The event has the key.
    Present(KeySlot),
    /// The field is true.
    True(Slot),
}

impl Condition {
    /// The probability of the condition for an unknown event.
    pub(crate) fn prior(&self) -> f64 {
        match self {
            Self::Text { source: TextSource::Field(_) | TextSource::Key(_), test, .. } => {
                test.prior()
            }
            // A map has several values.
            Self::Text { test, .. } => test.prior() * 2.0,
            Self::Network { networks, .. } => networks.iter().map(network_prior).sum(),
            Self::Number { bound: Bound::OneOf(_), .. } => 0.02,
            Self::Number { .. } | Self::Present(_) | Self::True(_) => 0.3,
        }
    }
}

impl TextTest {
    /// Whether an empty part makes it true for any text.
    pub(crate) fn is_always_true(&self) -> bool {
        match self {
            Self::Contains(parts) | Self::StartsWith(parts) | Self::EndsWith(parts) => {
                parts.iter().any(|part| part.is_empty())
            }
            Self::Equals(_) | Self::Matches(_) | Self::InList(_) | Self::HasPhrase(..) => false,
        }
    }

    fn prior(&self) -> f64 {
        match self {
            Self::Equals(parts) => {
                parts.iter().map(|part| if part.is_empty() { 0.4 } else { 0.02 }).sum()
            }
            Self::Contains(parts) => parts.iter().map(|part| part_prior(part)).sum(),
            Self::StartsWith(parts) | Self::EndsWith(parts) => {
                parts.iter().map(|part| part_prior(part) * 2.0).sum()
            }
            Self::Matches(patterns) => patterns.iter().map(Pattern::prior).sum(),
            Self::InList(_) | Self::HasPhrase(..) => 0.02,
        }
    }
}

impl Pattern {
    fn prior(&self) -> f64 {
        match &self.required {
            Some(texts) => texts.iter().map(|text| part_prior(text)).sum(),
            // To run it costs more than it excludes.
            None => 0.5,
        }
    }
}

fn part_prior(part: &str) -> f64 {
    match part.len() {
        0 => 1.0,
        1 => 0.5,
        2 | 3 => 0.1,
        4..8 => 0.01,
        _ => 0.002,
    }
}

fn network_prior(network: &Network) -> f64 {
    let is_wide = network.prefix < network.address.bits() / 4;
    if is_wide { 0.05 } else { 0.001 }
}

/// A number of the same order as doubles have, where 0.0 is -0.0; None for NaN.
pub(crate) fn order_of(value: f64) -> Option<i64> {
    if value.is_nan() {
        return None;
    }
    let bits = (value + 0.0).to_bits().cast_signed();
    // The bits of negative doubles count downwards.
    Some(if bits < 0 { bits ^ i64::MAX } else { bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_doubles_is_kept() {
        let ascending =
            [f64::NEG_INFINITY, -1e300, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 1.5, f64::INFINITY];
        for pair in ascending.windows(2) {
            assert!(order_of(pair[0]) < order_of(pair[1]), "{pair:?}");
        }
        assert_eq!(order_of(-0.0), order_of(0.0));
        assert_eq!(order_of(f64::NAN), None);
    }
}
