//! The I/O engines: sync, psync, vsync, pvsync, pvsync2, libaio, io_uring, posixaio, mmap, splice,
//! falloc, ftruncate, page_fault, rbd and the file operations. (The null engine needs no kernel and is
//! part of `fathom-load`.)
//!
//! Each engine refuses requests outside a file's range at the lowest layer, and lends the memory of
//! a slot only while its I/O is in flight. The `unsafe` code here depends on these two rules.

mod aio;
mod allocate;
mod explain;
mod file;
mod make;
mod mmap;
mod operation;
mod page_fault;
mod pool;
mod rbd;
mod ready;
mod splice;
mod sync;
mod syscall;
mod uring;
mod vsync;

pub use self::file::EngineFile;
pub(crate) use self::make::make_operation_engine;
pub use self::make::{make_engine, make_noop_ring};
pub(crate) use self::operation::{Directories, DirectoryEntry};
pub use self::rbd::{ImageFacts, examine_image};
pub(crate) use self::syscall::last_errno;
pub use self::uring::bare_noop_ring;
