//! fathom-load
