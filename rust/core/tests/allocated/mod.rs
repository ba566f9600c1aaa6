//! An allocator that counts, so that memory is measured and not estimated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// Counts the bytes that are allocated and not given back.
struct Counting;

static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one hands everything on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that are allocated now.
pub(crate) fn allocated() -> isize {
    ALLOCATED.load(Ordering::Relaxed)
}
