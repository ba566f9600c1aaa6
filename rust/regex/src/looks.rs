//! Assertions on a place between two characters.

use regex_syntax::hir::Look;

/// The character on one side of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// The start or the end of the text.
    Edge,
    Newline,
    /// A letter of ASCII words.
    Word,
    Other,
}

impl Side {
    pub(super) fn of(character: char) -> Self {
        match character {
            '\n' => Self::Newline,
            '_' => Self::Word,
            _ if character.is_ascii_alphanumeric() => Self::Word,
            _ => Self::Other,
        }
    }
}

/// Code points at which [`Side::of`] changes, in order.
pub(super) const SIDE_BOUNDS: [u32; 10] = [
    '\n' as u32,
    '\n' as u32 + 1,
    '0' as u32,
    '9' as u32 + 1,
    'A' as u32,
    'Z' as u32 + 1,
    '_' as u32,
    '_' as u32 + 1,
    'a' as u32,
    'z' as u32 + 1,
];

/// A set of assertions: those that a step needs, or those that hold at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Looks(u8);

impl Looks {
    pub(super) const NONE: Self = Self(0);
    const TEXT_START: Self = Self(1);
    const TEXT_END: Self = Self(2);
    const LINE_START: Self = Self(4);
    const LINE_END: Self = Self(8);
    const WORD: Self = Self(16);
    const NOT_WORD: Self = Self(32);

    /// The set of one assertion; None for those outside the language.
    pub(super) const fn of(look: Look) -> Option<Self> {
        Some(match look {
            Look::Start => Self::TEXT_START,
            Look::End => Self::TEXT_END,
            Look::StartLF => Self::LINE_START,
            Look::EndLF => Self::LINE_END,
            Look::WordAscii => Self::WORD,
            Look::WordAsciiNegate => Self::NOT_WORD,
            _ => return None,
        })
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The assertions that hold between two characters.
    pub(super) fn between(before: Side, after: Side) -> Self {
        let starts_line = matches!(before, Side::Edge | Side::Newline);
        let ends_line = matches!(after, Side::Edge | Side::Newline);
        let is_bound = (before == Side::Word) != (after == Side::Word);
        [
            (before == Side::Edge, Self::TEXT_START),
            (after == Side::Edge, Self::TEXT_END),
            (starts_line, Self::LINE_START),
            (ends_line, Self::LINE_END),
            (is_bound, Self::WORD),
            (!is_bound, Self::NOT_WORD),
        ]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .fold(Self::NONE, |all, (_, look)| all.union(look))
    }

    /// Whether all needed assertions are in the set.
    pub(super) const fn allow(self, needed: Self) -> bool {
        needed.0 & !self.0 == 0
    }

    /// Whether the assertions can hold only before the first character.
    pub(super) const fn need_text_start(self) -> bool {
        self.0 & Self::TEXT_START.0 != 0
    }
}
