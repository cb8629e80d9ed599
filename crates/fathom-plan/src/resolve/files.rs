//! Where the I/O goes: paths, region, and how files come to be.

use std::path::{Path, PathBuf};

use fathom_model::{
    Bytes, EngineKind, Extent, Fadvise, Fallocate, FileService, FileSet, Layout, Pattern,
};

use super::bounds::{MOST_FILES, MOST_NAME_BYTES, within};
use super::job::{JobContext, View};
use super::report::Report;
use super::{engine, sync};
use crate::diagnostic::Diagnostic;
use crate::values::{Reading, normal, pareto, zipf};

/// fio's names of generated files.
const FORMAT: &str = "$jobname.$jobnum.$filenum";
/// Longest path Linux takes, in bytes; PATH_MAX in limits.h.
const LONGEST_PATH: usize = 4095;

/// Resolves the files of one clone.
pub(crate) fn resolve(
    view: &View<'_>,
    seat: &JobContext<'_>,
    pattern: &Pattern,
    report: &mut Report,
) -> FileSet {
    let settings = view.settings;
    let (paths, named) = paths(view, seat, report);
    let (service, service_every) = service(view, report);
    let zero = Extent::Bytes(Bytes::ZERO);
    FileSet {
        paths,
        named,
        size: view
            .extent("size", report)
            .filter(|size| !is_zero(*size))
            .unwrap_or(Extent::Whole),
        file_size: settings
            .pair("filesize")
            .map(|(low, high)| (Bytes::new(low), Bytes::new(high))),
        offset: view.extent("offset", report).unwrap_or(zero),
        offset_increment: view.extent("offset_increment", report).unwrap_or(zero),
        offset_align: Bytes::new(settings.number("offset_align", 0)),
        direct: direct(view),
        sync_mode: sync::mode(view),
        service,
        service_every,
        open_files: settings.small("openfiles", 0),
        layout: layout(view, pattern),
    }
}

fn is_zero(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(0))
        || matches!(extent, Extent::Bytes(bytes) if bytes.is_zero())
}

/// The later of `direct` and `buffered` holds. Writes that are not torn pass by the page cache.
pub(crate) fn direct(view: &View<'_>) -> bool {
    let settings = view.settings;
    if settings.switch("atomic") {
        return true;
    }
    if settings.position("buffered") > settings.position("direct") {
        !settings.switch("buffered")
    } else {
        settings.switch("direct")
    }
}

// ---------------------------------------------------------------------------------------------------- paths

fn paths(view: &View<'_>, seat: &JobContext<'_>, report: &mut Report) -> (Vec<PathBuf>, bool) {
    let folders = folders(view, report);
    let mut names = named(view, report);
    names.extend(below(view, report));
    let paths: Vec<PathBuf> = if names.is_empty() {
        generated(view, seat, &folders, report)
    } else {
        join_all(&folders, 0, names.iter())
    };
    if let Some(long) = paths
        .iter()
        .find(|path| path.as_os_str().len() > LONGEST_PATH)
    {
        let shown = crate::jobfile::shorten(&long.to_string_lossy());
        report.push(view.error(
            "filename",
            format!("the path {shown} has more than {LONGEST_PATH} bytes"),
        ));
    }
    let special = names.is_empty() && paths.len() == 1 && is_special(view, seat, &folders);
    (paths, !names.is_empty() || special)
}

/// The names of all `filename` settings together: as in fio a job's own are added to those of its globals.
pub(crate) fn named(view: &View<'_>, report: &mut Report) -> Vec<String> {
    let mut names = Vec::new();
    for setting in view.settings.all("filename") {
        let crate::values::Value::Text(text) = &setting.value else {
            continue;
        };
        names.extend(split_names(text));
    }
    if names.iter().any(|name| name == "-") {
        report.push(
            view.error("filename", "'-' is a stream, which cannot be measured")
                .advise("name a file or a device"),
        );
    }
    names
}

/// `opendir`: the files below a folder.
fn below(view: &View<'_>, report: &mut Report) -> Vec<String> {
    let Some(folder) = view.settings.text("opendir").filter(|_| view.check_folders) else {
        return Vec::new();
    };
    let found = view
        .surroundings
        .files_below(Path::new(folder), MOST_FILES as usize);
    let names: Option<Vec<String>> = found.and_then(|files| {
        files
            .into_iter()
            .map(|path| path.into_os_string().into_string().ok())
            .collect()
    });
    let shown = crate::jobfile::shorten(folder);
    match names {
        Some(names) if !names.is_empty() => names,
        Some(_) => {
            report.push(
                view.error("opendir", format!("there is no file below '{shown}'"))
                    .advise("name another folder"),
            );
            Vec::new()
        }
        None => {
            let problem = format!(
                "'{shown}' is no folder that can be read, or holds more than {MOST_FILES} files"
            );
            report.push(
                view.error("opendir", problem)
                    .advise("name a smaller folder, or list the files in filename"),
            );
            Vec::new()
        }
    }
}

