//! Charts as fio-plot is asked for them: its flags, and its INI files with the same names as keys, become a wish of ours.

use std::collections::BTreeMap;
use std::fmt;

use fathom_model::{AxisLimits, ChartOptions, Dimension, Direction};

/// What follows a flag.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    One,
    Many,
}

/// A setting of fio-plot.
struct Setting {
    /// Its key in an INI file; the long flag has dashes in place of the underscores.
    key: &'static str,
    short: &'static str,
    takes: Takes,
    /// Why it changes nothing here; empty where it does.
    idle: &'static str,
}

const fn setting(key: &'static str, short: &'static str, takes: Takes) -> Setting {
    Setting {
        key,
        short,
        takes,
        idle: "",
    }
}

const fn idle(key: &'static str, short: &'static str, takes: Takes, idle: &'static str) -> Setting {
    Setting {
        key,
        short,
        takes,
        idle,
    }
}

const LOOK: &str = "the look is the same for every chart, chosen to be read on a phone, in print and with any colour vision";
const LABELS: &str = "labels say what differs, and nothing else";
const TABLE: &str = "the figures are in the chart or in -o FILE.csv";
/// `fio-plot --help` of version 1.1.21.
const SETTINGS: [Setting; 48] = [
    setting("input_directory", "-i", Takes::Many),
    setting("output_filename", "-o", Takes::One),
    setting("title", "-T", Takes::One),
    setting("source", "-s", Takes::One),
    setting("bargraph3d", "-L", Takes::Nothing),
    setting("bargraph2d_qd", "-l", Takes::Nothing),
    setting("bargraph2d_nj", "-N", Takes::Nothing),
    setting("histogram", "-H", Takes::Nothing),
    setting("loggraph", "-g", Takes::Nothing),
    setting("compare_graph", "-C", Takes::Nothing),
    setting("graphtype", "", Takes::One),
    setting("subtitle", "", Takes::One),
    setting("iodepth", "-d", Takes::Many),
    setting("numjobs", "-n", Takes::Many),
    setting("maxdepth", "-M", Takes::One),
    setting("maxjobs", "-J", Takes::One),
    setting("dpi", "-D", Takes::One),
    setting("rw", "-r", Takes::One),
    setting("type", "-t", Takes::Many),
    setting("filter", "-f", Takes::Many),
    setting("min_iops", "", Takes::One),
    setting("min_lat", "", Takes::One),
    setting("max_lat", "", Takes::One),
    setting("max_clat", "", Takes::One),
    setting("max_slat", "", Takes::One),
    setting("max_iops", "", Takes::One),
    setting("max_bw", "", Takes::One),
    setting("truncate_xaxis", "", Takes::One),
    idle(
        "percentile",
        "-p",
        Takes::One,
        "--chart=percentiles draws all of them",
    ),
    idle(
        "max_z",
        "-m",
        Takes::One,
        "the axis ends above the highest bar, and none is cut off",
    ),
    idle(
        "moving_average",
        "-e",
        Takes::One,
        "a moving average hides the dips that the chart is for",
    ),
    idle(
        "draw_total",
        "",
        Takes::Nothing,
        "reads and writes are lines of their own",
    ),
    idle("disable_grid", "", Takes::Nothing, LOOK),
    idle("enable_markers", "", Takes::Nothing, LOOK),
    idle("line_width", "-w", Takes::One, LOOK),
    idle("colors", "", Takes::Many, LOOK),
    idle("table_lines", "", Takes::Nothing, LOOK),
    idle("title_fontsize", "", Takes::One, LOOK),
    idle("subtitle_fontsize", "", Takes::One, LOOK),
    idle("source_fontsize", "", Takes::One, LOOK),
    idle("credit_fontsize", "", Takes::One, LOOK),
    idle("table_fontsize", "", Takes::One, LOOK),
    idle("xlabel_depth", "", Takes::One, LABELS),
    idle("xlabel_parent", "", Takes::One, LABELS),
    idle("xlabel_segment_size", "", Takes::One, LABELS),
    idle("xlabel_single_column", "", Takes::Nothing, LABELS),
    idle("show_data", "", Takes::Nothing, TABLE),
    idle("group_bars", "", Takes::Nothing, LOOK),
];
/// Others whose effect is elsewhere.
const ELSEWHERE: [Setting; 5] = [
    idle("show_cpu", "", Takes::Nothing, "--chart=cpu draws it"),
    idle("show_ss", "", Takes::Nothing, "--chart=window draws it"),
    idle(
        "disable_fio_version",
        "",
        Takes::Nothing,
        "the version is not in the chart",
    ),
    idle("include_hosts", "", Takes::Many, "choose hosts with --name"),
    idle("exclude_hosts", "", Takes::Many, "choose hosts with --name"),
];
/// What we call [`KINDS`].
const OURS: [&str; 6] = ["3d", "depth", "jobs", "distribution", "time", "compare"];
const KINDS: [&str; 6] = [
    "bargraph3d",
    "bargraph2d_qd",
    "bargraph2d_nj",
    "histogram",
    "loggraph",
    "compare_graph",
];

