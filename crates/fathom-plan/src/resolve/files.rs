//! The files of a job: paths, region, and layout.

use std::path::{Path, PathBuf};

use fathom_model::{
    Bytes, EngineKind, Extent, Fadvise, Fallocate, FileService, FileSet, Layout, Pattern,
};

use super::diagnostics::Diagnostics;
use super::job::{JobContext, JobView, within};
use super::{engine, sync};
use crate::diagnostic::Diagnostic;
use crate::limits::{MAX_FILES, MAX_NAME_BYTES};
use crate::options::engine_by_name;
use crate::options::table as opt;
use crate::text::shorten;
use crate::values::{ParseContext, normal, pareto, zipf};

/// Maximum length of a path on Linux, in bytes; PATH_MAX in limits.h.
const MAX_PATH_BYTES: usize = 4095;

/// Resolves the files of one clone.
pub(crate) fn resolve(
    view: &JobView<'_>,
    job_context: &JobContext<'_>,
    pattern: &Pattern,
    diagnostics: &mut Diagnostics,
) -> FileSet {
    let settings = view.settings;
    let (paths, named) = paths(view, job_context, diagnostics);
    let (service, service_every) = service(view, diagnostics);
    let zero = Extent::Bytes(Bytes::ZERO);
    if settings.get(opt::UNLINK_EACH_LOOP) && settings.is_set(opt::VERIFY) {
        let problem = "removes the data that verify reads back";
        diagnostics.push(
            view.error(opt::UNLINK_EACH_LOOP, problem)
                .advise("use unlink=1, and one run for each loop"),
        );
    }
    FileSet {
        paths,
        named,
        size: view
            .extent(opt::SIZE, diagnostics)
            .filter(|size| !is_zero(*size))
            .unwrap_or(Extent::Whole),
        file_size: settings
            .given(opt::FILESIZE)
            .map(|(low, high)| (Bytes::new(low), Bytes::new(high))),
        offset: view.extent(opt::OFFSET, diagnostics).unwrap_or(zero),
        offset_increment: view
            .extent(opt::OFFSET_INCREMENT, diagnostics)
            .unwrap_or(zero),
        offset_align: Bytes::new(settings.get(opt::OFFSET_ALIGN)),
        direct: direct(view),
        sync_mode: sync::mode(view),
        service,
        service_every,
        open_files: settings.get_u32(opt::OPENFILES),
        layout: layout(view, pattern),
    }
}

fn is_zero(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(0))
        || matches!(extent, Extent::Bytes(bytes) if bytes.is_zero())
}

/// The later of `direct` and `buffered` counts. Atomic writes bypass the page cache.
pub(crate) fn direct(view: &JobView<'_>) -> bool {
    let settings = view.settings;
    // An image has no page cache; librbd caches as the cluster's configuration says.
    if engine::rbd_image(view).is_some() {
        return false;
    }
    if settings.get(opt::ATOMIC) {
        return true;
    }
    if settings.position(opt::BUFFERED) > settings.position(opt::DIRECT) {
        !settings.get(opt::BUFFERED)
    } else {
        settings.get(opt::DIRECT)
    }
}

// ---------------------------------------------------------------------------------------------------- paths

fn paths(
    view: &JobView<'_>,
    job_context: &JobContext<'_>,
    diagnostics: &mut Diagnostics,
) -> (Vec<PathBuf>, bool) {
    if let Some(image) = &engine::rbd_image(view) {
        return (vec![PathBuf::from(image.target())], true);
    }
    let directories = directories(view, diagnostics);
    let mut names = named(view, diagnostics);
    names.extend(files_below(view, diagnostics));
    let paths: Vec<PathBuf> = if names.is_empty() {
        generated(view, job_context, &directories, diagnostics)
    } else {
        join_all(&directories, 0, names.iter())
    };
    if let Some(long) = paths
        .iter()
        .find(|path| path.as_os_str().len() > MAX_PATH_BYTES)
    {
        let shown = shorten(&long.to_string_lossy());
        diagnostics.push(view.error(
            opt::FILENAME,
            format!("the path {shown} has more than {MAX_PATH_BYTES} bytes"),
        ));
    }
    let special =
        names.is_empty() && paths.len() == 1 && is_special(view, job_context, &directories);
    (paths, !names.is_empty() || special)
}

/// The names of all `filename` settings: as in fio, those of the job are added to those of its globals.
pub(crate) fn named(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let mut names = Vec::new();
    for text in view.settings.each(opt::FILENAME) {
        names.extend(split_names(text));
    }
    if names.iter().any(|name| name == "-") {
        diagnostics.push(
            view.error(opt::FILENAME, "'-' is a stream and cannot be measured")
                .advise("name a file or a device"),
        );
    }
    names
}

