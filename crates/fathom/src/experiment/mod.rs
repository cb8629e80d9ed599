//! Runs experiments: connects the driver of `fathom-experiment` to this machine, the store and the terminal.

mod cell_runner;
mod cell_store;
mod events;
mod job_file;
mod lines;
mod observer_options;
mod runner;
mod saved;
mod watch;

pub use self::cell_runner::plan_cell;
pub use self::cell_store::StoreWriter;
pub use self::job_file::read_job_file;
pub use self::observer_options::{check_events, check_observers, observers};
pub use self::runner::ExperimentRunner;
pub use self::saved::{enter_directory, save_inputs};
