//! fathom-model
