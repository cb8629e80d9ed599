//! The integration tests of fathom-device, in one program.

mod shapes;
mod spec;
mod survey;
