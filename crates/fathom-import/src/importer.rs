//! Converts files to results. The kind of a file is detected from its contents. Logs are assigned
//! to the result that their rows match.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fathom_model::{
    Direction, Entry, Histogram, ImportedResult, LatencySummary, LogKind, MergedInterval, Nanos,
    Provenance,
};

use crate::error::ImportError;
use crate::result::{normal_results, results};
use crate::scan::{Group, LogFile, LogName, Row, Timeline, Trouble, inspect_log_head, rows, split};
use crate::terse::{is_terse, terse};

/// Size limit of a result, bytes. Logs are read in pieces and may have any size.
pub const LARGEST: u64 = 256 << 20;
/// Limit of JSON values in one file: some 400 MiB of memory.
pub const MOST_VALUES: usize = 4_000_000;
/// Bytes that are read to detect the kind of a file.
const HEAD: usize = 64 << 10;
/// Logs must account for this share of a result's I/Os. It is below 1 because the last window of
/// each job has no row.
const ACCOUNTED: f64 = 0.3;

/// The source of files. Two threads use it at the same time.
pub trait Files: Sync {
    /// Opens a file from its beginning; called twice for logs.
    ///
    /// # Errors
    /// The error of the file system if it cannot be opened.
    fn open(&self, path: &str) -> io::Result<Box<dyn Read>>;
}

/// The results of an import.
#[derive(Debug)]
pub struct Import<R = ImportedResult> {
    /// Results, in the order of their files. Logs without a result come last, one result for each
    /// prefix.
    pub results: Vec<R>,
    /// Files that could not be read, or not completely.
    pub troubles: Vec<FileTrouble>,
    /// The first file of each content.
    digests: BTreeMap<(usize, u64), String>,
}

impl<R> Default for Import<R> {
    fn default() -> Self {
        Import {
            results: Vec::new(),
            troubles: Vec::new(),
            digests: BTreeMap::new(),
        }
    }
}

/// What becomes of each result.
pub struct Conversion<'a, R> {
    /// Converts a result whose logs have been read. Two threads call it at the same time.
    pub convert: &'a (dyn Fn(ImportedResult) -> R + Sync),
    /// Adds a note about the files of a result.
    pub add_note: &'a dyn Fn(&mut R, String),
}

/// Results as they are.
const UNCHANGED: Conversion<'static, ImportedResult> = Conversion {
    convert: &|result| result,
    add_note: &|result, note| result.source.notes.push(note),
};

/// A problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTrouble {
    /// Path of the file.
    pub file: String,
    /// The problem.
    pub why: ImportError,
}

/// Reads all `paths`. A problem with one file does not affect the others.
#[must_use]
pub fn import(paths: &[String], files: &dyn Files) -> Import {
    import_converted(paths, files, &UNCHANGED)
}

/// Like [`import`]; a result is converted as soon as its directory has been read, so that only the time series of a few
/// directories are in memory at once.
#[must_use]
pub fn import_converted<R: Send>(
    paths: &[String],
    files: &dyn Files,
    conversion: &Conversion<R>,
) -> Import<R> {
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    read_all(&paths, files, Import::default(), conversion)
}

/// Like [`import`], without time series: logs that belong to a result by name are not opened. In
/// most directories these are nearly all the data.
#[must_use]
pub fn import_totals(paths: &[String], files: &dyn Files) -> Import {
    import_chosen(paths, files, &|_| false)
}

/// Like [`import`], with time series only for the results that `wanted` selects by their totals:
/// logs that belong to other results by name are not opened.
#[must_use]
pub fn import_chosen(
    paths: &[String],
    files: &dyn Files,
    wanted: &dyn Fn(&ImportedResult) -> bool,
) -> Import {
    let (logs, others): (Vec<&str>, Vec<&str>) = paths
        .iter()
        .map(String::as_str)
        .partition(|path| LogName::of(path).is_some());
    let all = read_all(&others, files, Import::default(), &UNCHANGED);
    // Whether a result that is wanted wrote logs of this directory and prefix.
    let mut known: BTreeMap<(String, String), bool> = BTreeMap::new();
    for result in &all.results {
        let directory = directory_of(result);
        let chosen = wanted(result);
        for prefix in log_prefixes(result) {
            *known
                .entry((directory.to_owned(), prefix.to_owned()))
                .or_default() |= chosen;
        }
    }
    let opened: Vec<&str> = logs
        .into_iter()
        .filter(|path| {
            LogName::of(path).is_none_or(|name| {
                known
                    .get(&(name.directory, name.prefix))
                    .is_none_or(|chosen| *chosen)
            })
        })
        .collect();
    read_all(&opened, files, all, &UNCHANGED)
}

