//! The integration tests of fathom-sim, in one program.

mod acceptance;
mod curve;
mod load;
mod structural;
