//! The integration tests of fathom-report, in one program.

mod common;
mod consumers;
mod devices;
mod fathom_text;
mod fio_peer;
mod golden;
mod logs;
mod module_edges;
