//! The integration tests of fathom-analyse, in one program.

mod answers;
mod catalogue;
mod causes;
mod chart_hosts;
mod chart_options;
mod checks;
mod detectors;
mod ledger;
mod page;
mod provider_limits;
mod sample;
mod scenes;
mod summaries;
mod summary_sentences;
mod transaction_costs;
mod triggers;
mod windows;
mod witnessed;
