//! The target guard against real loop devices, mounts, swap space and files: nothing that is refused changes by
//! a single byte, and the same target without the danger can be written.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod devices;
mod files;
mod holding;
mod rig;
