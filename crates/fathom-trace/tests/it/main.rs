//! The integration tests of fathom-trace, in one program.

mod kernel;
