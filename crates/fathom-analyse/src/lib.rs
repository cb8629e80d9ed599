//! fathom-analyse