/// `opendir`: the files below a directory.
fn files_below(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let Some(directory) = view.settings.given(opt::OPENDIR).filter(|_| view.will_run) else {
        return Vec::new();
    };
    let found = view
        .host
        .files_below(Path::new(directory), MAX_FILES as usize);
    let names: Option<Vec<String>> = found.and_then(|files| {
        files
            .into_iter()
            .map(|path| path.into_os_string().into_string().ok())
            .collect()
    });
    let shown = shorten(directory);
    match names {
        Some(names) if !names.is_empty() => names,
        Some(_) => {
            diagnostics.push(
                view.error(opt::OPENDIR, format!("no file below '{shown}'"))
                    .advise("name another directory"),
            );
            Vec::new()
        }
        None => {
            let problem = format!(
                "'{shown}' is not a readable directory, or contains more than {MAX_FILES} files"
            );
            diagnostics.push(
                view.error(opt::OPENDIR, problem)
                    .advise("name a smaller directory, or list the files in filename"),
            );
            Vec::new()
        }
    }
}

/// Splits at colons; `\:` is a colon in a name.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                names.last_mut().expect("never empty").extend(chars.next());
            }
            ':' => names.push(String::new()),
            other => names.last_mut().expect("never empty").push(other),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn directories(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let directories = view
        .settings
        .given(opt::DIRECTORY)
        .map(split_names)
        .unwrap_or_default();
    for directory in directories
        .iter()
        .filter(|directory| view.will_run && !view.host.is_directory(Path::new(directory)))
    {
        diagnostics.push(
            view.error(
                opt::DIRECTORY,
                format!("'{}' is not a directory", shorten(directory)),
            )
            .advise("create it first"),
        );
    }
    directories
}

fn join_all<'a>(
    directories: &[String],
    clone: u32,
    names: impl Iterator<Item = &'a String>,
) -> Vec<PathBuf> {
    names.map(|name| join(directories, clone, name)).collect()
}

/// As in fio: directory, slash, name; an absolute name does not replace the directory.
fn join(directories: &[String], clone: u32, name: &str) -> PathBuf {
    match directories {
        [] => PathBuf::from(name),
        _ => PathBuf::from(format!(
            "{}/{name}",
            directories[clone as usize % directories.len()]
        )),
    }
}

fn is_special(view: &JobView<'_>, job_context: &JobContext<'_>, directories: &[String]) -> bool {
    view.settings.get(opt::NRFILES) == 1
        && directories.is_empty()
        && !job_context.section_name.is_empty()
        && view.host.is_special(Path::new(job_context.section_name))
}

fn generated(
    view: &JobView<'_>,
    job_context: &JobContext<'_>,
    directories: &[String],
    diagnostics: &mut Diagnostics,
) -> Vec<PathBuf> {
    if is_special(view, job_context, directories) {
        return vec![PathBuf::from(job_context.section_name)];
    }
    let count = within(
        view,
        opt::NRFILES,
        view.settings.get(opt::NRFILES).max(1),
        MAX_FILES,
        "files",
        diagnostics,
    );
    let count = if diagnostics.has_errors() {
        count.min(1)
    } else {
        count
    };
    let format = view.settings.get(opt::FILENAME_FORMAT);
    let names = Names::new(
        format,
        job_context.section_name,
        directories,
        job_context.clone,
    );
    let bytes = count.saturating_mul(names.of(count - 1).as_os_str().len() as u64);
    // Many names of thousands of bytes each are refused before they are generated.
    if bytes > MAX_NAME_BYTES {
        diagnostics.push(
            view.error(
                opt::NRFILES,
                format!("{bytes} bytes of file names exceed the limit"),
            )
            .advise(format!("at most {MAX_NAME_BYTES} in all jobs together")),
        );
        return vec![names.of(0)];
    }
    (0..count).map(|file| names.of(file)).collect()
}

/// Generated file names of one clone. The format is parsed once, and a name takes one allocation: there may be a million.
struct Names {
    /// The text around each file number; one more than there are numbers.
    parts: Vec<String>,
    length: usize,
}