/// Two threads read files: more would hold more large files in memory at once.
const THREADS: usize = 2;
/// Directories are read together until they have this many files.
const BATCH: usize = 512;
/// Bytes of small logs that are kept until they are assigned, so that they are opened once.
const KEPT: usize = 32 << 20;

/// One directory: the logs in it belong to results in it.
#[derive(Default)]
struct Directory {
    name: String,
    /// Results, each with its place. Results of logs alone have none.
    results: Vec<(Option<Place>, ImportedResult)>,
    /// Logs by prefix.
    groups: BTreeMap<String, Group>,
    troubles: Vec<Trouble>,
}

/// The place of a result of a document.
#[derive(Clone, Copy)]
enum Place {
    /// Index of a result that was read before.
    Known(usize),
    /// Index of the path.
    Path(usize),
}

/// Reads files, assigns the logs to the results in their directory, and adds the results to those that were read `before`.
fn read_all<R: Send>(
    paths: &[&str],
    files: &dyn Files,
    mut before: Import,
    conversion: &Conversion<R>,
) -> Import<R> {
    let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, result) in before.results.iter().enumerate() {
        let directory = directory_of(result).to_owned();
        known.entry(directory).or_default().push(place);
    }
    let mut converted: BTreeMap<usize, R> = BTreeMap::new();
    let convert = conversion.convert;
    let mut by_directory: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, path) in paths.iter().enumerate() {
        by_directory.entry(split(path).0).or_default().push(index);
    }
    let (mut read, mut alone, mut copies) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    let (mut unread, mut troubles) = (BTreeMap::new(), Vec::new());
    let mut directories = by_directory.into_iter().peekable();
    while directories.peek().is_some() {
        let (mut batch, mut size): (Vec<Directory>, usize) = (Vec::new(), 0);
        let mut indexes: Vec<(usize, usize)> = Vec::new();
        while size < BATCH
            && let Some((name, files)) = directories.next()
        {
            size += files.len();
            indexes.extend(files.into_iter().map(|index| (index, batch.len())));
            let here = known.remove(name).unwrap_or_default();
            batch.push(Directory {
                name: name.to_owned(),
                results: here
                    .into_iter()
                    .map(|place| {
                        let result = std::mem::take(&mut before.results[place]);
                        (Some(Place::Known(place)), result)
                    })
                    .collect(),
                ..Directory::default()
            });
        }
        let kept = AtomicUsize::new(0);
        let contents = in_parallel(&indexes, &|(index, _)| inspect(paths[*index], files, &kept));
        for ((index, place), content) in indexes.iter().zip(contents) {
            let directory = &mut batch[*place];
            match content {
                Ok(FileContent::Results(found, digest)) => {
                    copies.insert(*index, digest);
                    let place = Some(Place::Path(*index));
                    let found = found.into_iter().map(|result| (place, result));
                    directory.results.extend(found);
                }
                Ok(FileContent::Log(log)) => {
                    let prefix = log.name.prefix.clone();
                    directory.groups.entry(prefix).or_default().files.push(log);
                }
                Err(why) => {
                    unread.insert(*index, why);
                }
            }
        }
        let batch: Vec<Mutex<Directory>> = batch.into_iter().map(Mutex::new).collect();
        let assigned = in_parallel(&batch, &|directory| {
            let mut directory = directory.lock().unwrap_or_else(PoisonError::into_inner);
            let mut taken = std::mem::take(&mut *directory);
            drop(directory);
            assign_logs(&mut taken, files);
            let results = taken.results.into_iter();
            let results: Vec<_> = results
                .map(|(place, result)| (place, convert(result)))
                .collect();
            (results, taken.troubles)
        });
        for (results, more) in assigned {
            for (place, result) in results {
                match place {
                    Some(Place::Known(place)) => {
                        converted.insert(place, result);
                    }
                    Some(Place::Path(index)) => {
                        read.entry(index).or_insert_with(Vec::new).push(result);
                    }
                    None => alone.push(result),
                }
            }
            troubles.extend(more);
        }
    }
    // Those in directories without more files.
    for place in known.into_values().flatten() {
        let result = std::mem::take(&mut before.results[place]);
        converted.insert(place, convert(result));
    }
    let mut all = Import {
        results: converted.into_values().collect(),
        troubles: before.troubles,
        digests: before.digests,
    };
    for (index, digest) in copies {
        let path = paths[index];
        let first = all.digests.entry(digest).or_insert_with(|| path.to_owned());
        if *first != *path {
            for result in read.get_mut(&index).into_iter().flatten() {
                let note = format!("{path} is a copy of {first}: a copy is not a repetition");
                (conversion.add_note)(result, note);
            }
        }
    }
    all.results.extend(read.into_values().flatten());
    all.results.extend(alone);
    let unread = unread
        .into_iter()
        .map(|(index, why)| (paths[index].to_owned(), why));
    all.troubles.extend(
        unread
            .chain(troubles.into_iter().map(|(file, why)| (file, why.into())))
            .map(|(file, why)| FileTrouble { file, why }),
    );
    all
}

