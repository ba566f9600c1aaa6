//! Drops large values on a background thread, outside the interpreter lock.

use std::thread::Builder;

/// Drops a value on a thread of its own, or here if no thread can start.
pub(crate) fn drop_aside(large: impl Send + 'static) {
    _ = Builder::new().spawn(move || drop(large));
}
