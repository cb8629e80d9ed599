//! What is recorded, logged and reported.

use fathom_model::{Accounting, LogWindow, Logs, Nanos, Unified};

use super::job::View;
use super::report::Report;
use super::settings::Settings;
use crate::values::Value;

/// fio's percentiles when none are listed.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// Resolves the record of the job `name`.
pub(crate) fn resolve(view: &View<'_>, name: &str, report: &mut Report) -> Accounting {
    let settings = view.settings;
    let keep = |option| !reduced_switch(settings, option, true);
    let (slat, clat, lat) = (
        keep("disable_slat"),
        keep("disable_clat"),
        keep("disable_lat"),
    );
    Accounting {
        slat,
        clat,
        lat,
        bandwidth: keep("disable_bw_measurement"),
        slat_percentiles: slat && reduced_switch(settings, "slat_percentiles", false),
        clat_percentiles: clat && reduced_switch(settings, "clat_percentiles", false),
        lat_percentiles: lat && reduced_switch(settings, "lat_percentiles", false),
        percentiles: percentiles(settings),
        bandwidth_sample: Nanos::from_millis(
            settings.number("bwavgtime", 500).clamp(1, 86_400_000),
        ),
        iops_sample: Nanos::from_millis(settings.number("iopsavgtime", 500).clamp(1, 86_400_000)),
        unified: unified(settings),
        disk_util: settings.switch("disk_util"),
        hidden: !settings.switch("stats"),
        reduced: settings.switch("gtod_reduce"),
        logs: logs(view, name, report),
    }
}

/// `gtod_reduce` sets a group of switches at once; each may be set again after it.
fn reduced_switch(settings: &Settings, option: &'static str, by_reduce: bool) -> bool {
    let reduce = settings
        .position("gtod_reduce")
        .filter(|_| settings.switch("gtod_reduce"));
    if reduce.is_some() && reduce > settings.position(option) {
        by_reduce
    } else {
        settings.switch(option)
    }
}

fn percentiles(settings: &Settings) -> Vec<f64> {
    let mut list = match settings
        .last("percentile_list")
        .map(|setting| &setting.value)
    {
        Some(Value::Floats(list)) => list.clone(),
        _ => PERCENTILES.to_vec(),
    };
    list.sort_by(f64::total_cmp);
    list.dedup();
    list
}

fn unified(settings: &Settings) -> Unified {
    match settings.choice("unified_rw_reporting", "none").0 {
        "mixed" | "1" => Unified::Mixed,
        "both" | "2" => Unified::Both,
        _ => Unified::Apart,
    }
}

fn logs(view: &View<'_>, name: &str, report: &mut Report) -> Logs {
    let settings = view.settings;
    let prefix = |option| match settings.last(option).map(|setting| &setting.value) {
        Some(Value::Prefix(prefix)) => Some(prefix.clone().unwrap_or_else(|| name.to_owned())),
        _ => None,
    };
    let logs = Logs {
        bw: prefix("write_bw_log"),
        iops: prefix("write_iops_log"),
        lat: prefix("write_lat_log"),
        hist: prefix("write_hist_log"),
        trace: settings
            .text("write_iolog")
            .filter(|_| !(view.is_fio() && settings.is_set("read_iolog")))
            .map(str::to_owned),
        average: Nanos::from_millis(settings.number("log_avg_msec", 0).min(86_400_000)),
        hist_every: Nanos::from_millis(settings.number("log_hist_msec", 0).min(86_400_000)),
        hist_coarseness: settings.number("log_hist_coarseness", 0).min(6) as u8,
        window: window(settings),
        per_job: settings.switch("per_job_logs"),
        offset: settings.switch("log_offset"),
        prio: settings.switch("log_prio"),
        issue_time: settings.switch("log_issue_time"),
        unix_epoch: settings.switch("log_alternate_epoch"),
        compressed: settings.switch("log_store_compressed"),
        entries: settings.number("log_entries", 1024),
    };
    check(view, &logs, report);
    logs
}

fn check(view: &View<'_>, logs: &Logs, report: &mut Report) {
    if logs.issue_time && !(logs.offset && logs.lat.is_some()) {
        report.push(
            view.error("log_issue_time", "needs write_lat_log and log_offset")
                .advise("set both"),
        );
    }
}

fn window(settings: &Settings) -> LogWindow {
    match settings.choice("log_window_value", "avg").0 {
        "max" | "1" => LogWindow::Max,
        "both" => LogWindow::Both,
        _ => LogWindow::Mean,
    }
}
