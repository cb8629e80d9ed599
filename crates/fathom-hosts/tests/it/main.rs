//! The integration tests of fathom-hosts, in one program.

mod clocks;
mod merge;
mod take_over;