/// The results of `work` on every item, in their order, from two threads.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return results;
            };
            results.push((index, work(item)));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS.min(items.len()))
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, some).ok())
            .collect();
        let mut results = some();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Assigns the logs of a directory to its results.
fn assign_logs(directory: &mut Directory, files: &dyn Files) {
    let open = |path: &str| files.open(path);
    let (places, mut results): (Vec<_>, Vec<_>) =
        std::mem::take(&mut directory.results).into_iter().unzip();
    let mut owners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, result) in results.iter().enumerate() {
        for prefix in log_prefixes(result) {
            owners.entry(prefix.to_owned()).or_default().push(place);
        }
    }
    for (prefix, group) in std::mem::take(&mut directory.groups) {
        assign_group(
            &mut results,
            &owners.remove(&prefix).unwrap_or_default(),
            (&directory.name, &prefix),
            &group,
            &open,
            &mut directory.troubles,
        );
    }
    let places = places.into_iter().chain(std::iter::repeat(None));
    directory.results = places.zip(results).collect();
}

/// The contents of a file.
enum FileContent {
    /// The results, and length and hash of the file.
    Results(Vec<ImportedResult>, (usize, u64)),
    Log(LogFile),
}

fn inspect(path: &str, files: &dyn Files, kept: &AtomicUsize) -> Result<FileContent, ImportError> {
    let mut input = files.open(path)?;
    // Large enough for most results and logs to be read at once.
    let mut bytes = Vec::with_capacity(HEAD);
    (&mut input).take(HEAD as u64).read_to_end(&mut bytes)?;
    let name = LogName::of(path);
    if bytes.trim_ascii().is_empty() && bytes.len() < HEAD {
        // A job in which nothing completed leaves an empty log.
        return name
            .map(|name| FileContent::Log(inspect_log_head(path, name, &[])))
            .ok_or(ImportError::Empty);
    }
    match log_of(path, name, &bytes) {
        Some(log) => {
            return log.map(|mut log| {
                let size = bytes.len();
                if size < HEAD && kept.fetch_add(size, Ordering::Relaxed) + size <= KEPT {
                    bytes.shrink_to_fit();
                    log.text = Some(bytes);
                }
                FileContent::Log(log)
            });
        }
        None if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => {
            return Err(ImportError::Utf16);
        }
        // A binary file, such as a picture or a disk image. It may be large: do not read the rest.
        None if bytes.iter().find(|byte| [0, b'{'].contains(*byte)) == Some(&0) => {
            return Err(ImportError::NoDocument);
        }
        None => {}
    }
    input
        .take(LARGEST + 1 - bytes.len() as u64)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ImportError::TooLarge);
    }
    document(path, &bytes).map(|found| FileContent::Results(found, digest(&bytes)))
}

/// Length and hash of a file, by which copies are found.
fn digest(bytes: &[u8]) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    (bytes.len(), hasher.finish())
}