/// So many keys that nobody knows are told.
const MOST_UNKNOWN: usize = 20;

/// Keys with the words that follow them.
type Given = BTreeMap<&'static str, Vec<String>>;

fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&ELSEWHERE)
}

/// A chart that was asked for in the way of fio-plot.
#[derive(Debug)]
pub struct FioPlotRequest {
    /// Folders with results.
    pub results: Vec<String>,
    /// Our name of the chart.
    pub chart: &'static str,
    /// What is to be on it.
    pub options: ChartOptions,
    /// Largest queue depth and number of jobs that are shown.
    pub max_depth_and_jobs: (Option<u32>, Option<u32>),
    /// Size of the picture, where 1 is 1000 pixels wide.
    pub scale: f32,
    /// The file to write; what its name ends in says what kind.
    pub output: String,
    /// What was set and changes nothing: the reason, with the keys.
    pub idle: Vec<(&'static str, Vec<&'static str>)>,
    /// Keys that fio-plot does not know either.
    pub unknown: Vec<String>,
}

/// Why a wish in the way of fio-plot cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FioPlotError {
    /// No such flag.
    Option(String),
    /// A flag without its value.
    Value(String),
    /// A line of an INI file, from 1, that sets nothing.
    Line(usize, String),
    /// No kind of chart was asked for.
    Kind,
    /// No results were named.
    Results,
    /// What a setting is set to.
    Setting {
        /// Its key.
        key: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl fmt::Display for FioPlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(word) => write!(
                f,
                "fio-plot has no option '{}'; fio-plot's options cannot be mixed with fathom's",
                word.escape_debug()
            ),
            Self::Value(flag) => write!(f, "{}: needs a value", flag.escape_debug()),
            Self::Line(number, text) => write!(
                f,
                "line {number}: '{}' is not KEY = VALUE",
                text.escape_debug()
            ),
            Self::Kind => write!(
                f,
                "no chart chosen; graphtype is one of {}",
                KINDS.join(", ")
            ),
            Self::Results => write!(
                f,
                "no results given; name their directories with input_directory (-i)"
            ),
            Self::Setting { key, why } => write!(f, "{key}: {why}"),
        }
    }
}

impl std::error::Error for FioPlotError {}

fn wrong<T>(key: &'static str, why: impl Into<String>) -> Result<T, FioPlotError> {
    Err(FioPlotError::Setting {
        key,
        why: why.into(),
    })
}

/// Whether `words` ask for a chart by fio-plot's flags.
#[must_use]
pub fn is_fio_plot(words: &[String]) -> bool {
    let kind = |word: &String| {
        all().any(|known| {
            KINDS.contains(&known.key) && (known.short == word || long(known) == *word)
        })
    };
    words.iter().any(kind)
}

/// What fio-plot's flags ask for.
///
/// # Errors
/// What fio-plot would not take either.
pub fn fio_plot_flags(words: &[String]) -> Result<FioPlotRequest, FioPlotError> {
    meant(&flags(words)?, Vec::new())
}

