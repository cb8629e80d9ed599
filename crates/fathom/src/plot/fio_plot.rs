//! Charts as fio-plot is asked for them: its flags, and its INI files with the same names as keys.

use std::collections::BTreeMap;

use fathom_analyse::{Dimension, Shown, Wish};
use fathom_model::Direction;

use super::Asked;
use crate::say::complain;

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
    Setting { key, short, takes, idle: "" }
}

const fn idle(key: &'static str, short: &'static str, takes: Takes, idle: &'static str) -> Setting {
    Setting { key, short, takes, idle }
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
    idle("percentile", "-p", Takes::One, "--chart=percentiles draws all of them"),
    idle("max_z", "-m", Takes::One, "the axis ends above the highest bar, and none is cut off"),
    idle("moving_average", "-e", Takes::One, "a moving average hides the dips that the chart is for"),
    idle("draw_total", "", Takes::Nothing, "reads and writes are lines of their own"),
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
    idle("disable_fio_version", "", Takes::Nothing, "the version is not in the chart"),
    idle("include_hosts", "", Takes::Many, "choose hosts with --name"),
    idle("exclude_hosts", "", Takes::Many, "choose hosts with --name"),
];
const KINDS: [&str; 6] = ["bargraph3d", "bargraph2d_qd", "bargraph2d_nj", "histogram", "loggraph", "compare_graph"];

/// Keys with the words that follow them.
type Given = BTreeMap<&'static str, Vec<String>>;

fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&ELSEWHERE)
}

/// What is asked for in the way of fio-plot; nothing where `words` are not of that kind.
pub(super) fn asked(words: &[String]) -> Option<Result<Asked, String>> {
    if let [file, rest @ ..] = words
        && file.to_ascii_lowercase().ends_with(".ini")
    {
        return Some(ini(file, rest));
    }
    let kind = |word: &String| all().any(|known| KINDS.contains(&known.key) && (known.short == word || long(known) == *word));
    words.iter().any(kind).then(|| flags(words).and_then(|given| meant(&given)))
}

fn long(setting: &Setting) -> String {
    format!("--{}", setting.key.replace('_', "-"))
}

fn flags(words: &[String]) -> Result<Given, String> {
    let mut given = Given::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        // One of its long flags is written with an underscore.
        let known = all().find(|known| (known.short == name && !name.is_empty()) || long(known) == name.replace('_', "-"));
        let Some(known) = known.filter(|_| name.starts_with('-')) else {
            return Err(format!("fio-plot has no option '{}'; its options and ours do not mix", word.escape_debug()));
        };
        let mut values: Vec<String> = value.into_iter().collect();
        let most = match known.takes {
            Takes::Nothing => 0,
            Takes::One => 1,
            Takes::Many => usize::MAX,
        };
        while values.len() < most && rest.peek().is_some_and(|next| !next.starts_with('-') || next.len() == 1) {
            values.extend(rest.next().cloned());
        }
        if values.is_empty() && known.takes != Takes::Nothing {
            return Err(format!("{name}: needs a value"));
        }
        given.insert(known.key, values);
    }
    Ok(given)
}

/// An INI file, alone: fio-plot takes either a file or flags. Where to may be said beside it.
fn ini(file: &str, rest: &[String]) -> Result<Asked, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.escape_debug()))?;
    let (mut given, unknown) = keys(&text).map_err(|why| format!("{}: {why}", file.escape_debug()))?;
    if !unknown.is_empty() {
        complain!("fathom plot: {}: fio-plot has no {}; passed over", file.escape_debug(), unknown.join(", "));
    }
    match rest {
        [] => {}
        [flag, place] if flag == "-o" => _ = given.insert("output_filename", vec![place.clone()]),
        _ => return Err("beside an INI file only -o FILE is taken".into()),
    }
    meant(&given).map_err(|why| format!("{}: {why}", file.escape_debug()))
}

/// The keys that fio-plot knows, with what is set, and those that it does not.
fn keys(text: &str) -> Result<(Given, Vec<String>), String> {
    let (mut given, mut unknown) = (Given::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = line.split_once(['=', ':']).ok_or(format!("line {}: '{}' is no KEY = VALUE", number + 1, line.escape_debug()))?;
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().replace("%%", "%"));
        let Some(known) = all().find(|known| known.key == key) else {
            unknown.push(format!("'{}'", key.escape_debug()));
            continue;
        };
        let off = known.takes == Takes::Nothing && !["1", "yes", "true", "on"].contains(&value.to_ascii_lowercase().as_str());
        if !value.is_empty() && !off {
            let list = known.takes == Takes::Many;
            let words = if list { value.split(',').map(|word| word.trim().to_owned()).collect() } else { vec![value] };
            given.insert(known.key, words);
        }
    }
    Ok((given, unknown))
}

/// The same in our words.
fn meant(given: &Given) -> Result<Asked, String> {
    let word = |key: &str| given.get(key).and_then(|words| words.first()).map(String::as_str);
    let named = word("graphtype").map(|kind| KINDS.into_iter().find(|known| *known == kind).ok_or_else(|| format!("graphtype: one of {}", KINDS.join(", "))));
    let kind = match named {
        Some(kind) => kind?,
        None => KINDS.into_iter().find(|kind| given.contains_key(kind)).ok_or(format!("which chart? graphtype is one of {}", KINDS.join(", ")))?,
    };
    let results = given.get("input_directory").cloned().ok_or("which results? input_directory (-i) names their folders")?;
    let mut asked = Asked { results, ..Asked::default() };
    asked.chart = ["3d", "depth", "jobs", "distribution", "time", "compare"][KINDS.iter().position(|known| *known == kind).unwrap_or(1)].to_owned();
    asked.wish = wish(given, kind)?;
    asked.most = (number(given, "maxdepth")?, number(given, "maxjobs")?);
    // Ten inches wide.
    asked.frame.scale = number::<f32>(given, "dpi")?.map_or(2.0, |dpi| (dpi / 100.0).clamp(0.25, 10.0));
    let named = || word("title").map_or("fio-plot".to_owned(), |title| title.replace([' ', '/'], "-"));
    asked.outputs = vec![word("output_filename").map_or_else(|| format!("{}.png", named()), str::to_owned)];
    tell_idle(given);
    Ok(asked)
}