/// Splits at colons; `\:` is a colon of the name.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                names.last_mut().expect("never empty").extend(chars.next())
            }
            ':' => names.push(String::new()),
            other => names.last_mut().expect("never empty").push(other),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn folders(view: &View<'_>, report: &mut Report) -> Vec<String> {
    let folders = view
        .settings
        .text("directory")
        .map(split_names)
        .unwrap_or_default();
    for folder in folders
        .iter()
        .filter(|folder| view.check_folders && !view.surroundings.is_directory(Path::new(folder)))
    {
        report.push(
            view.error(
                "directory",
                format!("'{}' is not a folder", crate::jobfile::shorten(folder)),
            )
            .advise("make it first"),
        );
    }
    folders
}

fn join_all<'a>(
    folders: &[String],
    clone: u32,
    names: impl Iterator<Item = &'a String>,
) -> Vec<PathBuf> {
    names.map(|name| join(folders, clone, name)).collect()
}

/// As fio joins: folder, slash, name; an absolute name does not replace the folder.
fn join(folders: &[String], clone: u32, name: &str) -> PathBuf {
    match folders {
        [] => PathBuf::from(name),
        _ => PathBuf::from(format!(
            "{}/{name}",
            folders[clone as usize % folders.len()]
        )),
    }
}

fn is_special(view: &View<'_>, seat: &JobContext<'_>, folders: &[String]) -> bool {
    view.settings.number("nrfiles", 1) == 1
        && folders.is_empty()
        && !seat.section_name.is_empty()
        && view.surroundings.is_special(Path::new(seat.section_name))
}

fn generated(
    view: &View<'_>,
    seat: &JobContext<'_>,
    folders: &[String],
    report: &mut Report,
) -> Vec<PathBuf> {
    if is_special(view, seat, folders) {
        return vec![PathBuf::from(seat.section_name)];
    }
    let count = within(
        view,
        "nrfiles",
        view.settings.number("nrfiles", 1).max(1),
        MOST_FILES,
        "files",
        report,
    );
    let count = if report.has_errors() {
        count.min(1)
    } else {
        count
    };
    let format = view.settings.text("filename_format").unwrap_or(FORMAT);
    let names = Names::new(format, seat.section_name, folders, seat.clone);
    let bytes = count.saturating_mul(names.of(count - 1).as_os_str().len() as u64);
    // The names of many files, each of thousands of bytes, are refused before they are made.
    if bytes > MOST_NAME_BYTES {
        report.push(
            view.error(
                "nrfiles",
                format!("{bytes} bytes of file names are beyond the limit"),
            )
            .advise(format!("at most {MOST_NAME_BYTES} in all jobs together")),
        );
        return vec![names.of(0)];
    }
    (0..count).map(|file| names.of(file)).collect()
}

/// Generated names of one clone's files. The format is read once, and a name takes one allocation: there may be a million.
struct Names {
    /// Text before each number of a file; one more than there are numbers.
    parts: Vec<String>,
    length: usize,
}

impl Names {
    fn new(format: &str, job: &str, folders: &[String], clone: u32) -> Self {
        let folder = folders
            .get(clone as usize % folders.len().max(1))
            .map_or(String::new(), |folder| format!("{folder}/"));
        let mut parts = file_parts(format, job, clone);
        parts[0].insert_str(0, &folder);
        let length = parts.iter().map(String::len).sum();
        Names { parts, length }
    }

    fn of(&self, file: u64) -> PathBuf {
        let mut digits = [0; 20];
        let digits = decimal(file, &mut digits);
        let mut name = String::with_capacity(self.length + (self.parts.len() - 1) * digits.len());
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                name.push_str(digits);
            }
            name.push_str(part);
        }
        PathBuf::from(name)
    }
}