/// The log that begins with `head`; `None` if this is not a log.
fn log_of(path: &str, name: Option<LogName>, head: &[u8]) -> Option<Result<LogFile, ImportError>> {
    let first = head
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())?;
    let mut seen: Vec<Row> = Vec::new();
    let mut line = first.to_vec();
    line.push(b'\n');
    let is_row = rows(&mut &line[..], &mut |row| seen.push(row)).is_ok() && !seen.is_empty();
    let columns = first.split(|byte| *byte == b',').count();
    let is_hist = columns > 30
        && first
            .iter()
            .all(|byte| byte.is_ascii_digit() || b", \r\t".contains(byte));
    match name {
        // A histogram log is recognised by its columns.
        name if is_hist => Some(Ok(inspect_log_head(
            path,
            LogName {
                kind: LogKind::Hist,
                ..name.unwrap_or_else(|| LogName::bare(path))
            },
            head,
        ))),
        Some(name) if is_row => Some(Ok(inspect_log_head(path, name, head))),
        None if is_row => Some(Err(ImportError::LogOfWhat)),
        // A log with a damaged first line is reported as a log.
        Some(_) if first.first().is_some_and(u8::is_ascii_digit) && columns > 1 => {
            rows(&mut &line[..], &mut |_| {})
                .err()
                .map(|why| Err(why.into()))
        }
        // The header of zlib (RFC 1950).
        Some(_)
            if head.first() == Some(&0x78)
                && head.len() > 1
                && (u32::from(head[0]) * 256 + u32::from(head[1])) % 31 == 0 =>
        {
            Some(Err(ImportError::Packed))
        }
        _ => None,
    }
}

/// The results in a document. Invalid UTF-8 is replaced, because messages may be in any encoding.
fn document(path: &str, bytes: &[u8]) -> Result<Vec<ImportedResult>, ImportError> {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    // With `--output-format=normal,json,terse` there are all three formats; JSON has the most data, the text for people the least.
    let read = if text.contains('{') {
        results(path, &text)
    } else {
        Err(ImportError::NoDocument)
    };
    match read {
        Err(why) if text.lines().any(is_terse) => {
            Ok(terse(path, &text)?.map_or(Err(why), |result| Ok(vec![result]))?)
        }
        Err(why) => match normal_results(path, &text)? {
            results if results.is_empty() => Err(why),
            results => Ok(results),
        },
        read => read,
    }
}

/// The results of one text, as [`import`] would read it from a file of its own.
///
/// # Errors
/// When it is not a result.
pub fn read_text(name: &str, bytes: &[u8]) -> Result<Vec<ImportedResult>, ImportError> {
    if bytes.trim_ascii().is_empty() {
        Err(ImportError::Empty)
    } else {
        document(name, bytes)
    }
}

/// Assigns the logs of a prefix to the result they belong to, or makes a result from them.
fn assign_group(
    all: &mut Vec<ImportedResult>,
    wrote_logs: &[usize],
    (directory, prefix): (&str, &str),
    group: &Group,
    open: crate::scan::Open,
    troubles: &mut Vec<Trouble>,
) {
    let several = wrote_logs
        .iter()
        .copied()
        .max_by_key(|place| all[*place].written_unix_ms)
        .filter(|place| owners(&all[*place], prefix).len() > 1);
    if let Some(place) = several {
        return several_entries(&mut all[place], prefix, group, open, troubles);
    }
    let kinds = wrote_logs
        .iter()
        .find_map(|place| configured_window(&all[*place], prefix));
    let Some(mut line) = group.timelines(1, kinds, &|_| 0, open, troubles).pop() else {
        return;
    };
    let fits = |place: &&usize| {
        owners(&all[**place], prefix)
            .first()
            .is_some_and(|entry| fit(&all[**place].entries[*entry], &line, group).is_some())
    };
    let closeness = |place: &usize| {
        owners(&all[*place], prefix)
            .first()
            .and_then(|entry| fit(&all[*place].entries[*entry], &line, group))
            .unwrap_or(0.0)
    };
    let best = wrote_logs
        .iter()
        .filter(fits)
        .max_by(|a, b| closeness(a).total_cmp(&closeness(b)))
        .copied();
    match best {
        Some(place) => {
            let old =
                crate::entry::major(&all[place].source.program).is_some_and(|major| major < 3);
            let entry = owners(&all[place], prefix)[0];
            attach_timeline(&mut all[place], entry, &mut line, old);
            add_files(&mut all[place].source, group);
        }
        None => {
            let names: Vec<String> = wrote_logs
                .iter()
                .filter_map(|place| all[*place].source.files.first().cloned())
                .collect();
            all.push(logs_alone(directory, prefix, group, line, &names));
        }
    }
}

