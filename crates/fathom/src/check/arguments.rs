//! The arguments of `fathom check`.

use fathom_analyse::{NumberError, parse_figure};
use fathom_import::ImportedRun;
use fathom_model::{AuthorClaims, Direction, HostLink, ImportedDirection, ImportedFigures};

/// What is to be checked.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub results: Vec<String>,
    pub logs: Vec<String>,
    /// Figures given as options.
    pub figures: Option<ImportedFigures>,
    /// Figures that are none.
    pub malformed: Vec<NumberError>,
    /// Percentiles that are said to be those of all jobs together: percent and nanoseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// The data sheet, by its id.
    pub sheet: Option<String>,
    /// The model that the device reports.
    pub model: Option<String>,
    /// Folders with sheets of the user's own.
    pub folders: Vec<String>,
    /// How many hosts should have given figures.
    pub hosts: Option<u32>,
    link: Option<HostLink>,
    links: u32,
    claims: AuthorClaims,
}

/// Figures as they come in.
#[derive(Debug, Default)]
struct Arg {
    iops: Option<f64>,
    latency_ns: Option<f64>,
    block: Option<u64>,
    depth: Option<u32>,
    jobs: Option<u32>,
    per_job: bool,
    rw: Option<String>,
}

impl Arguments {
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let (mut arguments, mut given) = (
            Self {
                links: 1,
                ..Self::default()
            },
            Arg::default(),
        );
        for word in words {
            match word
                .strip_prefix("--")
                .map(|option| option.split_once('=').unwrap_or((option, "")))
            {
                Some((name, value)) => arguments.option(name, value, &mut given)?,
                None if word.starts_with('-') => return Err(unknown(word)),
                None => arguments.results.push(word.clone()),
            }
        }
        arguments.figures = arguments.figures_of(given);
        if arguments.results.is_empty()
            && arguments.figures.is_none()
            && arguments.malformed.is_empty()
        {
            return Err(
                "give a result of fio, or figures with --iops=; `fathom check --help` tells more"
                    .to_owned(),
            );
        }
        Ok(arguments)
    }

    fn option(&mut self, name: &str, value: &str, given: &mut Arg) -> Result<(), String> {
        let whole = || {
            value
                .parse::<u32>()
                .ok()
                .filter(|n| (1..=1_000_000).contains(n))
                .ok_or_else(|| refused(name, value, "a whole number from 1 to 1,000,000"))
        };
        match name {
            "link" => self.link = Some(value.parse().map_err(|error| format!("--link: {error}"))?),
            "links" => self.links = whole()?,
            "log" => self.logs.push(value.to_owned()),
            "iops" => given.iops = self.figure(value),
            "lat" => {
                given.latency_ns = Some(time(value).ok_or_else(|| {
                    refused(
                        name,
                        value,
                        "a time above 0 with its unit (ns, us, ms or s), such as 116us or 8.5ms",
                    )
                })?)
            }
            "bs" => {
                given.block = Some(size(value).ok_or_else(|| {
                    refused(
                        name,
                        value,
                        "a size in bytes, or with its unit (k, m or g), such as 4k",
                    )
                })?)
            }
            "iodepth" => given.depth = Some(whole()?),
            "numjobs" => given.jobs = Some(whole()?),
            "per-job" => given.per_job = true,
            "rw" => given.rw = Some(value.to_owned()),
            "claim-inflight" => self.claims.in_flight = self.figure(value),
            "claim-ceiling" => self.claims.ceiling = self.figure(value).map(|mb| mb * 1e6),
            "sheet" => self.sheet = Some(value.to_owned()),
            "model" => self.model = Some(value.to_owned()),
            "specs" => self.folders.push(value.to_owned()),
            "hosts" => self.hosts = Some(whole()?),
            name if name.starts_with("claim-p") && percentile(name).is_some() => {
                let ns = time(value).ok_or_else(|| {
                    refused(
                        name,
                        value,
                        "a time above 0 with its unit (ns, us, ms or s), such as 116us or 8.5ms",
                    )
                })?;
                self.percentiles
                    .extend(percentile(name).map(|percent| (percent, ns)));
            }
            "claim-pattern" => self.claims.pattern = Some(value.to_owned()),
            _ => return Err(unknown(&format!("--{name}"))),
        }
        Ok(())
    }

    /// A figure, or the finding that it is none.
    fn figure(&mut self, value: &str) -> Option<f64> {
        parse_figure(value)
            .map_err(|error| self.malformed.push(error))
            .ok()
    }

    fn figures_of(&self, given: Arg) -> Option<ImportedFigures> {
        let direction = if given.rw.as_ref().is_some_and(|rw| rw.contains("write")) {
            Direction::Write
        } else {
            Direction::Read
        };
        let stream = ImportedDirection {
            direction,
            iops: given.iops?,
            latency_ns: given.latency_ns,
            is_median: false,
        };
        Some(ImportedFigures {
            rw: given.rw,
            streams: vec![stream],
            block: given.block,
            depth: given.depth.or(Some(1)),
            jobs: given.jobs,
            per_job: given.per_job,
            closed: true,
            link: self.link,
            links: self.links,
            claims: self.claims.clone(),
            ..ImportedFigures::default()
        })
    }

    /// A result does not know what its device hangs on.
    pub(super) fn complete(&self, mut run: ImportedRun) -> ImportedRun {
        (run.figures.link, run.figures.links, run.figures.claims) =
            (self.link, self.links, self.claims.clone());
        run
    }
}

/// The 99.9 of `claim-p99.9`.
fn percentile(name: &str) -> Option<f64> {
    name.strip_prefix("claim-p")?
        .parse()
        .ok()
        .filter(|percent| (0.0..100.0).contains(percent) && *percent > 0.0)
}

fn unknown(option: &str) -> String {
    format!(
        "there is no option '{}'; `fathom check --help` lists them",
        option.escape_debug()
    )
}

fn refused(name: &str, value: &str, wanted: &str) -> String {
    format!("--{name}={}: not {wanted}", value.escape_debug())
}

/// `116us`, `8.5ms`, `1s`, `500ns`; in nanoseconds.
fn time(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(parse_figure(digits).ok()? * unit).filter(|ns| *ns > 0.0)
}

/// `4k`, `1m`, `512`, in powers of two.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &lower[digits.len()..] {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return None,
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes > 0)
}
