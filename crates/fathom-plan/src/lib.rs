//! fathom-plan