/// Handles jobs without group reporting that share a prefix: the number in a log's name counts all
/// jobs of the run.
fn several_entries(
    result: &mut ImportedResult,
    prefix: &str,
    group: &Group,
    open: crate::scan::Open,
    troubles: &mut Vec<Trouble>,
) {
    let owners = owners(result, prefix);
    let ends: Vec<u32> = owners
        .iter()
        .scan(0, |sum, place| {
            *sum += result.entries[*place].members.max(1);
            Some(*sum)
        })
        .collect();
    let part_of = |job: usize| {
        ends.iter()
            .position(|end| job < *end as usize)
            .unwrap_or(ends.len() - 1)
    };
    let old = crate::entry::major(&result.source.program).is_some_and(|major| major < 3);
    let lines = group.timelines(
        owners.len(),
        configured_window(result, prefix),
        &part_of,
        open,
        troubles,
    );
    for (entry, mut line) in owners.into_iter().zip(lines) {
        attach_timeline(result, entry, &mut line, old);
    }
    add_files(&mut result.source, group);
}

/// Whether a result wrote logs of this name to its own directory.
fn wrote_logs(result: &ImportedResult, directory: &str, prefix: &str) -> bool {
    let near = result
        .source
        .files
        .first()
        .is_some_and(|file| split(file).0 == directory);
    near && !owners(result, prefix).is_empty()
}

/// Whether `path` has the name and the directory of a log of this result.
#[must_use]
pub fn is_log_of(result: &ImportedResult, path: &str) -> bool {
    LogName::of(path).is_some_and(|name| wrote_logs(result, &name.directory, &name.prefix))
}

/// The directory of a result.
fn directory_of(result: &ImportedResult) -> &str {
    result.source.files.first().map_or("", |file| split(file).0)
}

/// The prefixes of the logs that a result wrote.
fn log_prefixes(result: &ImportedResult) -> BTreeSet<&str> {
    result
        .entries
        .iter()
        .flat_map(|entry| log_options(entry, &result.globals).map(|value| log_prefix(entry, value)))
        .collect()
}

/// The values of the options of an entry that write logs.
fn log_options<'a>(
    entry: &'a Entry,
    globals: &'a [(String, Option<String>)],
) -> impl Iterator<Item = Option<&'a str>> {
    let all = entry.options.iter().chain(globals);
    all.filter(|(name, _)| {
        name.starts_with("write_") && name.ends_with("_log") && name != "write_iolog"
    })
    .map(|(_, value)| value.as_deref())
}

/// The prefix of logs with this value of the option.
fn log_prefix<'a>(entry: &'a Entry, value: Option<&'a str>) -> &'a str {
    match value {
        None | Some("") => &entry.name,
        Some(value) => split(value).1,
    }
}

/// The entries of a result that wrote logs of this name.
fn owners(result: &ImportedResult, prefix: &str) -> Vec<usize> {
    let wrote = |entry: &Entry| {
        log_options(entry, &result.globals).any(|value| log_prefix(entry, value) == prefix)
    };
    (0..result.entries.len())
        .filter(|place| wrote(&result.entries[*place]))
        .collect()
}

fn configured_window(result: &ImportedResult, prefix: &str) -> Option<u64> {
    let place = *owners(result, prefix).first()?;
    let own = result.entries[place].options.iter().chain(&result.globals);
    own.into_iter()
        .find(|(name, _)| name == "log_avg_msec")
        .and_then(|(_, value)| value.as_ref()?.trim().parse().ok())
}

