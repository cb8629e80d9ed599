//! The kinds of models. Each is one file: its parameters and its device.

pub(crate) mod below;
pub(crate) mod cache;
pub(crate) mod controller;
pub(crate) mod curve;
pub(crate) mod elevator;
pub(crate) mod faults;
pub(crate) mod flash;
pub(crate) mod floppy;
pub(crate) mod hdd;
pub(crate) mod host;
pub(crate) mod limit;
pub(crate) mod link;
pub(crate) mod measured_disk;
pub(crate) mod raid;
pub(crate) mod servers;
pub(crate) mod split;
pub(crate) mod tier;

#[cfg(test)]
mod tests;
