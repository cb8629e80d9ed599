//! The integration tests of fathom-durable, in one program.

mod formats;
mod power_cuts;
