//! Profiles of `fathom ready` in TOML: the load of an application and its limits. See `docs/how-to/ready.md`.

use std::path::{Path, PathBuf};

use fathom_model::{Bytes, Nanos, ReadyCheck, ReadyFigure, ReadyLimit, ReadyMetric};
use toml::de::DeTable;

use super::RecipeError;
use super::read::is_name;
use super::table::{File, TableEntry};
use crate::experiment::cell::file_value;
use crate::experiment::quick::QuickError;

/// Supported version of the format.
const SCHEMA: u32 = 1;
/// Files that the program creates begin with this.
const FILE_PREFIX: &str = "fathom-ready.";
/// The highest rate that a limit can name.
const MOST_RATE: u32 = 100_000_000;
/// Options that the command sets.
const OWN_OPTIONS: [&str; 10] = [
    "filename",
    "directory",
    "size",
    "offset",
    "runtime",
    "time_based",
    "ramp_time",
    "filesize",
    "nrfiles",
    "io_size",
];

/// The load of an application and its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// How the load relates to the application.
    pub about: String,
    /// Where load and limits come from.
    pub sources: Vec<String>,
    /// Its steps, in order; the time is shared between them.
    pub steps: Vec<ProfileStep>,
    /// The name of its file.
    pub source: String,
}

/// Jobs that run at the same time, and the checks of their figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileStep {
    /// Unique in its profile.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// The shortest time that shows the load completely, such as one period of a background load.
    pub least: Nanos,
    /// The jobs.
    pub jobs: Vec<ProfileJob>,
    /// The checks.
    pub checks: Vec<ReadyCheck>,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileJob {
    /// Unique in its step.
    pub name: String,
    /// The file that it uses; jobs with the same file share it.
    pub file: String,
    /// Size of the file.
    pub size: Bytes,
    /// Job options.
    pub options: Vec<(String, String)>,
    /// What it stands for, if it is not judged but runs beside the judged jobs: `checkpoint`.
    pub background: Option<String>,
}

/// Where the files of a profile are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfilePlace {
    /// Files are created in this directory.
    Directory(PathBuf),
    /// One file or device, of which each file of the profile is a part.
    Whole(PathBuf),
}

impl ProfilePlace {
    /// The path of one file of a profile.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        match self {
            ProfilePlace::Directory(directory) => directory.join(format!("{FILE_PREFIX}{name}")),
            ProfilePlace::Whole(target) => target.clone(),
        }
    }
}

