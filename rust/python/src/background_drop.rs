//! Drops large values on a background thread, outside the interpreter lock.

use std::thread::Builder;

/// Lets go of something on a thread of its own, or here where there is none.
pub(crate) fn drop_aside(large: impl Send + 'static) {
    _ = Builder::new().spawn(move || drop(large));
}
