//! The codes of an evaluation error: one list, the same in Python.

use std::fmt;

/// The fault of an evaluation. The texts are stable for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    NoSuchKey,
    NoSuchField,
    NoSuchOverload,
    DivideByZero,
    Overflow,
    IndexOutOfRange,
    InvalidArgument,
    InvalidUtf8,
    CostExceeded,
}

impl ErrorCode {
    /// The code as users and tests see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSuchKey => "no_such_key",
            Self::NoSuchField => "no_such_field",
            Self::NoSuchOverload => "no_such_overload",
            Self::DivideByZero => "divide_by_zero",
            Self::Overflow => "overflow",
            Self::IndexOutOfRange => "index_out_of_range",
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::CostExceeded => "cost_exceeded",
        }
    }

    /// A human-readable description of the code.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoSuchKey => "the map has no such key",
            Self::NoSuchField => "the event has no such field",
            Self::NoSuchOverload => "the operation does not accept values of these types",
            Self::DivideByZero => "division by zero",
            Self::Overflow => "the result is out of range",
            Self::IndexOutOfRange => "the index is outside the list",
            Self::InvalidArgument => "an argument has a value that is not accepted",
            Self::InvalidUtf8 => "the bytes are not valid UTF-8",
            Self::CostExceeded => "the evaluation costs more than allowed",
        }
    }
}

/// A range in the text of an expression: code points, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

/// An evaluation that ended without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: ErrorCode,
    pub span: Span,
}

/// The error of a rejected event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    pub message: String,
    /// JSON pointer to the offending member.
    pub pointer: String,
    /// Byte offset in the text, when the event came as text.
    pub offset: Option<usize>,
    /// Whether the text as a whole cannot be read: it isn't JSON, or passes a limit.
    pub is_unreadable: bool,
}

/// The error of a rejected bundle of programs: this version's checker didn't make it, or it was
/// changed in transit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    pub message: String,
    /// JSON pointer to the offending part.
    pub pointer: String,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{} at `{}`", self.message, self.pointer)
        }
    }
}

impl std::error::Error for ProgramError {}