impl Profile {
    /// Every file with its size, in the order of their first use.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Bytes)> {
        let mut files: Vec<(String, Bytes)> = Vec::new();
        for job in self.steps.iter().flat_map(|step| &step.jobs) {
            match files.iter_mut().find(|(name, _)| *name == job.file) {
                Some((_, size)) => *size = (*size).max(job.size),
                None => files.push((job.file.clone(), job.size)),
            }
        }
        files
    }

    /// Makes every file at most this large.
    pub fn limit_sizes(&mut self, most: Bytes) {
        for job in self.steps.iter_mut().flat_map(|step| &mut step.jobs) {
            job.size = job.size.min(most);
        }
    }

    /// Sets an option of every job that has it; returns whether any has.
    pub fn replace_option(&mut self, name: &str, value: &str) -> bool {
        let mut found = false;
        for (_, old) in self
            .steps
            .iter_mut()
            .flat_map(|step| &mut step.jobs)
            .flat_map(|job| &mut job.options)
            .filter(|(option, _)| option == name)
        {
            value.clone_into(old);
            found = true;
        }
        found
    }

    /// The number of checks of all steps.
    #[must_use]
    pub fn checks(&self) -> usize {
        self.steps.iter().map(|step| step.checks.len()).sum()
    }

    /// The job file of a step that measures for `time` after `ramp`.
    ///
    /// # Errors
    /// When a job file cannot contain the name of the place.
    pub fn job_file(
        &self,
        step: &ProfileStep,
        place: &ProfilePlace,
        ramp: Nanos,
        time: Nanos,
    ) -> Result<String, QuickError> {
        let mut text = format!(
            "[global]\ntime_based\nramp_time={}us\nruntime={}us\n",
            ramp.get() / 1000,
            time.get() / 1000
        );
        let files = self.files();
        for job in &step.jobs {
            let file = file_value(&place.file(&job.file))?;
            text += &format!(
                "\n[{}]\nfilename={file}\nsize={}\n",
                job.name,
                job.size.get()
            );
            if matches!(place, ProfilePlace::Whole(_)) {
                let before = files.iter().take_while(|(name, _)| *name != job.file);
                let offset: u64 = before.map(|(_, size)| size.get()).sum();
                text += &format!("offset={offset}\n");
            }
            for (name, value) in &job.options {
                text += &format!("{name}={value}\n");
            }
        }
        Ok(text)
    }

    /// A random load of the command line: `rate` I/Os of `block` bytes per second, `reads` percent of them reads, with these
    /// limits on the latency of each direction.
    #[must_use]
    pub fn custom(rate: u32, reads: u32, block: Bytes, limits: &[(ReadyFigure, Nanos)]) -> Profile {
        let share = |percent: u32| (u64::from(rate) * u64::from(percent) / 100).max(1);
        let (read, write) = (share(reads), share(100 - reads));
        let directions = [
            (ReadyMetric::Read, "reads", reads > 0),
            (ReadyMetric::Write, "writes", reads < 100),
        ];
        let traffic = match reads {
            0 => "randwrite",
            100 => "randread",
            _ => "randrw",
        };
        let options = [
            ("rw", traffic.to_owned()),
            ("bs", block.get().to_string()),
            ("direct", "1".to_owned()),
            ("ioengine", "io_uring".to_owned()),
            ("iodepth", "256".to_owned()),
            ("rate_iops", format!("{read},{write}")),
            ("rate_process", "poisson".to_owned()),
        ];
        let mut options: Vec<(String, String)> = options
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        if traffic == "randrw" {
            options.push(("rwmixread".to_owned(), reads.to_string()));
        }
        let advice = "Ask for a faster disk, or for less load on it: `fathom search PATH --slo LIMIT` finds the highest load within the limit.";
        let mut checks: Vec<ReadyCheck> = Vec::new();
        for (metric, title, _) in directions.into_iter().filter(|(.., used)| *used) {
            checks.extend(limits.iter().map(|(figure, hard)| ReadyCheck {
                title: title.to_owned(),
                job: "load".to_owned(),
                metric,
                limit: ReadyLimit::AtMost {
                    figure: *figure,
                    hard: *hard,
                    soft: None,
                },
                advice: Some(advice.to_owned()),
                source: None,
            }));
        }
        checks.push(ReadyCheck {
            title: "completed load".to_owned(),
            job: "load".to_owned(),
            metric: ReadyMetric::Rate,
            limit: ReadyLimit::AtLeast {
                // Of the I/Os that became due, this share must complete.
                hard: f64::from(rate) * 0.95,
                soft: None,
            },
            advice: Some(advice.to_owned()),
            source: None,
        });
        Profile {
            name: "custom".to_owned(),
            title: format!(
                "{} I/Os of {} per second, {reads} % reads",
                fathom_model::format::thousands(rate.into()),
                fathom_model::format::size(block)
            ),
            about: "Random I/Os that are due at random times, without waiting for earlier ones; latencies count from the due time.".to_owned(),
            steps: vec![ProfileStep {
                name: "load".to_owned(),
                title: "the load".to_owned(),
                least: Nanos::ZERO,
                jobs: vec![ProfileJob {
                    name: "load".to_owned(),
                    file: "data".to_owned(),
                    size: Bytes::new(1 << 30),
                    options,
                    background: None,
                }],
                checks,
            }],
            ..Profile::default()
        }
    }
}

/// Parses the profile in `text`, the content of the file `name`.
///
/// # Errors
/// The first error, with its line.
pub fn read_profile(name: &str, text: &str) -> Result<Profile, RecipeError> {
    let file = File { name, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        file.error(
            at,
            format!("invalid TOML: {}", error.message().replace('\n', " ")),
        )
    })?;
    profile(&TableEntry {
        file,
        table: table.get_ref(),
        at: 0,
    })
}

