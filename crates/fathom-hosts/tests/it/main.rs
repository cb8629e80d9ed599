//! The integration tests of fathom-hosts, in one program.

mod merge;
mod take_over;
