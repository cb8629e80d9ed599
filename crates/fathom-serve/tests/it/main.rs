//! The integration tests of fathom-serve, in one program.

mod attacks;
