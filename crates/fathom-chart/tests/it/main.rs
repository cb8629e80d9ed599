//! The integration tests of fathom-chart, in one program.

mod drawing;
mod examples;
mod extremes;
mod golden;
mod legible;
mod truth;