fn profile(top: &TableEntry<'_>) -> Result<Profile, RecipeError> {
    top.only(&["schema", "name", "title", "about", "sources", "step"])?;
    if top.number("schema", SCHEMA..=SCHEMA)?.is_none() {
        return Err(top.wrong(
            "schema",
            format!("`schema = {SCHEMA}` is missing at the top"),
        ));
    }
    let mut profile = Profile {
        name: identifier(top, "name")?,
        title: top.required("title")?,
        about: top.text("about")?.unwrap_or_default(),
        sources: top
            .texts("sources")?
            .into_iter()
            .map(|(source, _)| source)
            .collect(),
        steps: Vec::new(),
        source: top.file.name.to_owned(),
    };
    for place in top.tables("step")? {
        let step = step(&place)?;
        if profile.steps.iter().any(|known| known.name == step.name) {
            return Err(place.wrong("name", format!("two steps are named {}", step.name)));
        }
        profile.steps.push(step);
    }
    if profile.checks() == 0 {
        return Err(top.file.error(
            0..0,
            "the profile has no [[step.check]], so it has no verdict",
        ));
    }
    Ok(profile)
}

fn identifier(place: &TableEntry<'_>, key: &str) -> Result<String, RecipeError> {
    let name = place.required(key)?;
    if is_name(&name) {
        Ok(name)
    } else {
        Err(place.wrong(key, "a name consists of lower-case letters, digits and `-`"))
    }
}

