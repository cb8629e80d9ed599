//! The integration tests of fathom-fit, in one program.

mod recovery;
