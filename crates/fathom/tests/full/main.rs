//! Tests of programs that the gate does not install: Ceph, MariaDB, Chromium, Prometheus and fio-plot.
//! `cargo test --workspace --test full` runs them, `cargo test` does not.

#[path = "../it/app/support.rs"]
mod app_support;
mod browser;
#[path = "../it/common/mod.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod common;
mod fio_plot;
mod mariadb;
mod rbd;
mod report_pages;
#[path = "../it/report/samples.rs"]
mod report_samples;
mod serve_outside;
mod serve_pages;
#[path = "../it/serve/support.rs"]
mod serve_support;