/// What an INI file of fio-plot asks for; `output` in place of its own.
///
/// # Errors
/// What fio-plot would not take either.
pub fn fio_plot_ini(text: &str, output: Option<&str>) -> Result<FioPlotRequest, FioPlotError> {
    let (mut given, unknown) = keys(text)?;
    if let Some(place) = output {
        given.insert("output_filename", vec![place.to_owned()]);
    }
    meant(&given, unknown)
}

fn long(setting: &Setting) -> String {
    format!("--{}", setting.key.replace('_', "-"))
}

fn flags(words: &[String]) -> Result<Given, FioPlotError> {
    let mut given = Given::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        // One of its long flags is written with an underscore.
        let known = all().find(|known| {
            (known.short == name && !name.is_empty()) || long(known) == name.replace('_', "-")
        });
        let Some(known) = known.filter(|_| name.starts_with('-')) else {
            return Err(FioPlotError::Option(word.clone()));
        };
        let mut values: Vec<String> = value.into_iter().collect();
        let most = match known.takes {
            Takes::Nothing => 0,
            Takes::One => 1,
            Takes::Many => usize::MAX,
        };
        while values.len() < most
            && rest
                .peek()
                .is_some_and(|next| !next.starts_with('-') || next.len() == 1)
        {
            values.extend(rest.next().cloned());
        }
        if values.is_empty() && known.takes != Takes::Nothing {
            return Err(FioPlotError::Value(name.to_owned()));
        }
        given.insert(known.key, values);
    }
    Ok(given)
}

/// The keys that fio-plot knows, with what is set, and those that it does not.
fn keys(text: &str) -> Result<(Given, Vec<String>), FioPlotError> {
    let (mut given, mut unknown) = (Given::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = line
            .split_once(['=', ':'])
            .ok_or_else(|| FioPlotError::Line(number + 1, line.chars().take(80).collect()))?;
        let (key, value) = (
            key.trim().to_ascii_lowercase(),
            value.trim().replace("%%", "%"),
        );
        let Some(known) = all().find(|known| known.key == key) else {
            if unknown.len() < MOST_UNKNOWN {
                unknown.push(format!(
                    "'{}'",
                    key.chars().take(40).collect::<String>().escape_debug()
                ));
            }
            continue;
        };
        let off = known.takes == Takes::Nothing
            && !["1", "yes", "true", "on"].contains(&value.to_ascii_lowercase().as_str());
        if !value.is_empty() && !off {
            let list = known.takes == Takes::Many;
            let words = if list {
                value
                    .split(',')
                    .map(|word| word.trim().to_owned())
                    .collect()
            } else {
                vec![value]
            };
            given.insert(known.key, words);
        }
    }
    Ok((given, unknown))
}

/// The same in our words.
fn meant(given: &Given, unknown: Vec<String>) -> Result<FioPlotRequest, FioPlotError> {
    let word = |key: &str| {
        given
            .get(key)
            .and_then(|words| words.first())
            .map(String::as_str)
    };
    let kind = match word("graphtype") {
        Some(kind) => KINDS.into_iter().find(|known| *known == kind).map_or_else(
            || wrong("graphtype", format!("one of {}", KINDS.join(", "))),
            Ok,
        )?,
        None => KINDS
            .into_iter()
            .find(|kind| given.contains_key(kind))
            .ok_or(FioPlotError::Kind)?,
    };
    let results = given
        .get("input_directory")
        .cloned()
        .ok_or(FioPlotError::Results)?;
    let named = || {
        word("title").map_or("fio-plot".to_owned(), |title| {
            title.replace([' ', '/'], "-")
        })
    };
    Ok(FioPlotRequest {
        results,
        chart: OURS[KINDS.iter().position(|known| *known == kind).unwrap_or(1)],
        options: options(given, kind)?,
        max_depth_and_jobs: (number(given, "maxdepth")?, number(given, "maxjobs")?),
        // Ten inches wide.
        scale: real(given, "dpi")?.map_or(2.0, |dpi| (dpi / 100.0).clamp(0.25, 10.0) as f32),
        output: word("output_filename").map_or_else(|| format!("{}.png", named()), str::to_owned),
        idle: idle_in(given),
        unknown,
    })
}

