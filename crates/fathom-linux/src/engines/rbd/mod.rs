//! rbd: images of a Ceph cluster through librbd, which is loaded when it is first used.
//!
//! The calls and their arguments are those of `rados/librados.h` and `rbd/librbd.h` of Ceph, as its
//! documentation describes them.

mod engine;
mod image;
mod library;

pub(crate) use self::engine::RbdEngine;
pub use self::image::{ImageFacts, examine_image};
