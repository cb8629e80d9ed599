//! fathom-report