/// How well rows and figures agree, 0 to 1. `None` if the rows cannot belong to this entry, because
/// another run has overwritten them.
fn fit(entry: &Entry, line: &Timeline, group: &Group) -> Option<f64> {
    let used = |direction: Direction| {
        entry.directions[direction].ios > 0
            || entry.mixed.as_ref().is_some_and(|mixed| mixed.ios > 0)
    };
    if Direction::ALL
        .into_iter()
        .any(|direction| line.used(direction) && !used(direction))
    {
        return None;
    }
    let logs = group.jobs();
    if group.files.iter().all(|file| file.name.job > 0)
        && logs.len() > entry.members as usize
        && entry.members > 0
    {
        return None;
    }
    let rows: f64 = Direction::ALL
        .into_iter()
        .flat_map(|direction| line.cells(direction))
        .map(|cell| cell.ios)
        .sum();
    let all: u64 = entry
        .directions
        .0
        .iter()
        .map(|direction_summary| direction_summary.ios)
        .sum();
    if rows == 0.0 || all == 0 {
        return Some(0.0);
    }
    let ratio = rows / all as f64;
    (ACCOUNTED..=1.0 / ACCOUNTED)
        .contains(&ratio)
        .then(|| ratio.min(1.0 / ratio))
}

/// Adds a timeline to an entry.
fn attach_timeline(
    result: &mut ImportedResult,
    place: usize,
    line: &mut Timeline,
    microseconds: bool,
) {
    if microseconds {
        line.in_nanoseconds();
    }
    let entry = &mut result.entries[place];
    reconcile_end(entry, line);
    let mut series = line.moments();
    fill_bytes(entry, &mut series);
    let (rows, all) = (
        total(&series),
        entry
            .directions
            .0
            .iter()
            .map(|direction_summary| direction_summary.ios)
            .sum::<u64>(),
    );
    if rows > 0 && all > 0 && rows * 100 < all * 95 {
        let share = rows as f64 * 100.0 / all as f64;
        result.source.notes.push(format!(
            "the logs of {} account for {share:.0} % of its I/Os: use the summary",
            entry.name
        ));
    }
    entry.series = series;
}

/// Draws the I/Os after the last rows of the logs as what they are, or ends the line before them.
fn reconcile_end(entry: &Entry, line: &mut Timeline) {
    let window = line.step();
    let known = Direction::ALL.map(|direction| {
        let summary = &entry.directions[direction];
        line.fill_tails(direction, summary.ios, summary.bytes)
    });
    if !known.iter().all(|known| *known) {
        line.end_at_last_count(window);
    }
}

/// With one block size, I/Os give bytes and bytes give I/Os.
fn fill_bytes(entry: &Entry, series: &mut [MergedInterval]) {
    for direction in Direction::ALL {
        let (size, largest) = entry.block_sizes[direction];
        if size == 0 || size != largest {
            continue;
        }
        let size = u64::from(size);
        let known = |of: fn(&fathom_model::MergedIntervalDirection) -> u64| {
            series
                .iter()
                .any(|moment| of(&moment.directions[direction]) > 0)
        };
        let (ios, bytes) = (
            known(|direction_summary| direction_summary.ios),
            known(|direction_summary| direction_summary.bytes),
        );
        for direction_summary in series
            .iter_mut()
            .map(|moment| &mut moment.directions[direction])
        {
            match (ios, bytes) {
                (true, false) => direction_summary.bytes = direction_summary.ios * size,
                (false, true) => direction_summary.ios = direction_summary.bytes / size,
                _ => {}
            }
        }
    }
}

fn total(series: &[MergedInterval]) -> u64 {
    series
        .iter()
        .flat_map(|moment| &moment.directions.0)
        .map(|direction_summary| direction_summary.ios)
        .sum()
}

fn add_files(source: &mut Provenance, group: &Group) {
    source
        .files
        .extend(group.files.iter().map(|file| file.path.clone()));
}

