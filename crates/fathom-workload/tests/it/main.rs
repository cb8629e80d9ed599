//! The integration tests of fathom-workload, in one program.

mod capture;
mod common;
mod fuzz;
mod readers;
mod synthetic;