impl Names {
    fn new(format: &str, job: &str, directories: &[String], clone: u32) -> Self {
        let directory = directories
            .get(clone as usize % directories.len().max(1))
            .map_or(String::new(), |directory| format!("{directory}/"));
        let mut parts = file_parts(format, job, clone);
        parts[0].insert_str(0, &directory);
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

/// The digits of `number`, at the end of `buffer`.
fn decimal(number: u64, buffer: &mut [u8; 20]) -> &str {
    let (mut at, mut left) = (buffer.len(), number);
    while left > 0 || at == buffer.len() {
        at -= 1;
        buffer[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    std::str::from_utf8(&buffer[at..]).expect("digits")
}

/// Fills in `$jobname`, `$jobnum` and `$clientuid`, in any case, and splits at `$filenum`.
fn file_parts(format: &str, job: &str, clone: u32) -> Vec<String> {
    let clone = clone.to_string();
    let keywords = [
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
        let hit = keywords.iter().find(|(name, _)| {
            rest.get(..name.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(name))
        });
        let (text, length) = hit.map_or((Some("$"), 1), |(name, text)| (*text, name.len()));
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

fn layout(view: &JobView<'_>, pattern: &Pattern) -> Layout {
    let settings = view.settings;
    let reads = pattern.traffic.uses(fathom_model::Direction::Read);
    let pre_read = settings.get(opt::PRE_READ);
    Layout {
        create_on_open: settings.get(opt::CREATE_ON_OPEN),
        create_only: settings.get(opt::CREATE_ONLY),
        allow_create: settings.get(opt::ALLOW_FILE_CREATE),
        overwrite: settings.get(opt::OVERWRITE) || reads,
        unlink: settings.get(opt::UNLINK),
        unlink_each_loop: settings.get(opt::UNLINK_EACH_LOOP),
        fallocate: fallocate(view),
        fadvise: fadvise(view),
        invalidate: settings.get(opt::INVALIDATE) && !pre_read,
        pre_read,
        append: settings.get(opt::FILE_APPEND),
        fill_device: settings.get(opt::FILL_DEVICE),
        create_fsync: settings.get(opt::CREATE_FSYNC),
    }
}

fn fallocate(view: &JobView<'_>) -> Fallocate {
    match view.settings.get(opt::FALLOCATE) {
        "none" | "0" => Fallocate::None,
        "posix" | "1" => Fallocate::Posix,
        "keep" => Fallocate::Keep,
        "truncate" => Fallocate::Truncate,
        _ => Fallocate::Native,
    }
}

fn fadvise(view: &JobView<'_>) -> Fadvise {
    match view.settings.get(opt::FADVISE_HINT) {
        "0" => Fadvise::None,
        "random" => Fadvise::Random,
        "sequential" => Fadvise::Sequential,
        "noreuse" => Fadvise::NoReuse,
        _ => Fadvise::ByPattern,
    }
}

fn service(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> (FileService, u32) {
    let (name, rest) = view.settings.get(opt::FILE_SERVICE_TYPE);
    let context = ParseContext::new(view.personality, 1);
    let read = match name {
        "zipf" => zipf(rest, &context).map(|(theta, _)| FileService::Zipf(theta)),
        "pareto" => pareto(rest, &context).map(|(power, _)| FileService::Pareto(power)),
        "normal" | "gauss" => {
            normal(rest, &context).map(|(deviation, _)| FileService::Normal(deviation))
        }
        _ => return (plain_service(name), service_every(view, rest, diagnostics)),
    };
    match read {
        Ok(service) => (service, 1),
        Err(fault) => {
            diagnostics.push(Diagnostic {
                advice: fault.advice,
                ..view.error(opt::FILE_SERVICE_TYPE, fault.problem)
            });
            (FileService::RoundRobin, 1)
        }
    }
}

fn plain_service(name: &str) -> FileService {
    match name {
        "random" => FileService::Random,
        "sequential" => FileService::Sequential,
        _ => FileService::RoundRobin,
    }
}

fn service_every(view: &JobView<'_>, rest: Option<&str>, diagnostics: &mut Diagnostics) -> u32 {
    let Some(text) = rest else { return 1 };
    match text.trim().parse::<u32>() {
        Ok(n) if n > 0 => n,
        _ => {
            diagnostics.push(view.error(
                opt::FILE_SERVICE_TYPE,
                format!("'{}' is not a valid number of I/Os", shorten(text)),
            ));
            1
        }
    }
}

/// Whether the engine of the job accesses its files at all.
pub(crate) fn touches_files(view: &JobView<'_>) -> bool {
    view.settings
        .given(opt::IOENGINE)
        .and_then(engine_by_name)
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
        let name = |format, job, directories: &[String], clone, file| {
            Names::new(format, job, directories, clone)
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
        let directories = ["/a".to_owned(), "b$jobnum".to_owned()];
        assert_eq!(
            name("$filenum", "x", &directories, 3, u64::MAX),
            "b$jobnum/18446744073709551615"
        );
    }
}
