//! Converts fio-plot's options, and its INI files with the same names as keys, to a chart request.

use std::collections::BTreeMap;

use fathom_model::{AxisLimits, ChartOptions, Dimension, Direction};

/// The values that an option takes.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    One,
    Many,
}

/// A setting of fio-plot.
struct Setting {
    /// Its key in an INI file; the long option has dashes in place of the underscores.
    key: &'static str,
    short: &'static str,
    takes: Takes,
    /// Why it has no effect; empty if it has one.
    unused: &'static str,
}

const fn setting(key: &'static str, short: &'static str, takes: Takes) -> Setting {
    Setting {
        key,
        short,
        takes,
        unused: "",
    }
}

const fn unused(
    key: &'static str,
    short: &'static str,
    takes: Takes,
    unused: &'static str,
) -> Setting {
    Setting {
        key,
        short,
        takes,
        unused,
    }
}

const STYLE: &str = "all charts have the same style, which is readable on a phone, in print and with any colour vision";
const LABELS: &str = "labels show only what differs";
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
    unused(
        "percentile",
        "-p",
        Takes::One,
        "--chart=percentiles draws all of them",
    ),
    unused(
        "max_z",
        "-m",
        Takes::One,
        "the axis always includes the highest bar",
    ),
    unused(
        "moving_average",
        "-e",
        Takes::One,
        "a moving average would hide short dips",
    ),
    unused(
        "draw_total",
        "",
        Takes::Nothing,
        "reads and writes are separate lines",
    ),
    unused("disable_grid", "", Takes::Nothing, STYLE),
    unused("enable_markers", "", Takes::Nothing, STYLE),
    unused("line_width", "-w", Takes::One, STYLE),
    unused("colors", "", Takes::Many, STYLE),
    unused("table_lines", "", Takes::Nothing, STYLE),
    unused("title_fontsize", "", Takes::One, STYLE),
    unused("subtitle_fontsize", "", Takes::One, STYLE),
    unused("source_fontsize", "", Takes::One, STYLE),
    unused("credit_fontsize", "", Takes::One, STYLE),
    unused("table_fontsize", "", Takes::One, STYLE),
    unused("xlabel_depth", "", Takes::One, LABELS),
    unused("xlabel_parent", "", Takes::One, LABELS),
    unused("xlabel_segment_size", "", Takes::One, LABELS),
    unused("xlabel_single_column", "", Takes::Nothing, LABELS),
    unused("show_data", "", Takes::Nothing, TABLE),
    unused("group_bars", "", Takes::Nothing, STYLE),
];
/// Settings that other options replace.
const ELSEWHERE: [Setting; 5] = [
    unused("show_cpu", "", Takes::Nothing, "--chart=cpu draws it"),
    unused("show_ss", "", Takes::Nothing, "--chart=window draws it"),
    unused(
        "disable_fio_version",
        "",
        Takes::Nothing,
        "the version is not in the chart",
    ),
    unused("include_hosts", "", Takes::Many, "choose hosts with --name"),
    unused("exclude_hosts", "", Takes::Many, "choose hosts with --name"),
];
/// fathom's names of [`KINDS`].
const CHART_NAMES: [&str; 6] = ["3d", "depth", "jobs", "distribution", "time", "compare"];
const KINDS: [&str; 6] = [
    "bargraph3d",
    "bargraph2d_qd",
    "bargraph2d_nj",
    "histogram",
    "loggraph",
    "compare_graph",
];

/// Limit of reported unknown keys.
const MOST_UNKNOWN: usize = 20;

/// Keys with their values.
type Settings = BTreeMap<&'static str, Vec<String>>;

fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&ELSEWHERE)
}

/// A chart request in the style of fio-plot.
#[derive(Debug)]
pub struct FioPlotRequest {
    /// Directories with results.
    pub results: Vec<String>,
    /// fathom's name of the chart.
    pub chart: &'static str,
    /// Options of the chart.
    pub options: ChartOptions,
    /// Largest queue depth and number of jobs in the chart.
    pub max_depth_and_jobs: (Option<u32>, Option<u32>),
    /// Size of the picture; 1 is 1000 pixels wide.
    pub scale: f32,
    /// The file to write; its extension selects the format.
    pub output: String,
    /// Settings without effect: the reason, with the keys.
    pub unused: Vec<(&'static str, Vec<&'static str>)>,
    /// Keys that fio-plot does not have.
    pub unknown: Vec<String>,
}

