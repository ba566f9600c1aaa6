//! The fault in a rejected JSON text, and its place.

use crate::value::error::EventError;

/// The kind of fault that ends the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The text is not strict JSON.
    Text,
    /// The text is JSON but passes a limit.
    Limit,
    /// The value does not fit its place in the event.
    Shape,
}

/// The fault in a rejected text, and its place. Boxed to keep results small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    /// Byte offset in the text.
    pub offset: usize,
    /// Members and elements that enclose the place, the innermost first.
    path: Vec<String>,
}

pub type Result<T> = std::result::Result<T, Box<Fault>>;

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>, offset: usize) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), offset, path: Vec::new() })
    }

    /// The same fault, seen from the object or array around it.
    pub fn under(mut self: Box<Self>, part: impl ToString) -> Box<Self> {
        self.path.push(part.to_string());
        self
    }
}

impl From<Box<Fault>> for EventError {
    fn from(fault: Box<Fault>) -> Self {
        // A place in broken text has an offset, but no member to point to.
        let parts: &[String] = if fault.kind == FaultKind::Text { &[] } else { &fault.path };
        Self {
            is_unreadable: fault.kind != FaultKind::Shape && parts.is_empty(),
            message: fault.message,
            pointer: parts.iter().rev().map(|part| pointer_step(part)).collect(),
            offset: Some(fault.offset),
        }
    }
}

/// A part as a step of a JSON pointer (RFC 6901).
pub fn pointer_step(part: &str) -> String {
    format!("/{}", part.replace('~', "~0").replace('/', "~1"))
}
