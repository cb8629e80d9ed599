//! The integration tests of fathom-testkit, in one program.

mod aligned;
mod block;
mod fault_device;
mod model_check;
mod programs;
mod timing;
