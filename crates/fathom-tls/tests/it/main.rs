//! The integration tests of fathom-tls, in one program.

mod connections;
