//! The lines of fio's normal output, also from a web page or a mail: quote marks, markup and lost indentation do not matter,
//! and lines that were wrapped are joined.

use std::borrow::Cow;

use fathom_model::Direction;

/// Limit of a joined line, bytes.
const LONGEST: usize = 4096;
/// Names of figures that start a line only where a line was wrapped.
const WRAPPED: [&str; 30] = [
    "min", "max", "avg", "stdev", "per", "samples", "io", "bw", "iops", "runt", "run", "aggrb",
    "minb", "maxb", "mint", "maxt", "merge", "ticks", "in_queue", "util", "sectors", "usr", "sys",
    "ctx", "majf", "minf", "short", "drop", "dropped", "ioengine",
];

/// A direction line's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Reads, writes or trims.
    One(Direction),
    /// All together (`unified_rw_reporting=mixed`).
    Mixed,
}

/// The latency of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LatencyKind {
    Slat,
    Clat,
    Lat,
    Sync,
}

/// A line of fio's normal output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// `fio-3.33`.
    Version(&'a str),
    /// `name: (g=0): rw=randread, bs=..., ioengine=libaio, iodepth=32`.
    Header { name: &'a str, rest: &'a str },
    /// `name: (groupid=0, jobs=4): err= 0: pid=6185: Sat Nov 21 15:59:39 2026`.
    Job { name: &'a str, rest: &'a str },
    /// `read: IOPS=1992, ...` or `read : io=..., iops=...`.
    Totals(Side, &'a str),
    /// `clat (usec): min=5, max=35290, avg=425.14, stdev=1666.11`; with nanoseconds of the unit.
    Latency(LatencyKind, f64, &'a str),
    /// `clat percentiles (usec):`; `None` for a kind that is not read, such as that of one priority.
    PercentileTable(Option<(LatencyKind, f64)>),
    /// `| 1.00th=[ 8], 5.00th=[ 9]`.
    PercentileRow(&'a str),
    /// `bw ( KiB/s): min=...`; with KiB of the unit.
    BandwidthSamples(f64, &'a str),
    /// `iops : min=...`.
    IopsSamples(&'a str),
    /// `lat (usec) : 10=8.95%, 20=13.58%`.
    Classes(&'static str, &'a str),
    /// `fsync/fdatasync/sync_file_range:`.
    SyncSection,
    /// `cpu : usr=0.80%, ...`.
    Cpu(&'a str),
    /// `IO depths : 1=0.1%, ...`, `submit : ...`, `complete : ...`.
    Levels(&'static str, &'a str),
    /// `issued rwts: total=...`.
    Issued(&'a str),
    /// `errors : total=0, first_error=0/<Success>`.
    Errors(&'a str),
    /// `Run status group 0 (all jobs):`.
    Group(u64),
    /// `READ: bw=..., io=..., run=...`.
    GroupTotals(Direction, &'a str),
    /// `sda: ios=11118/9422, merge=0/461, ...`.
    Disk { name: &'a str, rest: &'a str },
    /// `fio: ...`, a message.
    Message(&'a str),
    /// Progress, which may be glued to the line after it.
    Progress,
}

/// Passes each recognised line to `take`.
pub(super) fn each_line(text: &str, take: &mut dyn FnMut(Line)) {
    let text = decoded(text);
    let mut pending = String::new();
    for raw in text.split(['\n', '\r']) {
        let line = cleaned(raw);
        if line.is_empty() {
            continue;
        }
        if let Some(read) = classify(&line) {
            flush(&mut pending, take);
            // Progress is not continued, and it is by far the most frequent line.
            if read != Line::Progress {
                pending.push_str(&line);
            }
        } else if !pending.is_empty() {
            if pending.len() + line.len() < LONGEST && is_continued(&pending, &line) {
                pending.push(' ');
                pending.push_str(&line);
            } else {
                flush(&mut pending, take);
            }
        }
    }
    flush(&mut pending, take);
}

fn flush(pending: &mut String, take: &mut dyn FnMut(Line)) {
    if let Some(line) = classify(pending) {
        take(line);
    }
    pending.clear();
}

/// The text without the quoted-printable code of mails, in which every `=` is `=3D`.
fn decoded(text: &str) -> Cow<'_, str> {
    if text.contains("=3D") {
        text.replace("=\r\n", "")
            .replace("=\n", "")
            .replace("=3D", "=")
            .into()
    } else {
        text.into()
    }
}

/// A line without quote marks, HTML tags and entities, and unusual spaces.
fn cleaned(raw: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(raw);
    if line.contains('&') {
        let plain = [
            ("&gt;", ">"),
            ("&lt;", "<"),
            ("&nbsp;", " "),
            ("&#160;", " "),
            ("&amp;", "&"),
        ];
        line = plain
            .iter()
            .fold(line.into_owned(), |line, (code, text)| {
                line.replace(code, text)
            })
            .into();
    }
    if line.contains('<') {
        line = without_tags(&line).into();
    }
    if line.contains('\u{a0}') {
        line = line.replace('\u{a0}', " ").into();
    }
    let is_quote = |line: &str| line.starts_with('>') && !line.starts_with(">=");
    let mut rest = line.trim();
    while is_quote(rest) || rest.starts_with('`') {
        rest = rest[1..].trim_start();
    }
    if rest.len() == raw.len() {
        line
    } else {
        rest.to_owned().into()
    }
}

/// `<pre>` and `</code>`; also the host names that fio's client writes before each line.
fn without_tags(line: &str) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some((before, tag)) = rest.split_once('<') {
        kept += before;
        let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match tag.split_once('>').filter(|_| is_tag) {
            // `first_error=0/<Success>` is not markup.
            Some((name, after)) if !before.ends_with('/') => {
                rest = after;
                // A break between two figures is a space.
                kept += if name.starts_with("br") { " " } else { "" };
            }
            _ => {
                kept.push('<');
                rest = tag;
            }
        }
    }
    kept + rest
}

/// Whether `line` is the rest of a wrapped line.
fn is_continued(pending: &str, line: &str) -> bool {
    let count = |c: char| pending.matches(c).count();
    let open = pending.ends_with([',', '=', '[', '(']) || count('(') > count(')');
    let open = open
        || ["(R)", "(W)", "(T)"]
            .iter()
            .any(|one| pending.ends_with(one));
    let open = open || count('[') > count(']');
    let named = line
        .split_once('=')
        .is_some_and(|(name, _)| WRAPPED.contains(&name.trim()) || name == ">");
    let totals = line.starts_with('(') && (line.contains("B/s") || line.contains("msec"));
    open || named || totals
}

/// The kind of a line.
pub(super) fn classify(line: &str) -> Option<Line<'_>> {
    if line.contains("th=[") {
        return Some(Line::PercentileRow(line));
    }
    if let Some(found) = named_line(line) {
        return Some(found);
    }
    if line.starts_with("Jobs: ") && line.contains("(f=") {
        return Some(Line::Progress);
    }
    if let Some(version) = version(line) {
        return Some(Line::Version(version));
    }
    let (head, rest) = line.split_once(':')?;
    let rest = rest.trim();
    of_head(head.trim(), rest).or_else(|| {
        let is_disk = rest.starts_with("ios=") && rest.contains('/') && !head.contains(' ');
        is_disk.then_some(Line::Disk { name: head, rest })
    })
}

/// Lines that begin with the name of a job, and messages.
fn named_line(line: &str) -> Option<Line<'_>> {
    let named = |mark: &str| {
        let (name, rest) = line.split_once(mark)?;
        // fio may print progress without an end of line.
        let name = match name.rsplit_once("[eta ") {
            Some((_, after)) => after.split_once(']').map_or(after, |(_, name)| name),
            None => name,
        };
        Some((name.trim().trim_end_matches(':').trim_end(), rest))
    };
    if let Some((name, rest)) = named("(groupid=") {
        return Some(Line::Job { name, rest });
    }
    if let Some((name, rest)) = named("(g=").filter(|(_, rest)| rest.contains("rw=")) {
        return Some(Line::Header { name, rest });
    }
    let is_message = line.starts_with("fio: ") && !line.starts_with("fio: (");
    is_message.then_some(Line::Message(line))
}

/// `fio-3.17-90-gd9b7`, and `fio 1.59` of version 1.
fn version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fio-").or(line.strip_prefix("fio "))?;
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit())
        && rest.contains('.')
        && rest.len() < 40
        && !rest.contains([' ', ':', ',', '=']);
    is_version.then_some(rest.trim_end_matches('.'))
}

/// A line by the text before its first colon.
fn of_head<'a>(head: &'a str, rest: &'a str) -> Option<Line<'a>> {
    let lower = head.to_ascii_lowercase();
    let has_totals = ["iops=", "IOPS=", "bw=", "BW=", "io="]
        .iter()
        .any(|name| rest.contains(name));
    let side = match lower.as_str() {
        "read" => Some(Side::One(Direction::Read)),
        "write" => Some(Side::One(Direction::Write)),
        "trim" => Some(Side::One(Direction::Trim)),
        "mixed" => Some(Side::Mixed),
        _ => None,
    };
    let is_group = head.len() > 1 && head.bytes().all(|byte| byte.is_ascii_uppercase());
    match (side, lower.as_str()) {
        (Some(Side::One(direction)), _) if is_group && has_totals => {
            Some(Line::GroupTotals(direction, rest))
        }
        (Some(Side::Mixed), _) if is_group => None,
        (Some(side), _) if has_totals => Some(Line::Totals(side, rest)),
        (_, "cpu") if rest.contains("usr=") => Some(Line::Cpu(rest)),
        (_, "io depths") => Some(Line::Levels("iodepth_level", rest)),
        (_, "submit") if rest.contains('=') => Some(Line::Levels("iodepth_submit", rest)),
        (_, "complete") if rest.contains('=') => Some(Line::Levels("iodepth_complete", rest)),
        (_, "errors") if rest.contains("total=") => Some(Line::Errors(rest)),
        (_, "iops") if rest.contains("min=") => Some(Line::IopsSamples(rest)),
        _ if lower.starts_with("issued") && rest.contains("total=") => Some(Line::Issued(rest)),
        _ if lower.starts_with("fsync/fdatasync") => Some(Line::SyncSection),
        _ if lower.starts_with("run status group") => {
            Some(Line::Group(super::amount::plain(&lower[16..])? as u64))
        }
        _ => with_unit(&lower, rest),
    }
}

/// Lines with a unit in parentheses.
fn with_unit<'a>(head: &str, rest: &'a str) -> Option<Line<'a>> {
    let (name, unit) = head.split_once('(')?;
    let (name, unit) = (name.trim(), unit.split_once(')')?.0.trim());
    if name == "bw" {
        return samples_unit(unit).map(|unit| Line::BandwidthSamples(unit, rest));
    }
    let (classes, nanos) = match unit {
        "nsec" => ("latency_ns", 1.0),
        "usec" => ("latency_us", 1e3),
        "msec" => ("latency_ms", 1e6),
        "sec" => ("", 1e9),
        _ => return None,
    };
    let (kind, is_table) = match name.strip_suffix("percentiles") {
        Some(kind) => (kind.trim(), true),
        None => (name, false),
    };
    let kind = match kind {
        "slat" => Some(LatencyKind::Slat),
        "clat" => Some(LatencyKind::Clat),
        "lat" => Some(LatencyKind::Lat),
        "sync" => Some(LatencyKind::Sync),
        _ => None,
    };
    match kind {
        kind if is_table => Some(Line::PercentileTable(kind.map(|kind| (kind, nanos)))),
        Some(kind) if rest.contains("avg=") => Some(Line::Latency(kind, nanos, rest)),
        Some(LatencyKind::Lat) if rest.contains('%') && !classes.is_empty() => {
            Some(Line::Classes(classes, rest))
        }
        _ => None,
    }
}

/// KiB of a unit of bandwidth samples: `KiB/s`, `KB  /s`.
fn samples_unit(unit: &str) -> Option<f64> {
    match unit.split('/').next()?.trim() {
        "b" => Some(1.0 / 1024.0),
        "kib" | "kb" => Some(1.0),
        "mib" | "mb" => Some(1024.0),
        "gib" | "gb" => Some(1024.0 * 1024.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each_line(text, &mut |line| all.push(format!("{line:?}")));
        all
    }

    #[test]
    fn quoted_and_marked_lines_are_those_of_fio() {
        let plain = kinds(
            "j: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=1, BW=4096B/s (4096B/s)(4096B/1000msec)\n     | 99.99th=[ 4]\n  IO depths    : 1=100.0%, >=64=0.0%\n",
        );
        assert_eq!(plain.len(), 4, "{plain:?}");
        for text in [
            "> > j: (groupid=0, jobs=1): err= 0: pid=1\n> read: IOPS=1, BW=4096B/s (4096B/s)(4096B/1000msec)\n>| 99.99th=[ 4]\n>\n> IO depths    : 1=100.0%,\n> &gt;=64=0.0%\n",
            "<pre>j: (groupid=0, jobs=1): err= 0: pid=1\r\n<b>read</b>: IOPS=1, BW=4096B/s\r\n(4096B/s)(4096B/1000msec)\r\n| 99.99th=[ 4]\r\nIO depths    : 1=100.0%, &gt;=64=0.0%</pre>",
            "Jobs: 1 (f=1): [r(1)][100.0%][eta 00m:00s]j: (groupid=3D0, jobs=3D1): err=3D 0: pid=3D1\nread: IOPS=3D1, BW=3D4096B/s (4096B/s)(4096B/=\n1000msec)\n| 99.99th=3D[\n4]\nIO depths    : 1=3D100.0%, >=3D64=3D0.0%\n",
        ] {
            let read = kinds(text);
            let normal = |lines: &[String]| lines.join(" ").replace("| ", "").replace("[ 4", "[4");
            assert_eq!(normal(&read), normal(&plain), "{text}");
        }
    }

    #[test]
    fn prose_and_progress_are_not_lines_of_fio() {
        let text = "Today I tested with fio 3.16, bs=4k: it was fast.\nNote: (see below)\nfio --rw=randread --bs=4k\nread: not very fast\n\
                    Jobs: 1 (f=1): [r(1)][100.0%][r=300MiB/s][eta 00m:00s]\nlatency: 5 ms\nwrite: twice as much\nerrors: none\n";
        assert_eq!(kinds(text), Vec::<String>::new());
    }

    #[test]
    fn versions_are_whole_lines() {
        assert_eq!(version("fio-3.17-90-gd9b7"), Some("3.17-90-gd9b7"));
        assert_eq!(version("fio 1.59"), Some("1.59"));
        assert_eq!(version("fio 3 is out."), None);
        assert_eq!(version("fio-config"), None);
    }
}