/// Why a chart request in the style of fio-plot is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FioPlotError {
    /// An unknown option.
    #[error(
        "fio-plot has no option '{}'; fio-plot's options cannot be mixed with fathom's",
        .0.escape_debug()
    )]
    Option(String),
    /// An option without its value.
    #[error("{}: needs a value", .0.escape_debug())]
    Value(String),
    /// A line of an INI file, from 1, without a key or a value.
    #[error("line {line}: '{}' is not KEY = VALUE", text.escape_debug())]
    Line {
        /// The line number.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// No kind of chart is chosen.
    #[error("no chart chosen; graphtype is one of {}", KINDS.join(", "))]
    Kind,
    /// No results are named.
    #[error("no results given; name their directories with input_directory (-i)")]
    Results,
    /// An invalid value of a setting.
    #[error("{key}: {why}")]
    Setting {
        /// Its key.
        key: &'static str,
        /// What is wrong.
        why: String,
    },
}

fn wrong<T>(key: &'static str, why: impl Into<String>) -> Result<T, FioPlotError> {
    Err(FioPlotError::Setting {
        key,
        why: why.into(),
    })
}

/// Whether `args` are fio-plot's options.
#[must_use]
pub fn is_fio_plot(args: &[String]) -> bool {
    let kind = |arg: &String| {
        all().any(|known| KINDS.contains(&known.key) && (known.short == arg || long(known) == *arg))
    };
    args.iter().any(kind)
}

/// The chart request in fio-plot's options.
///
/// # Errors
/// When fio-plot would refuse it too.
pub fn fio_plot_flags(args: &[String]) -> Result<FioPlotRequest, FioPlotError> {
    request_from(&flags(args)?, Vec::new())
}

/// The chart request in an INI file of fio-plot. `output` replaces its output file.
///
/// # Errors
/// When fio-plot would refuse it too.
pub fn fio_plot_ini(text: &str, output: Option<&str>) -> Result<FioPlotRequest, FioPlotError> {
    let (mut settings, unknown) = keys(text)?;
    if let Some(place) = output {
        settings.insert("output_filename", vec![place.to_owned()]);
    }
    request_from(&settings, unknown)
}

fn long(setting: &Setting) -> String {
    format!("--{}", setting.key.replace('_', "-"))
}

fn flags(args: &[String]) -> Result<Settings, FioPlotError> {
    let mut settings = Settings::new();
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (arg.as_str(), None),
        };
        // fio-plot writes one of its long options with an underscore.
        let known = all().find(|known| {
            (known.short == name && !name.is_empty()) || long(known) == name.replace('_', "-")
        });
        let Some(known) = known.filter(|_| name.starts_with('-')) else {
            return Err(FioPlotError::Option(arg.clone()));
        };
        let mut values: Vec<String> = value.into_iter().collect();
        let largest = match known.takes {
            Takes::Nothing => 0,
            Takes::One => 1,
            Takes::Many => usize::MAX,
        };
        while values.len() < largest
            && rest
                .peek()
                .is_some_and(|next| !next.starts_with('-') || next.len() == 1)
        {
            values.extend(rest.next().cloned());
        }
        if values.is_empty() && known.takes != Takes::Nothing {
            return Err(FioPlotError::Value(name.to_owned()));
        }
        settings.insert(known.key, values);
    }
    Ok(settings)
}

/// The keys of fio-plot with their values, and unknown keys.
fn keys(text: &str) -> Result<(Settings, Vec<String>), FioPlotError> {
    let (mut settings, mut unknown) = (Settings::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = line
            .split_once(['=', ':'])
            .ok_or_else(|| FioPlotError::Line {
                line: number + 1,
                text: line.chars().take(80).collect(),
            })?;
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
            let args = if list {
                value.split(',').map(|arg| arg.trim().to_owned()).collect()
            } else {
                vec![value]
            };
            settings.insert(known.key, args);
        }
    }
    Ok((settings, unknown))
}

