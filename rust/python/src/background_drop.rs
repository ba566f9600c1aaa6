//! What is large is let go of beside the interpreter, which is held where its objects end.

use std::thread::Builder;

/// Lets go of something on a thread of its own, or here where there is none.
pub(crate) fn drop_aside(large: impl Send + 'static) {
    _ = Builder::new().spawn(move || drop(large));
}
