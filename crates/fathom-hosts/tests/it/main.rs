//! The integration tests of fathom-hosts, in one program.

mod merge;
