//! The integration tests of fathom-cli, in one program.

mod advice;
mod printed;
mod table;
