//! The guest's allocator: Arrow data is aligned wherever it lands, so that input is never copied.
//!
//! The canonical ABI asks `cabi_realloc` for a `list<u8>` with alignment 1, and the allocator below it answers with 8.
//! That is too little for 128-bit decimals and views, which Arrow would then copy. `cabi_realloc` allocates from the
//! global allocator, so raising the alignment of byte vectors here raises it there.

use std::alloc::{GlobalAlloc, Layout, System};

/// Byte vectors from this size on start at a multiple of [`ALIGNMENT`]; a smaller batch is cheap to copy.
const FROM_BYTES: usize = 1024;

/// What Arrow recommends for a buffer, and what the bodies of IPC messages are padded to.
const ALIGNMENT: usize = 64;

#[derive(Debug)]
struct ArrowAligned;

#[global_allocator]
static ALLOCATOR: ArrowAligned = ArrowAligned;

/// The layout that is really allocated. A pure function of what was asked, so that freeing finds the same one.
fn raised(asked: Layout) -> Layout {
    if asked.align() == 1 && asked.size() >= FROM_BYTES {
        asked.align_to(ALIGNMENT).unwrap_or(asked)
    } else {
        asked
    }
}

// SAFETY: every call is passed on to `System`, with a layout that depends on the asked layout alone and is at least as
// strict.
unsafe impl GlobalAlloc for ArrowAligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size is the caller's, which is not zero.
        unsafe { System.alloc(raised(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size is the caller's, which is not zero.
        unsafe { System.alloc_zeroed(raised(layout)) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` was allocated with the raised layout of the same `layout`.
        unsafe { System.dealloc(ptr, raised(layout)) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let old = raised(layout);
        // SAFETY: the caller promises that `new_size` does not overflow when rounded up to the alignment.
        let new = raised(unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) });
        if old.align() == new.align() {
            // SAFETY: `ptr` was allocated with `old`.
            return unsafe { System.realloc(ptr, old, new_size) };
        }
        // SAFETY: both blocks are valid for the smaller of the two sizes and do not overlap; the old one is freed with
        // the layout it was allocated with.
        unsafe {
            let moved = System.alloc(new);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(ptr, layout.size().min(new_size));
                System.dealloc(ptr, old);
            }
            moved
        }
    }
}
