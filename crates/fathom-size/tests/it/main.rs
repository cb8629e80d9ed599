//! The integration tests of fathom-size, in one program.

mod drives;
mod sizing;
mod tables;
