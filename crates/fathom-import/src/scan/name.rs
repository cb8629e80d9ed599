//! Parses names of logs: `PREFIX_KIND.JOB.log`, followed by `.HOST` for logs from a server, without
//! `.JOB` if the jobs share a log.

use fathom_model::LogKind;

/// The parts of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogName {
    /// Directory with a trailing slash; may be empty.
    pub directory: String,
    /// The value of `write_*_log`.
    pub prefix: String,
    /// Kind of log.
    pub kind: LogKind,
    /// Number of the job, from 1; 0 if the jobs share a log.
    pub job: u32,
    /// The server that wrote it; may be empty.
    pub host: String,
}

const KINDS: [(&str, LogKind); 6] = [
    ("_clat_hist.", LogKind::Hist),
    ("_iops.", LogKind::Iops),
    ("_slat.", LogKind::Slat),
    ("_clat.", LogKind::Clat),
    ("_lat.", LogKind::Lat),
    ("_bw.", LogKind::Bw),
];

impl LogName {
    /// The parts of `path`; `None` if it does not name a kind of log.
    #[must_use]
    pub fn of(path: &str) -> Option<LogName> {
        let (directory, file) = split(path);
        // Extension of `log_store_compressed`.
        let file = file.strip_suffix(".fz").unwrap_or(file);
        let here = |at: usize| {
            KINDS
                .iter()
                .find(|(word, _)| file[at..].starts_with(word))
                .map(|(word, kind)| (at, word, *kind))
        };
        let (at, word, kind) = file.rmatch_indices('_').find_map(|(at, _)| here(at))?;
        let rest = &file[at + word.len()..];
        let (number, rest) = rest.split_once('.').unwrap_or((rest, ""));
        let (job, rest) = match number.parse() {
            Ok(job) => (job, rest),
            Err(_) => (0, &file[at + word.len()..]),
        };
        let host = rest.split_once("log.").map_or("", |(_, host)| host);
        Some(LogName {
            directory: directory.to_owned(),
            prefix: file[..at].to_owned(),
            kind,
            job,
            host: host.to_owned(),
        })
    }
}

impl LogName {
    /// For a log with any other name: all of it is the prefix.
    #[must_use]
    pub fn bare(path: &str) -> LogName {
        let (directory, file) = split(path);
        let prefix = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        LogName {
            directory: directory.to_owned(),
            prefix: prefix.to_owned(),
            kind: LogKind::Hist,
            job: 0,
            host: String::new(),
        }
    }
}

/// Directory with its slash, and file name.
#[must_use]
pub fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_versions() {
        let parts = |path: &str| {
            LogName::of(path).map(|name| {
                (
                    name.directory,
                    name.prefix,
                    name.kind.name(),
                    name.job,
                    name.host,
                )
            })
        };
        let expect = |directory: &str, prefix: &str, kind, job, host: &str| {
            Some((
                directory.to_owned(),
                prefix.to_owned(),
                kind,
                job,
                host.to_owned(),
            ))
        };
        assert_eq!(
            parts("a/b/x-iodepth-1_bw.12.log"),
            expect("a/b/", "x-iodepth-1", "bw", 12, "")
        );
        assert_eq!(parts("x_lat_clat.log"), expect("", "x_lat", "clat", 0, ""));
        assert_eq!(
            parts("x_clat_hist.1.log.host-7"),
            expect("", "x", "clat_hist", 1, "host-7")
        );
        assert_eq!(
            parts("agg-read_bw.log"),
            expect("", "agg-read", "bw", 0, "")
        );
        assert_eq!(parts("x_clat.1.log.fz"), expect("", "x", "clat", 1, ""));
        assert_eq!(parts("x.log"), None);
    }
}
