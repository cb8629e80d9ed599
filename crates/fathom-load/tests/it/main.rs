//! The integration tests of fathom-load, in one program.

mod module_edges;