fn wish(given: &Given, kind: &str) -> Result<Wish, String> {
    let word = |key: &str| given.get(key).and_then(|words| words.first()).cloned();
    let rw = word("rw").into_iter().flat_map(|rw| if rw == "rw" || rw == "readwrite" { vec!["rw".into(), "readwrite".into()] } else { vec![rw] });
    let one = |wanted: bool| if wanted { vec![1] } else { Vec::new() };
    let (depths, jobs): (Vec<u32>, Vec<u32>) = (numbers(given, "iodepth")?, numbers(given, "numjobs")?);
    let of_types = types(given, kind)?;
    Ok(Wish {
        rw: rw.collect(),
        direction: filter(given)?,
        // What is not said is one, but where it is on an axis.
        depths: if depths.is_empty() { one(!["bargraph3d", "bargraph2d_qd"].contains(&kind)) } else { depths },
        jobs: if jobs.is_empty() { one(!["bargraph3d", "bargraph2d_nj"].contains(&kind)) } else { jobs },
        metric: of_types.first().copied(),
        also: of_types.get(1).copied(),
        title: word("title"),
        subtitle: word("subtitle"),
        credit: word("source").unwrap_or_default(),
        shown: shown(given, kind, &of_types)?,
        ..Wish::default()
    })
}

/// What is measured: as said, or what the kind shows.
fn types(given: &Given, kind: &str) -> Result<Vec<Dimension>, String> {
    let meant = |word: &String| match word.as_str() {
        "iops" => Ok(Dimension::Iops),
        "bw" => Ok(Dimension::Bandwidth),
        "lat" | "clat" => Ok(Dimension::Mean),
        "slat" if kind == "loggraph" => Err("type: submission latencies are not kept over time; lat and clat are".to_owned()),
        "slat" => Ok(Dimension::Slat),
        other => Err(format!("type: '{}' is none of bw, iops, lat, slat, clat", other.escape_debug())),
    };
    let mut all: Vec<Dimension> = given.get("type").into_iter().flatten().map(meant).collect::<Result<_, _>>()?;
    all.dedup();
    match (kind, all.len()) {
        ("loggraph" | "bargraph3d", 0) => Err("type: this chart needs one (-t iops, bw, lat)".into()),
        ("loggraph", n) if n > 2 => Err("type: a chart has two axes; name two at most".into()),
        ("compare_graph", _) => Ok(vec![Dimension::Iops, Dimension::Mean]),
        ("loggraph" | "bargraph3d", _) => Ok(all),
        _ => Ok(Vec::new()),
    }
}

fn filter(given: &Given) -> Result<Option<Direction>, String> {
    let words: Vec<&str> = given.get("filter").into_iter().flatten().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["read", "write"] | ["write", "read"] => Ok(None),
        [one] => Direction::ALL.into_iter().find(|d| d.word() == *one).map(Some).ok_or("filter: read or write".into()),
        _ => Err("filter: read, write or both".into()),
    }
}

/// Limits of axes, each in the unit that the axis is read in.
fn shown(given: &Given, kind: &str, types: &[Dimension]) -> Result<Shown, String> {
    let mut shown = Shown { until: number(given, "truncate_xaxis")?, ..Shown::default() };
    let sides = if kind == "loggraph" { types.to_vec() } else { vec![Dimension::Iops, Dimension::Mean] };
    for (side, figure) in sides.iter().enumerate().take(2) {
        let (least, most): (&str, &[&str]) = match figure {
            Dimension::Iops => ("min_iops", &["max_iops"]),
            Dimension::Bandwidth => ("", &["max_bw"]),
            _ => ("min_lat", &["max_lat", "max_clat", "max_slat"]),
        };
        shown.from[side] = number(given, least)?.filter(|least| *least != 0.0);
        for key in most {
            shown.to[side] = shown.to[side].or(number(given, key)?);
        }
    }
    Ok(shown)
}

fn number<T: std::str::FromStr>(given: &Given, key: &str) -> Result<Option<T>, String> {
    let word = given.get(key).and_then(|words| words.first());
    word.map(|word| word.parse().map_err(|_| format!("{key}: '{}' is no number that it can be", word.escape_debug()))).transpose()
}

fn numbers(given: &Given, key: &str) -> Result<Vec<u32>, String> {
    let read = |word: &String| word.parse().map_err(|_| format!("{key}: '{}' is no number", word.escape_debug()));
    given.get(key).into_iter().flatten().map(read).collect()
}

/// What was set and changes nothing, each with the reason.
fn tell_idle(given: &Given) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    all().filter(|known| !known.idle.is_empty() && given.contains_key(known.key)).for_each(|known| reasons.entry(known.idle).or_default().push(known.key));
    for (reason, keys) in reasons {
        complain!("fathom plot: {} {} nothing here: {reason}", keys.join(", "), if keys.len() == 1 { "changes" } else { "change" });
    }
}