/// Converts the settings to a chart request.
fn request_from(settings: &Settings, unknown: Vec<String>) -> Result<FioPlotRequest, FioPlotError> {
    let arg = |key: &str| {
        settings
            .get(key)
            .and_then(|args| args.first())
            .map(String::as_str)
    };
    let kind = match arg("graphtype") {
        Some(kind) => KINDS.into_iter().find(|known| *known == kind).map_or_else(
            || wrong("graphtype", format!("one of {}", KINDS.join(", "))),
            Ok,
        )?,
        None => KINDS
            .into_iter()
            .find(|kind| settings.contains_key(kind))
            .ok_or(FioPlotError::Kind)?,
    };
    let results = settings
        .get("input_directory")
        .cloned()
        .ok_or(FioPlotError::Results)?;
    let named = || {
        arg("title").map_or("fio-plot".to_owned(), |title| {
            title.replace([' ', '/'], "-")
        })
    };
    Ok(FioPlotRequest {
        results,
        chart: CHART_NAMES[KINDS.iter().position(|known| *known == kind).unwrap_or(1)],
        options: options(settings, kind)?,
        max_depth_and_jobs: (number(settings, "maxdepth")?, number(settings, "maxjobs")?),
        // fio-plot's pictures are ten inches wide.
        scale: real(settings, "dpi")?.map_or(2.0, |dpi| (dpi / 100.0).clamp(0.25, 10.0) as f32),
        output: arg("output_filename").map_or_else(|| format!("{}.png", named()), str::to_owned),
        unused: unused_settings(settings),
        unknown,
    })
}

fn options(settings: &Settings, kind: &str) -> Result<ChartOptions, FioPlotError> {
    let arg = |key: &str| settings.get(key).and_then(|args| args.first()).cloned();
    let rw = arg("rw").into_iter().flat_map(|rw| {
        if rw == "rw" || rw == "readwrite" {
            vec!["rw".into(), "readwrite".into()]
        } else {
            vec![rw]
        }
    });
    let one = |wanted: bool| if wanted { vec![1] } else { Vec::new() };
    let (depths, jobs): (Vec<u32>, Vec<u32>) =
        (numbers(settings, "iodepth")?, numbers(settings, "numjobs")?);
    let of_types = types(settings, kind)?;
    Ok(ChartOptions {
        rw: rw.collect(),
        direction: filter(settings)?,
        // The default is 1, except for the axis of the chart.
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
        title: arg("title"),
        subtitle: arg("subtitle"),
        credit: arg("source").unwrap_or_default(),
        axis_limits: axis_limits(settings, kind, &of_types)?,
        ..ChartOptions::default()
    })
}

/// The metrics of the chart: those of `type`, or the default of the kind.
fn types(settings: &Settings, kind: &str) -> Result<Vec<Dimension>, FioPlotError> {
    let request_from = |arg: &String| match arg.as_str() {
        "iops" => Ok(Dimension::Iops),
        "bw" => Ok(Dimension::Bandwidth),
        "lat" if kind == "loggraph" => Ok(Dimension::Lat),
        "lat" | "clat" => Ok(Dimension::Mean),
        "slat" => Ok(Dimension::Slat),
        other => wrong(
            "type",
            format!(
                "unknown type '{}'; expected bw, iops, lat, slat or clat",
                other.escape_debug()
            ),
        ),
    };
    let mut all: Vec<Dimension> = settings
        .get("type")
        .into_iter()
        .flatten()
        .map(request_from)
        .collect::<Result<_, _>>()?;
    all.dedup();
    match (kind, all.len()) {
        ("loggraph" | "bargraph3d", 0) => {
            wrong("type", "this chart needs a type (-t iops, bw, lat)")
        }
        ("loggraph", n) if n > 2 => wrong("type", "a chart has two axes: name at most two types"),
        ("compare_graph", _) => Ok(vec![Dimension::Iops, Dimension::Mean]),
        ("loggraph" | "bargraph3d", _) => Ok(all),
        _ => Ok(Vec::new()),
    }
}

fn filter(settings: &Settings) -> Result<Option<Direction>, FioPlotError> {
    let args: Vec<&str> = settings
        .get("filter")
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    match args.as_slice() {
        [] | ["read", "write"] | ["write", "read"] => Ok(None),
        [one] => Direction::ALL
            .into_iter()
            .find(|d| d.name() == *one)
            .map_or_else(
                || wrong("filter", "read or write"),
                |direction| Ok(Some(direction)),
            ),
        _ => wrong("filter", "read, write or both"),
    }
}

