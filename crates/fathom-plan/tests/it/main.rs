//! The integration tests of fathom-plan, in one program.

mod against_fio;
mod any_input;
mod bad_inputs;
mod fio_examples;
mod meaning;
mod option_table;
mod support;
