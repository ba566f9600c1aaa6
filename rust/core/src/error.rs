//! The codes of an evaluation error: one list, the same in Python.

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
}

/// Where in the text of an expression: code points, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
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

/// An event that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    pub message: String,
    /// JSON pointer to the offending member.
    pub pointer: String,
    /// Byte offset in the text, when the event came as text.
    pub offset: Option<usize>,
}
