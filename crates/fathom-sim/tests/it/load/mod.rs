//! Runs of the load generator on simulated machines, with the arithmetic of each model as the known answer.

mod events;
mod facts;
mod plans;
mod scheduling;
mod shared_time;