/// A result made from logs without a document.
fn logs_alone(
    directory: &str,
    prefix: &str,
    group: &Group,
    mut line: Timeline,
    named_by: &[String],
) -> ImportedResult {
    let mut notes = Vec::new();
    if !named_by.is_empty() {
        notes.push(format!(
            "{} wrote logs of this name, but the rows belong to another run",
            short(named_by)
        ));
    }
    if group.files.iter().all(|file| !file.each) && in_microseconds(&line) {
        line.in_nanoseconds();
        notes.push("latencies are taken as microseconds, as in logs of fio 2: in nanoseconds there would be almost no I/O in flight".to_owned());
    }
    line.end_at_last_count(line.step());
    let series = line.moments();
    let elapsed = Nanos::from_millis(line.end());
    let mut entry = Entry {
        name: prefix.to_owned(),
        members: group.jobs().len() as u32,
        show_directions: true,
        ..Entry::default()
    };
    for direction in Direction::ALL
        .into_iter()
        .filter(|direction| line.used(*direction))
    {
        summed(&mut entry, direction, &line);
    }
    let used: Vec<&str> = Direction::ALL
        .into_iter()
        .filter(|direction| line.used(*direction))
        .map(Direction::name)
        .collect();
    entry.workload = format!(
        "logs of {} {} ({})",
        entry.members,
        if entry.members == 1 { "job" } else { "jobs" },
        used.join(" and ")
    );
    entry.series = series;
    let unknown = [
        "device, host and conditions",
        "queue depth",
        "pattern",
        "version of fio",
        "figures of the whole run: these are the sums of the logs",
    ];
    let mut source = Provenance {
        program: String::new(),
        files: Vec::new(),
        unknown: unknown.map(str::to_owned).to_vec(),
        notes,
        over_time: Vec::new(),
    };
    add_files(&mut source, group);
    if source.files.is_empty() {
        source.files.push(format!("{directory}{prefix}"));
    }
    ImportedResult {
        source,
        elapsed,
        entries: vec![entry],
        ..ImportedResult::default()
    }
}

fn short(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
        [] => String::new(),
    }
}

/// Whether the latencies must be microseconds: as nanoseconds they would mean less than 1/50 I/O in
/// flight.
fn in_microseconds(line: &Timeline) -> bool {
    let cells = || {
        Direction::ALL
            .into_iter()
            .flat_map(|direction| line.cells(direction))
    };
    let seconds = line.end() as f64 / 1e3;
    let busy: f64 = cells()
        .filter_map(|cell| Some(cell.ios * cell.clat.get().or(cell.lat.get())?))
        .sum::<f64>()
        / 1e9;
    busy > 0.0 && seconds > 0.0 && busy / seconds < 0.02
}

/// The figures of a whole run that can be computed from its logs.
fn summed(entry: &mut Entry, direction: Direction, line: &Timeline) {
    let cells = line.cells(direction);
    let (ios, bytes) = cells.iter().fold((0.0, 0.0), |sum, cell| {
        (sum.0 + cell.ios, sum.1 + cell.bytes)
    });
    let seconds = (line.end() as f64 / 1e3).max(1e-3);
    let mean = |of: fn(&crate::scan::LogStep) -> Option<f64>| {
        let known = cells.iter().filter_map(|cell| Some((of(cell)?, cell.ios)));
        let (sum, weight) = known.fold((0.0, 0.0), |sum, (value, ios)| {
            (sum.0 + value * ios, sum.1 + ios)
        });
        if weight > 0.0 { sum / weight } else { 0.0 }
    };
    let direction_summary = &mut entry.directions[direction];
    (
        direction_summary.ios,
        direction_summary.bytes,
        direction_summary.iops,
        direction_summary.bandwidth,
    ) = (
        ios.round() as u64,
        bytes.round() as u64,
        ios / seconds,
        bytes / seconds,
    );
    direction_summary.runtime_ms = line.end();
    direction_summary.clat = LatencySummary {
        mean: mean(|cell| cell.clat.get()),
        n: direction_summary.ios,
        ..LatencySummary::default()
    };
    direction_summary.lat = LatencySummary {
        mean: mean(|cell| cell.lat.get()),
        n: direction_summary.ios,
        ..LatencySummary::default()
    };
    direction_summary.slat = LatencySummary {
        mean: mean(|cell| cell.slat.get()),
        n: direction_summary.ios,
        ..LatencySummary::default()
    };
    let mut spread = Histogram::new();
    cells
        .iter()
        .for_each(|cell| cell.latencies.add_to(&mut spread));
    if spread.count() > 0 {
        direction_summary.clat = LatencySummary::of(&spread, &PERCENTILES);
    }
    (
        direction_summary.counts.planned,
        direction_summary.counts.ok,
        direction_summary.counts.bytes_ok,
        direction_summary.counts.bytes_requested,
    ) = (
        direction_summary.ios,
        direction_summary.ios,
        direction_summary.bytes,
        direction_summary.bytes,
    );
}

/// fio's default percentiles.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
