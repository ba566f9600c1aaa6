//! Memory for one event at a time, kept by each thread for the next.

use std::cell::Cell;

use crate::event::ARENA_BYTES;
use bumpalo::Bump;

/// Arenas that have grown past this are dropped.
const KEPT_BYTES: usize = 1024 * 1024;

thread_local! {
    /// Empty while it is in use.
    static ARENA: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Runs with an empty arena.
pub fn with_arena<T>(run: impl FnOnce(&Bump) -> T) -> T {
    let mut arena = ARENA.take().unwrap_or_else(|| Bump::with_capacity(ARENA_BYTES));
    let result = run(&arena);
    arena.reset();
    if arena.allocated_bytes() <= KEPT_BYTES {
        ARENA.set(Some(arena));
    }
    result
}
