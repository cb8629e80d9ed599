//! Engines: sync, psync, vsync, pvsync, pvsync2, libaio, io_uring, posixaio, mmap, splice, falloc, ftruncate and the file operations. (null needs no kernel and lives with the load.)
//!
//! Each refuses, at the lowest layer, what lies outside a file's range, and lends a slot's memory out only while its I/O is in
//! flight; the `unsafe` in here rests on those two.

mod aio;
mod explain;
mod fault;
mod file;
mod inline;
mod make;
mod mmap;
mod operation;
mod pool;
mod ready;
mod shape;
mod splice;
mod sync;
mod uring;
mod vsync;

pub use self::file::EngineFile;
pub(crate) use self::inline::last_errno;
pub use self::make::{make_engine, make_noop_ring};
pub use self::uring::bare_noop_ring;