fn step(place: &TableEntry<'_>) -> Result<ProfileStep, RecipeError> {
    place.only(&["name", "title", "least", "job", "check"])?;
    let name = identifier(place, "name")?;
    let mut jobs: Vec<ProfileJob> = Vec::new();
    for entry in place.tables("job")? {
        let job = job(&entry)?;
        if jobs.iter().any(|known| known.name == job.name) {
            return Err(entry.wrong("name", format!("two jobs are named {}", job.name)));
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(place.wrong("job", format!("the step {name} has no [[step.job]]")));
    }
    let checks = place
        .tables("check")?
        .iter()
        .map(|entry| check(entry, &jobs))
        .collect::<Result<_, _>>()?;
    Ok(ProfileStep {
        title: place.text("title")?.unwrap_or_else(|| name.clone()),
        least: Nanos::new(place.time("least")?.unwrap_or(0)),
        name,
        jobs,
        checks,
    })
}

fn job(place: &TableEntry<'_>) -> Result<ProfileJob, RecipeError> {
    place.only(&["name", "file", "size", "options", "background"])?;
    let name = identifier(place, "name")?;
    let options = place.options("options")?;
    if let Some((option, _)) = options
        .iter()
        .find(|(option, _)| OWN_OPTIONS.contains(&option.as_str()))
    {
        return Err(place.wrong(
            "options",
            format!("a profile cannot set {option}; use `file` and `size` of the job"),
        ));
    }
    let Some(size) = place.size("size")? else {
        return Err(place.wrong("size", "`size = \"64m\"` is missing"));
    };
    let file = match place.text("file")? {
        Some(_) => identifier(place, "file")?,
        None => name.clone(),
    };
    Ok(ProfileJob {
        name,
        file,
        size: Bytes::new(size),
        options,
        background: place.text("background")?,
    })
}

fn check(place: &TableEntry<'_>, jobs: &[ProfileJob]) -> Result<ReadyCheck, RecipeError> {
    place.only(&[
        "title",
        "job",
        "metric",
        "figure",
        "limit",
        "warn",
        "at_least",
        "warn_below",
        "advice",
        "source",
    ])?;
    let job = place.required("job")?;
    if !jobs.iter().any(|known| known.name == job) {
        return Err(place.wrong(
            "job",
            format!("no job '{}' in this step", job.escape_debug()),
        ));
    }
    let metric = ReadyMetric::from_name(&place.required("metric")?)
        .ok_or_else(|| place.wrong("metric", "metric must be sync, read, write or rate"))?;
    let limit = if metric == ReadyMetric::Rate {
        rate_limit(place)?
    } else {
        latency_limit(place)?
    };
    Ok(ReadyCheck {
        title: place.required("title")?,
        job,
        metric,
        limit,
        advice: place.text("advice")?,
        source: place.text("source")?,
    })
}

fn unexpected(place: &TableEntry<'_>, keys: &[&str], of: &str) -> Result<(), RecipeError> {
    match keys.iter().find(|key| !place.span(key).is_empty()) {
        Some(key) => Err(place.wrong(key, format!("{key} cannot be used with {of}"))),
        None => Ok(()),
    }
}

fn rate_limit(place: &TableEntry<'_>) -> Result<ReadyLimit, RecipeError> {
    unexpected(place, &["figure", "limit", "warn"], "a rate; use at_least")?;
    let rate = |key: &str| Ok(place.number(key, 1..=MOST_RATE)?.map(f64::from));
    let hard = rate("at_least")?
        .ok_or_else(|| place.wrong("at_least", "`at_least = 500` is missing (I/Os per second)"))?;
    let soft = rate("warn_below")?;
    if soft.is_some_and(|soft| soft <= hard) {
        return Err(place.wrong("warn_below", "warn_below must be higher than at_least"));
    }
    Ok(ReadyLimit::AtLeast { hard, soft })
}

fn latency_limit(place: &TableEntry<'_>) -> Result<ReadyLimit, RecipeError> {
    unexpected(place, &["at_least", "warn_below"], "a latency; use limit")?;
    let figure = place.required("figure")?;
    let figure = ready_figure(&figure).ok_or_else(|| {
        place.wrong(
            "figure",
            "figure must be mean or a percentile such as p99 or p99.9",
        )
    })?;
    let time = |key: &str| {
        let Some(text) = place.text(key)? else {
            return Ok(None);
        };
        match crate::values::parse_time(&text) {
            Ok(time) if !time.is_zero() => Ok(Some(time)),
            _ => Err(place.wrong(key, format!("{key} must be a time such as \"10ms\""))),
        }
    };
    let hard =
        time("limit")?.ok_or_else(|| place.wrong("limit", "`limit = \"10ms\"` is missing"))?;
    let soft = time("warn")?;
    if soft.is_some_and(|soft| soft >= hard) {
        return Err(place.wrong("warn", "warn must be lower than limit"));
    }
    Ok(ReadyLimit::AtMost { figure, hard, soft })
}

/// `figure = "p99"` and `limit = "10ms"`.
pub(super) fn latency_limit_of(
    place: &TableEntry<'_>,
) -> Result<(ReadyFigure, Nanos), RecipeError> {
    match latency_limit(place)? {
        ReadyLimit::AtMost { figure, hard, .. } => Ok((figure, hard)),
        ReadyLimit::AtLeast { .. } => Err(place.wrong("limit", "limit must be a latency")),
    }
}

/// `mean`, `p99` or `p99.9`.
fn ready_figure(text: &str) -> Option<ReadyFigure> {
    if text == "mean" {
        return Some(ReadyFigure::Mean);
    }
    let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(ReadyFigure::Percentile(percent))
}

/// The path as a place: the files of a profile in a directory, or parts of anything else.
#[must_use]
pub fn profile_place(path: &Path, is_directory: bool) -> ProfilePlace {
    if is_directory {
        ProfilePlace::Directory(path.to_owned())
    } else {
        ProfilePlace::Whole(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = r#"schema = 1
name = "log"
title = "A log"
sources = ["its manual"]

[[step]]
name = "commit"
least = "5s"

[[step.job]]
name = "log"
size = "64m"
options = { rw = "write", bs = "8k", fdatasync = 1 }

[[step.job]]
name = "copy"
file = "data"
size = "1g"
background = "backup"
options = { rw = "read", bs = "1m" }

[[step.check]]
title = "commits"
job = "log"
metric = "sync"
figure = "p99"
limit = "10ms"
warn = "5ms"

[[step.check]]
title = "rate"
job = "log"
metric = "rate"
at_least = 500
"#;

    fn problem(from: &str, to: &str) -> String {
        assert!(PROFILE.contains(from), "{from}");
        read_profile("log.toml", &PROFILE.replacen(from, to, 1))
            .expect_err("an error")
            .to_string()
    }

    #[test]
    fn a_profile_becomes_a_job_file_for_a_directory_or_a_device() {
        let profile = read_profile("log.toml", PROFILE).expect("valid");
        assert_eq!(profile.checks(), 2);
        let of = |place| {
            profile
                .job_file(
                    &profile.steps[0],
                    &place,
                    Nanos::from_secs(1),
                    Nanos::from_secs(10),
                )
                .expect("a valid name")
        };
        let text = of(ProfilePlace::Directory("/mnt/a:b".into()));
        assert_eq!(
            text,
            "[global]\ntime_based\nramp_time=1000000us\nruntime=10000000us\n\n\
             [log]\nfilename=/mnt/a\\:b/fathom-ready.log\nsize=67108864\nbs=8k\nfdatasync=1\nrw=write\n\n\
             [copy]\nfilename=/mnt/a\\:b/fathom-ready.data\nsize=1073741824\nbs=1m\nrw=read\n"
        );
        let text = of(ProfilePlace::Whole("/dev/sdx".into()));
        assert!(text.contains("[copy]\nfilename=/dev/sdx\nsize=1073741824\noffset=67108864\n"));
    }

    #[test]
    fn every_mistake_names_its_line() {
        for (from, to, expected) in [
            ("schema = 1\n", "", "log.toml:1: `schema = 1` is missing"),
            (
                "limit = \"10ms\"",
                "limit = \"0\"",
                "log.toml:27: limit must be a time",
            ),
            (
                "warn = \"5ms\"",
                "warn = \"10ms\"",
                "log.toml:28: warn must be lower than limit",
            ),
            (
                "figure = \"p99\"",
                "figure = \"p100\"",
                "log.toml:26: figure must be mean or a percentile",
            ),
            (
                "at_least = 500",
                "at_least = 0",
                "log.toml:34: at_least must be a number from 1",
            ),
            (
                "at_least = 500",
                "limit = \"1ms\"",
                "log.toml:34: limit cannot be used with a rate",
            ),
            (
                "job = \"log\"\nmetric = \"rate\"",
                "job = \"lag\"\nmetric = \"rate\"",
                "no job 'lag'",
            ),
            (
                "metric = \"sync\"",
                "metric = \"speed\"",
                "metric must be sync, read, write or rate",
            ),
            (
                "bs = \"8k\"",
                "filename = \"x\"",
                "filename is set by the target",
            ),
            ("bs = \"8k\"", "bz = \"8k\"", "unknown option 'bz'"),
            (
                "title = \"A log\"",
                "tittle = \"A log\"",
                "log.toml:3: unknown key 'tittle'; did you mean title?",
            ),
            ("[[step]]", "[[step", "invalid TOML"),
        ] {
            let found = problem(from, to);
            assert!(found.contains(expected), "{found}\nexpected {expected}");
        }
        let without = PROFILE.split("[[step.check]]").next().expect("a part");
        let error = read_profile("log.toml", without)
            .expect_err("an error")
            .to_string();
        assert!(error.contains("no [[step.check]]"), "{error}");
    }

    #[test]
    fn a_custom_load_has_a_rate_for_each_direction() {
        let limit = [(ReadyFigure::Percentile(99.0), Nanos::from_millis(2))];
        let profile = Profile::custom(3000, 70, Bytes::new(8192), &limit);
        let options = &profile.steps[0].jobs[0].options;
        let value = |name: &str| {
            let option = options.iter().find(|(option, _)| option == name);
            option.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("rate_iops"), Some("2100,900"));
        assert_eq!(value("rwmixread"), Some("70"));
        assert_eq!(profile.checks(), 3);
        assert_eq!(
            Profile::custom(100, 100, Bytes::new(4096), &limit).checks(),
            2
        );
    }
}
