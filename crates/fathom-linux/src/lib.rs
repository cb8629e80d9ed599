//! fathom-linux
