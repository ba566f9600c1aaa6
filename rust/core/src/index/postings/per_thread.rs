//! The scratch memory of the thread.

use std::cell::RefCell;

use crate::index::scratch::Scratch;

/// The number of scratches that a thread keeps; more drop the least recent.
const KEPT: usize = 8;

thread_local! {
    /// Scratches by the number of their index, the most recent last.
    static SCRATCHES: RefCell<Vec<(u64, Box<Scratch>)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `run` with this thread's scratch for an index.
pub(in crate::index) fn with_scratch<T>(index: u64, run: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCHES.with_borrow_mut(|scratches| {
        let known = scratches.iter().rposition(|(number, _)| *number == index);
        known.map_or_else(Box::default, |position| scratches.remove(position).1)
    });
    let result = run(&mut scratch);
    SCRATCHES.with_borrow_mut(|scratches| {
        if scratches.len() >= KEPT {
            scratches.remove(0);
        }
        scratches.push((index, scratch));
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_finds_its_own_scratch_again() {
        with_scratch(1, |scratch| scratch.found.push(7));
        with_scratch(2, |scratch| assert!(scratch.found.is_empty()));
        with_scratch(1, |scratch| assert_eq!(scratch.found, [7]));
        for other in 10..30 {
            with_scratch(other, |_| {});
        }
        with_scratch(1, |scratch| assert!(scratch.found.is_empty()));
    }
}