/// Limits of the axes, each in the unit of the axis.
fn axis_limits(
    settings: &Settings,
    kind: &str,
    types: &[Dimension],
) -> Result<AxisLimits, FioPlotError> {
    let mut axis_limits = AxisLimits {
        x_to: real(settings, "truncate_xaxis")?,
        ..AxisLimits::default()
    };
    let sides = if kind == "loggraph" {
        types.to_vec()
    } else {
        vec![Dimension::Iops, Dimension::Mean]
    };
    for (side, figure) in sides.iter().enumerate().take(2) {
        let (least, largest): (&'static str, &[&'static str]) = match figure {
            Dimension::Iops => ("min_iops", &["max_iops"]),
            Dimension::Bandwidth => ("", &["max_bw"]),
            _ => ("min_lat", &["max_lat", "max_clat", "max_slat"]),
        };
        axis_limits.from[side] = real(settings, least)?.filter(|least| *least != 0.0);
        for key in largest {
            axis_limits.to[side] = axis_limits.to[side].or(real(settings, key)?);
        }
    }
    Ok(axis_limits)
}

fn number<T: std::str::FromStr>(
    settings: &Settings,
    key: &'static str,
) -> Result<Option<T>, FioPlotError> {
    let arg = settings.get(key).and_then(|args| args.first());
    arg.map(|arg| {
        arg.parse()
            .or_else(|_| wrong(key, format!("invalid number '{}'", arg.escape_debug())))
    })
    .transpose()
}

/// A finite number.
fn real(settings: &Settings, key: &'static str) -> Result<Option<f64>, FioPlotError> {
    match number::<f64>(settings, key)? {
        Some(number) if !number.is_finite() => wrong(key, format!("invalid axis limit {number}")),
        number => Ok(number),
    }
}

fn numbers(settings: &Settings, key: &'static str) -> Result<Vec<u32>, FioPlotError> {
    let read = |arg: &String| {
        arg.parse()
            .or_else(|_| wrong(key, format!("invalid number '{}'", arg.escape_debug())))
    };
    settings.get(key).into_iter().flatten().map(read).collect()
}

/// Settings without effect, grouped by reason.
fn unused_settings(settings: &Settings) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    all()
        .filter(|known| !known.unused.is_empty() && settings.contains_key(known.key))
        .for_each(|known| reasons.entry(known.unused).or_default().push(known.key));
    reasons.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_files_are_equivalent() {
        let args = [
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
        assert!(is_fio_plot(&args) && !is_fio_plot(&args[..4]));
        let flags = fio_plot_flags(&args).expect("a request");
        let text = "[graphtype]\ngraphtype = bargraph2d_qd\n[settings]\nInput_Directory = a, b\ntitle: A drive\nrw=randread\nnumjobs=1\ndpi = 100\ncompare_graph = no\n";
        let file = fio_plot_ini(text, None).expect("a request");
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

    /// regression 0291: `dpi = nan` and `max_iops = inf` were accepted as a size and an axis limit.
    #[test]
    fn invalid_settings_are_refused_with_their_line() {
        let error = |text: &str| fio_plot_ini(text, None).expect_err(text).to_string();
        assert_eq!(
            error("graphtype = loggraph\nwhat is this\n"),
            "line 2: 'what is this' is not KEY = VALUE"
        );
        assert!(
            error("").starts_with("no chart chosen")
                && error("histogram = yes").starts_with("no results given")
        );
        let with = |line: &str| {
            format!("input_directory = a\ngraphtype = loggraph\ntype = iops\n{line}\n")
        };
        for (line, why) in [
            ("dpi = nan", "dpi: invalid axis limit NaN"),
            ("max_iops = inf", "max_iops: invalid axis limit inf"),
            ("iodepth = 1,x", "iodepth: invalid number 'x'"),
            ("type = speed", "type: unknown type 'speed'"),
        ] {
            assert!(
                error(&with(line)).starts_with(why),
                "{line}: {}",
                error(&with(line))
            );
        }
        let many = with(
            &(0..100)
                .map(|n| format!("shoe{n} = 1\n"))
                .collect::<String>(),
        );
        assert_eq!(
            fio_plot_ini(&many, Some("x.svg"))
                .map(|request| (request.unknown.len(), request.output)),
            Ok((MOST_UNKNOWN, "x.svg".to_owned()))
        );
    }
}
