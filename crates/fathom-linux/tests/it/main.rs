//! The integration tests of fathom-linux, in one program.

mod engines;
mod guard;
mod host;
mod why;
