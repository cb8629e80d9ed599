//! fathom-testkit
