//! Asks for memory before it is used. A read does that as well, but the processor can then not go
//! far past it, so fewer lines are on their way at the same time.

/// Bytes that come in at once.
const LINE: usize = 64;

/// Has the line come into the caches in which a value begins. It is about time and nothing else.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    // For other processors stable Rust has no such instruction.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The same for all lines of a slice.
#[inline]
pub(crate) fn prefetch_all<T>(values: &[T]) {
    let of_a_line = LINE.checked_div(size_of::<T>()).unwrap_or(LINE).max(1);
    values.iter().step_by(of_a_line).chain(values.last()).for_each(prefetch);
}

/// As [`prefetch`], for a line that is to be changed: no other core has it then.
#[inline]
pub(crate) fn prefetch_to_change<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_et0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
