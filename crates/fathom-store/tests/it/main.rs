//! The integration tests of fathom-store, in one program.

mod common;
mod fixture;
mod kills;
mod listing;
mod postgres;
mod power_cuts;
mod server_faults;
mod space;
mod store;
mod versions;