fn options(given: &Given, kind: &str) -> Result<ChartOptions, FioPlotError> {
    let word = |key: &str| given.get(key).and_then(|words| words.first()).cloned();
    let rw = word("rw").into_iter().flat_map(|rw| {
        if rw == "rw" || rw == "readwrite" {
            vec!["rw".into(), "readwrite".into()]
        } else {
            vec![rw]
        }
    });
    let one = |wanted: bool| if wanted { vec![1] } else { Vec::new() };
    let (depths, jobs): (Vec<u32>, Vec<u32>) =
        (numbers(given, "iodepth")?, numbers(given, "numjobs")?);
    let of_types = types(given, kind)?;
    Ok(ChartOptions {
        rw: rw.collect(),
        direction: filter(given)?,
        // What is not said is one, but where it is on an axis.
        depths: if depths.is_empty() {
            one(!["bargraph3d", "bargraph2d_qd"].contains(&kind))
        } else {
            depths
        },
        jobs: if jobs.is_empty() {
            one(!["bargraph3d", "bargraph2d_nj"].contains(&kind))
        } else {
            jobs
        },
        metric: of_types.first().copied(),
        second_metric: of_types.get(1).copied(),
        title: word("title"),
        subtitle: word("subtitle"),
        credit: word("source").unwrap_or_default(),
        axis_limits: axis_limits(given, kind, &of_types)?,
        ..ChartOptions::default()
    })
}

/// What is measured: as said, or what the kind shows.
fn types(given: &Given, kind: &str) -> Result<Vec<Dimension>, FioPlotError> {
    let meant = |word: &String| match word.as_str() {
        "iops" => Ok(Dimension::Iops),
        "bw" => Ok(Dimension::Bandwidth),
        "lat" | "clat" => Ok(Dimension::Mean),
        "slat" if kind == "loggraph" => wrong(
            "type",
            "submission latencies are not kept over time; lat and clat are",
        ),
        "slat" => Ok(Dimension::Slat),
        other => wrong(
            "type",
            format!(
                "'{}' is none of bw, iops, lat, slat, clat",
                other.escape_debug()
            ),
        ),
    };
    let mut all: Vec<Dimension> = given
        .get("type")
        .into_iter()
        .flatten()
        .map(meant)
        .collect::<Result<_, _>>()?;
    all.dedup();
    match (kind, all.len()) {
        ("loggraph" | "bargraph3d", 0) => wrong("type", "this chart needs one (-t iops, bw, lat)"),
        ("loggraph", n) if n > 2 => wrong("type", "a chart has two axes; name two at most"),
        ("compare_graph", _) => Ok(vec![Dimension::Iops, Dimension::Mean]),
        ("loggraph" | "bargraph3d", _) => Ok(all),
        _ => Ok(Vec::new()),
    }
}

fn filter(given: &Given) -> Result<Option<Direction>, FioPlotError> {
    let words: Vec<&str> = given
        .get("filter")
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    match words.as_slice() {
        [] | ["read", "write"] | ["write", "read"] => Ok(None),
        [one] => Direction::ALL
            .into_iter()
            .find(|d| d.word() == *one)
            .map_or_else(
                || wrong("filter", "read or write"),
                |direction| Ok(Some(direction)),
            ),
        _ => wrong("filter", "read, write or both"),
    }
}

/// Limits of axes, each in the unit that the axis is read in.
fn axis_limits(given: &Given, kind: &str, types: &[Dimension]) -> Result<AxisLimits, FioPlotError> {
    let mut axis_limits = AxisLimits {
        x_to: real(given, "truncate_xaxis")?,
        ..AxisLimits::default()
    };
    let sides = if kind == "loggraph" {
        types.to_vec()
    } else {
        vec![Dimension::Iops, Dimension::Mean]
    };
    for (side, figure) in sides.iter().enumerate().take(2) {
        let (least, most): (&'static str, &[&'static str]) = match figure {
            Dimension::Iops => ("min_iops", &["max_iops"]),
            Dimension::Bandwidth => ("", &["max_bw"]),
            _ => ("min_lat", &["max_lat", "max_clat", "max_slat"]),
        };
        axis_limits.from[side] = real(given, least)?.filter(|least| *least != 0.0);
        for key in most {
            axis_limits.to[side] = axis_limits.to[side].or(real(given, key)?);
        }
    }
    Ok(axis_limits)
}

