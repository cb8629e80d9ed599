//! Options of a job as fio writes them in its result.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::normal_output;

/// The global options; with several servers, those of the first.
fn global(document: &Value) -> Option<&Map<String, Value>> {
    let options = &document["global options"];
    options
        .as_array()
        .and_then(|list| list.first())
        .unwrap_or(options)
        .as_object()
}

/// Options that say nothing about the load of one job.
const OTHER_OPTIONS: [&str; 17] = [
    "name",
    "description",
    "iodepth",
    "numjobs",
    "stonewall",
    "wait_for_previous",
    "wait_for",
    "startdelay",
    "group_reporting",
    "new_group",
    "randseed",
    "randrepeat",
    "allrandrepeat",
    "percentile_list",
    "per_job_logs",
    "significant_figures",
    "hist_log_coarseness",
];

/// Options of a job, which take precedence, and global options.
pub(crate) struct Options<'a> {
    own: Option<&'a Map<String, Value>>,
    global: Option<&'a Map<String, Value>>,
    /// Options that are not listed have their default. In normal output they are unknown.
    complete: bool,
}

impl<'a> Options<'a> {
    pub(crate) fn of(document: &'a Value, job: &'a Value) -> Self {
        Self {
            own: job["job options"].as_object(),
            global: global(document),
            complete: job[normal_output::MARK].is_null(),
        }
    }

    /// Whether an option that is not listed has its default.
    pub(crate) fn have_defaults(&self) -> bool {
        self.complete && (self.own.is_some() || self.global.is_some())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let of = |map: Option<&'a Map<String, Value>>| map?.get(name)?.as_str();
        of(self.own).or_else(|| of(self.global))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.trim().parse().ok()
    }

    /// Options that determine the load and its device: all but names, queue depth, number of jobs, random seed, order of
    /// jobs, and outputs.
    pub(crate) fn of_the_load(&self) -> BTreeMap<String, String> {
        let is_other = |name: &str| {
            OTHER_OPTIONS.contains(&name) || name.starts_with("write_") || name.starts_with("log_")
        };
        let all = self.global.into_iter().chain(self.own).flatten();
        all.filter(|(name, _)| !is_other(name))
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    /// Limit of I/Os in flight. It is 1 for a synchronous engine, whatever `iodepth` says, and if
    /// there is no `iodepth`. `None` if it is unknown.
    pub(crate) fn depth(&self) -> Option<u32> {
        let synchronous = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];
        match self.text("ioengine") {
            Some(engine) if synchronous.contains(&engine) => Some(1),
            _ => self.number("iodepth").or(self.complete.then_some(1)),
        }
    }

    /// The block size, where it is one; fio's default is 4 KiB.
    pub(crate) fn block(&self) -> Option<u64> {
        let default = (self.complete && !self.has("bs")).then_some(4096);
        self.size("bs").or(self.size("blocksize")).or(default)
    }

    /// A single size: `4k`, `512`, `1M`. `None` for a range or a list.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?.trim().to_ascii_lowercase();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..]
            .trim_end_matches('b')
            .trim_end_matches('i')
        {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(1 << shift)
    }
}

/// Options as in a result; a flag has no value or an empty one. With several servers, the options
/// of the first.
pub(crate) fn pairs(options: &Value) -> Vec<(String, Option<String>)> {
    let first = options
        .as_array()
        .and_then(|list| list.first())
        .unwrap_or(options);
    let text = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    first
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}
