//! fathom-device