fn number<T: std::str::FromStr>(
    given: &Given,
    key: &'static str,
) -> Result<Option<T>, FioPlotError> {
    let word = given.get(key).and_then(|words| words.first());
    word.map(|word| {
        word.parse()
            .or_else(|_| wrong(key, format!("invalid number '{}'", word.escape_debug())))
    })
    .transpose()
}

/// A number that an axis can end at.
fn real(given: &Given, key: &'static str) -> Result<Option<f64>, FioPlotError> {
    match number::<f64>(given, key)? {
        Some(number) if !number.is_finite() => wrong(key, format!("invalid axis limit {number}")),
        number => Ok(number),
    }
}

fn numbers(given: &Given, key: &'static str) -> Result<Vec<u32>, FioPlotError> {
    let read = |word: &String| {
        word.parse()
            .or_else(|_| wrong(key, format!("invalid number '{}'", word.escape_debug())))
    };
    given.get(key).into_iter().flatten().map(read).collect()
}

/// What was set and changes nothing, by the reason.
fn idle_in(given: &Given) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    all()
        .filter(|known| !known.idle.is_empty() && given.contains_key(known.key))
        .for_each(|known| reasons.entry(known.idle).or_default().push(known.key));
    reasons.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_files_say_the_same() {
        let words = [
            "-i",
            "a",
            "b",
            "-T",
            "A drive",
            "-l",
            "-r",
            "randread",
            "-n",
            "1",
            "--dpi=100",
        ]
        .map(str::to_owned);
        assert!(is_fio_plot(&words) && !is_fio_plot(&words[..4]));
        let flags = fio_plot_flags(&words).expect("a wish");
        let text = "[graphtype]\ngraphtype = bargraph2d_qd\n[settings]\nInput_Directory = a, b\ntitle: A drive\nrw=randread\nnumjobs=1\ndpi = 100\ncompare_graph = no\n";
        let file = fio_plot_ini(text, None).expect("a wish");
        assert_eq!(format!("{flags:?}"), format!("{file:?}"));
        assert_eq!(
            (
                file.results.as_slice(),
                file.chart,
                file.output.as_str(),
                file.scale
            ),
            (
                &["a".to_owned(), "b".to_owned()][..],
                "depth",
                "A-drive.png",
                1.0
            )
        );
    }

    /// regression 0291: `dpi = nan` and `max_iops = inf` were taken for a size and the end of an axis.
    #[test]
    fn what_sets_nothing_is_refused_with_its_place() {
        let said = |text: &str| fio_plot_ini(text, None).expect_err(text).to_string();
        assert_eq!(
            said("graphtype = loggraph\nwhat is this\n"),
            "line 2: 'what is this' is not KEY = VALUE"
        );
        assert!(
            said("").starts_with("no chart chosen")
                && said("histogram = yes").starts_with("no results given")
        );
        let with = |line: &str| {
            format!("input_directory = a\ngraphtype = loggraph\ntype = iops\n{line}\n")
        };
        for (line, why) in [
            ("dpi = nan", "dpi: invalid axis limit NaN"),
            ("max_iops = inf", "max_iops: invalid axis limit inf"),
            ("iodepth = 1,x", "iodepth: invalid number 'x'"),
            ("type = speed", "type: 'speed'"),
        ] {
            assert!(
                said(&with(line)).starts_with(why),
                "{line}: {}",
                said(&with(line))
            );
        }
        let many = with(
            &(0..100)
                .map(|n| format!("shoe{n} = 1\n"))
                .collect::<String>(),
        );
        assert_eq!(
            fio_plot_ini(&many, Some("x.svg")).map(|wish| (wish.unknown.len(), wish.output)),
            Ok((MOST_UNKNOWN, "x.svg".to_owned()))
        );
    }
}
