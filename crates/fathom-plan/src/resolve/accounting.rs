//! What is recorded, logged and reported.

use fathom_model::{Accounting, LogWindow, Logs, Nanos, Unified};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use super::settings::Settings;
use crate::options::table as opt;
use crate::options::{JobOption, Prefix, Switch};

/// Resolves the accounting of the job `name`.
pub(crate) fn resolve(view: &JobView<'_>, name: &str, diagnostics: &mut Diagnostics) -> Accounting {
    let settings = view.settings;
    let keep = |option| !reduced_switch(settings, option, true);
    let (slat, clat, lat) = (
        keep(opt::DISABLE_SLAT),
        keep(opt::DISABLE_CLAT),
        keep(opt::DISABLE_LAT),
    );
    Accounting {
        slat,
        clat,
        lat,
        bandwidth: keep(opt::DISABLE_BW_MEASUREMENT),
        slat_percentiles: slat && reduced_switch(settings, opt::SLAT_PERCENTILES, false),
        clat_percentiles: clat && reduced_switch(settings, opt::CLAT_PERCENTILES, false),
        lat_percentiles: lat && reduced_switch(settings, opt::LAT_PERCENTILES, false),
        percentiles: percentiles(settings),
        bandwidth_sample: Nanos::from_millis(settings.get(opt::BWAVGTIME).clamp(1, 86_400_000)),
        iops_sample: Nanos::from_millis(settings.get(opt::IOPSAVGTIME).clamp(1, 86_400_000)),
        unified: unified(settings),
        disk_util: settings.get(opt::DISK_UTIL),
        hidden: !settings.get(opt::STATS),
        reduced: settings.get(opt::GTOD_REDUCE),
        logs: logs(view, name, diagnostics),
        blame: settings.get(opt::BLAME),
    }
}

/// `gtod_reduce` sets a group of switches at once; a later setting of one of them takes precedence.
fn reduced_switch(settings: &Settings, option: JobOption<Switch>, by_reduce: bool) -> bool {
    let reduce = settings
        .position(opt::GTOD_REDUCE)
        .filter(|_| settings.get(opt::GTOD_REDUCE));
    if reduce.is_some() && reduce > settings.position(option) {
        by_reduce
    } else {
        settings.get(option)
    }
}

fn percentiles(settings: &Settings) -> Vec<f64> {
    let mut list = settings.get(opt::PERCENTILE_LIST);
    list.sort_by(f64::total_cmp);
    list.dedup();
    list
}

fn unified(settings: &Settings) -> Unified {
    match settings.get(opt::UNIFIED_RW_REPORTING) {
        "mixed" | "1" => Unified::Mixed,
        "both" | "2" => Unified::Both,
        _ => Unified::Separate,
    }
}

fn logs(view: &JobView<'_>, name: &str, diagnostics: &mut Diagnostics) -> Logs {
    let settings = view.settings;
    let prefix = |option: JobOption<Prefix>| {
        let given = settings.given(option)?;
        Some(given.unwrap_or(name).to_owned())
    };
    let logs = Logs {
        bw: prefix(opt::WRITE_BW_LOG),
        iops: prefix(opt::WRITE_IOPS_LOG),
        lat: prefix(opt::WRITE_LAT_LOG),
        hist: prefix(opt::WRITE_HIST_LOG),
        trace: settings
            .given(opt::WRITE_IOLOG)
            .filter(|_| !(view.is_fio() && settings.is_set(opt::READ_IOLOG)))
            .map(str::to_owned),
        average: Nanos::from_millis(settings.get(opt::LOG_AVG_MSEC).min(86_400_000)),
        hist_every: Nanos::from_millis(settings.get(opt::LOG_HIST_MSEC).min(86_400_000)),
        hist_coarseness: settings.get(opt::LOG_HIST_COARSENESS).min(6) as u8,
        window: window(settings),
        per_job: settings.get(opt::PER_JOB_LOGS),
        offset: settings.get(opt::LOG_OFFSET),
        prio: settings.get(opt::LOG_PRIO),
        issue_time: settings.get(opt::LOG_ISSUE_TIME),
        unix_epoch: settings.get(opt::LOG_ALTERNATE_EPOCH),
        compressed: settings.get(opt::LOG_STORE_COMPRESSED),
        entries: settings.get(opt::LOG_ENTRIES),
    };
    check(view, &logs, diagnostics);
    logs
}

fn check(view: &JobView<'_>, logs: &Logs, diagnostics: &mut Diagnostics) {
    if logs.issue_time && !(logs.offset && logs.lat.is_some()) {
        diagnostics.push(
            view.error(opt::LOG_ISSUE_TIME, "needs write_lat_log and log_offset")
                .advise("set both"),
        );
    }
}

fn window(settings: &Settings) -> LogWindow {
    match settings.get(opt::LOG_WINDOW_VALUE) {
        "max" | "1" => LogWindow::Max,
        "both" => LogWindow::Both,
        _ => LogWindow::Mean,
    }
}
