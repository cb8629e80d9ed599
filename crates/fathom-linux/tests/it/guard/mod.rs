//! The target guard against real loop devices, mounts, swap space and files: a refusal changes no
//! byte, and the same target without the danger can be written.

#![allow(clippy::print_stderr, reason = "a skipped test prints the reason")]

mod devices;
mod files;
mod holding;
mod support;