/// `number` in digits, at the end of `buffer`.
fn decimal(number: u64, buffer: &mut [u8; 20]) -> &str {
    let (mut at, mut left) = (buffer.len(), number);
    while left > 0 || at == buffer.len() {
        at -= 1;
        buffer[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    std::str::from_utf8(&buffer[at..]).expect("digits")
}

/// Fills in `$jobname`, `$jobnum` and `$clientuid`, in any case, and cuts where `$filenum` stands.
fn file_parts(format: &str, job: &str, clone: u32) -> Vec<String> {
    let clone = clone.to_string();
    let words = [
        ("$jobname", Some(job)),
        ("$jobnum", Some(clone.as_str())),
        ("$clientuid", Some("")),
        ("$filenum", None),
    ];
    let mut parts = vec![String::new()];
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        let part = parts.last_mut().expect("never empty");
        part.push_str(&rest[..at]);
        rest = &rest[at..];
        let hit = words.iter().find(|(word, _)| {
            rest.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        });
        let (text, length) = hit.map_or((Some("$"), 1), |(word, text)| (*text, word.len()));
        match text {
            Some(text) => part.push_str(text),
            None => parts.push(String::new()),
        }
        rest = &rest[length..];
    }
    parts.last_mut().expect("never empty").push_str(rest);
    parts
}

// --------------------------------------------------------------------------------------------------- layout

fn layout(view: &View<'_>, pattern: &Pattern) -> Layout {
    let settings = view.settings;
    let reads = pattern.traffic.uses(fathom_model::Direction::Read);
    let pre_read = settings.switch("pre_read");
    Layout {
        create_on_open: settings.switch("create_on_open"),
        create_only: settings.switch("create_only"),
        allow_create: settings.switch("allow_file_create"),
        overwrite: settings.switch("overwrite") || reads,
        unlink: settings.switch("unlink"),
        unlink_each_loop: settings.switch("unlink_each_loop"),
        fallocate: fallocate(view),
        fadvise: fadvise(view),
        invalidate: settings.switch("invalidate") && !pre_read,
        pre_read,
        append: settings.switch("file_append"),
        fill_device: settings.switch("fill_device"),
        create_fsync: settings.switch("create_fsync"),
    }
}

fn fallocate(view: &View<'_>) -> Fallocate {
    match view.settings.choice("fallocate", "native").0 {
        "none" | "0" => Fallocate::None,
        "posix" | "1" => Fallocate::Posix,
        "keep" => Fallocate::Keep,
        "truncate" => Fallocate::Truncate,
        _ => Fallocate::Native,
    }
}

fn fadvise(view: &View<'_>) -> Fadvise {
    match view.settings.choice("fadvise_hint", "1").0 {
        "0" => Fadvise::None,
        "random" => Fadvise::Random,
        "sequential" => Fadvise::Sequential,
        "noreuse" => Fadvise::NoReuse,
        _ => Fadvise::ByPattern,
    }
}

fn service(view: &View<'_>, report: &mut Report) -> (FileService, u32) {
    let (word, rest) = view.settings.choice("file_service_type", "roundrobin");
    let reading = Reading::new(view.personality, 1);
    let read = match word {
        "zipf" => zipf(rest, &reading).map(|(theta, _)| FileService::Zipf(theta)),
        "pareto" => pareto(rest, &reading).map(|(power, _)| FileService::Pareto(power)),
        "normal" | "gauss" => {
            normal(rest, &reading).map(|(deviation, _)| FileService::Normal(deviation))
        }
        _ => return (plain_service(word), every(view, rest, report)),
    };
    match read {
        Ok(service) => (service, 1),
        Err(fault) => {
            report.push(Diagnostic {
                advice: fault.advice,
                ..view.error("file_service_type", fault.problem)
            });
            (FileService::RoundRobin, 1)
        }
    }
}

fn plain_service(word: &str) -> FileService {
    match word {
        "random" => FileService::Random,
        "sequential" => FileService::Sequential,
        _ => FileService::RoundRobin,
    }
}

fn every(view: &View<'_>, rest: Option<&str>, report: &mut Report) -> u32 {
    let Some(text) = rest else { return 1 };
    match text.trim().parse::<u32>() {
        Ok(n) if n > 0 => n,
        _ => {
            report.push(view.error(
                "file_service_type",
                format!(
                    "'{}' is not a number of I/Os",
                    crate::jobfile::shorten(text)
                ),
            ));
            1
        }
    }
}

/// Whether the engine of the job touches its files at all.
pub(crate) fn touches_files(view: &View<'_>) -> bool {
    view.settings
        .text("ioengine")
        .and_then(engine::by_name)
        .is_none_or(EngineKind::has_targets)
}

#[cfg(test)]
mod tests {
    use super::{Names, split_names};

    #[test]
    fn colons_split_and_backslashes_keep() {
        assert_eq!(split_names("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(
            split_names(r"/dev/disk/by-path/pci-0000\:00\:1f.2-ata-1"),
            ["/dev/disk/by-path/pci-0000:00:1f.2-ata-1"]
        );
        assert_eq!(split_names(":a::b:"), ["a", "b"]);
        assert_eq!(split_names(r"a\b"), [r"a\b"]);
    }

    /// Measured on fio 3.33: x.0.0, x.1.0; keywords in any case.
    #[test]
    fn generated_names_follow_the_format() {
        let name = |format, job, folders: &[String], clone, file| {
            Names::new(format, job, folders, clone)
                .of(file)
                .display()
                .to_string()
        };
        assert_eq!(name("$jobname.$jobnum.$filenum", "x", &[], 1, 0), "x.1.0");
        assert_eq!(
            name("f-$JobName-$FILENUM$clientuid", "a b", &[], 0, 12),
            "f-a b-12"
        );
        assert_eq!(name("$jobnummer$", "x", &[], 3, 0), "3mer$");
        assert_eq!(
            name("$filenum$filenum-$jobnum", "x", &[], 3, 1070),
            "10701070-3"
        );
        let folders = ["/a".to_owned(), "b$jobnum".to_owned()];
        assert_eq!(
            name("$filenum", "x", &folders, 3, u64::MAX),
            "b$jobnum/18446744073709551615"
        );
    }
}
