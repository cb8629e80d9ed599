//! The integration tests of fathom-import, in one program.

mod common;
mod directories;
mod fixtures;
mod held_out;
mod normal_output;
mod real_results;
mod traps;
