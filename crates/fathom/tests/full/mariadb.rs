//! `fathom app mariadb`.

use crate::app_support::*;
use crate::common::{program, start, wait_until};
use fathom_testkit::{require, skip};
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// Whether MariaDB can be run here.
fn mariadb() -> bool {
    let installed = [
        "/usr/sbin/mariadbd",
        "/usr/bin/mariadb",
        "/usr/bin/sysbench",
    ]
    .iter()
    .all(|program| Path::new(program).exists());
    if !installed {
        skip("MariaDB or sysbench is not installed");
    }
    installed
}

/// A process below `place` with this name, whose command line contains `part`.
fn process_of(place: &Path, name: &str, part: &str) -> Option<u32> {
    processes_of(place).into_iter().find(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
            && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
                line.windows(part.len())
                    .any(|found| found == part.as_bytes())
            })
    })
}

/// The histogram of sysbench has as many transactions as its summary, and the server counts their commits. Both give the same mean.
#[test]
fn sysbench_and_the_server_count_the_same_transactions() {
    if !mariadb() {
        return;
    }
    let place = place();
    let line = "mariadb PATH --scale=1 --clients=2 --runtime=3s --warmup=0s --distribution=pareto --json --no-store";
    let done = app(line, place.path()).expect(0);
    let result = json(&done);
    let app = &result["app"];
    assert_eq!(app["transaction"], "oltp_read_write");
    assert_eq!(app["distribution"], "pareto");
    let transactions = number(&app["transactions"]);
    assert!(transactions >= 1.0, "{app}");
    assert_eq!(
        number(&app["summary"]["transactions"]),
        transactions,
        "{app}"
    );
    let commits = number(&app["counters"]["Com_commit"]);
    assert!(
        commits >= transactions && commits <= transactions + 50.0,
        "{commits} {transactions}"
    );
    // 1,024 buckets from 1 us to 100 s: each is 1.8 % wide.
    let mean = number(&app["latency_ns"]["mean"]) / 1e6;
    let share = mean / number(&app["summary"]["latency_ms"]);
    assert!((0.97..=1.03).contains(&share), "{app}");
    let job = &result["jobs"][0];
    assert_eq!(number(&job["write"]["total_ios"]), transactions);
    // The log of InnoDB has the changed rows at least.
    let log = number(&app["counters"]["Innodb_os_log_written"]);
    assert!(log >= transactions * 3.0 * 188.0, "{log} {transactions}");
    assert_eq!(names(place.path()), Vec::<String>::new());
    assert_eq!(processes_of(place.path()), Vec::<u32>::new());
}

#[test]
fn a_killed_mariadb_is_an_error_and_a_killed_run_leaves_no_mariadb() {
    if !mariadb() {
        return;
    }
    let place = place();
    let load = || {
        let line = "mariadb PATH --scale=1 --runtime=100s --warmup=0s --json --no-store";
        let running = start(program(arguments(line, place.path())));
        running.wait_until("sysbench", || {
            process_of(place.path(), "sysbench", "--time=100").is_some()
        })
    };
    let running = load();
    let server = process_of(place.path(), "mariadbd", "--pid-file").expect("the server");
    kill(server, Signal::KILL);
    let done = running.finish();
    assert_eq!(done.code(), 1, "{}{}", done.out, done.err);
    let error = json(&done)["app"]["error"].to_string();
    assert!(
        error.contains("mariadbd failed") || error.contains("sysbench failed"),
        "{error}"
    );
    let running = load();
    running.signal(Signal::KILL);
    wait_until("the end of all", || {
        processes_of(place.path()).is_empty() && names(place.path()).is_empty()
    });
    drop(running.finish());
}

/// The buffer pool of MariaDB is the limit: with one of twice the data nearly all pages are in it, with one of 12 % most queries read.
#[test]
fn less_memory_means_more_reads_of_mariadb() {
    require!(Root);
    if !mariadb() {
        return;
    }
    let place = place();
    let line = "mariadb PATH --scale=2 --clients=2 --runtime=2s --warmup=1s --transaction=oltp_point_select --memory=200%,12% --json --no-store";
    let done = app(line, place.path());
    if done.err.contains("cannot limit the memory") {
        return skip("no group with the memory controller can be created here");
    }
    let result = json(&done.expect(0));
    let rows = result["memory"]["rows"].as_array().expect("rows");
    // The server's own counts: pages that had to be read for each transaction.
    let reads: Vec<f64> = result["app"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| {
            let pages = run["counters"]["Innodb_buffer_pool_reads"].as_f64();
            pages.unwrap_or(0.0) / number(&run["transactions"])
        })
        .collect();
    assert!(
        reads[1] >= 5.0 * reads[0] && reads[1] > 0.2,
        "{reads:?} {rows:?}"
    );
    let hits: Vec<f64> = rows.iter().map(|row| number(&row["hit_share"])).collect();
    assert!(hits[0] > hits[1], "{rows:?}");
}

#[test]
fn two_runs_share_a_path() {
    if mariadb() {
        check_two_runs_share_a_path("mariadb", "maria/sock");
    }
}

#[test]
fn a_server_needs_no_port() {
    if mariadb() {
        check_that_no_port_is_needed("mariadb", 3306);
    }
}

#[test]
fn a_server_that_does_not_start_is_an_error_with_its_last_lines() {
    if mariadb() {
        check_that_a_failed_start_is_explained("mariadb", "InnoDB");
    }
}

#[test]
fn the_log_can_be_on_another_device() {
    require!(Loop);
    if mariadb() {
        check_that_the_log_is_on_its_device("mariadb", &disk(512, ""), &disk(512, ""));
    }
}
