//! `fathom quick`: a standard set of measurements as a job file that can be run again.

use std::fmt::{self, Display};
use std::path::Path;

use fathom_model::{Bytes, Nanos};

use super::cell::file_value;

/// The measurements of `fathom quick` on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quick {
    file: String,
    size: Option<Bytes>,
    writes: bool,
}

/// Why a path cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickError {
    /// It is not UTF-8, or has characters with a meaning in a job file.
    Name,
}

impl Display for QuickError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuickError::Name => f.write_str(
                "a job file cannot contain this name (it is not UTF-8, or contains '${', a line break, a backslash, or blanks at its ends): rename the target, or use a link to it",
            ),
        }
    }
}

impl std::error::Error for QuickError {}

/// The preview measures this many bytes, which most disks lay out within a second.
const PREVIEW_SIZE: u64 = 32 << 20;

/// One measurement: section name, title, options.
type PlannedCell = (&'static str, &'static str, &'static str);

const READS: [PlannedCell; 6] = [
    (
        "read-4k-1",
        "4 KiB random reads, depth 1",
        "rw=randread\nbs=4k\niodepth=1",
    ),
    (
        "read-4k-8",
        "4 KiB random reads, depth 8",
        "rw=randread\nbs=4k\niodepth=8",
    ),
    (
        "read-4k-32",
        "4 KiB random reads, depth 32",
        "rw=randread\nbs=4k\niodepth=32",
    ),
    (
        "read-4k-128",
        "4 KiB random reads, depth 128",
        "rw=randread\nbs=4k\niodepth=128",
    ),
    (
        "read-1m-1",
        "1 MiB sequential reads, depth 1",
        "rw=read\nbs=1m\niodepth=1",
    ),
    (
        "read-1m",
        "1 MiB sequential reads, depth 8",
        "rw=read\nbs=1m\niodepth=8",
    ),
];

const WRITES: [PlannedCell; 6] = [
    (
        "write-1m-1",
        "1 MiB sequential writes, depth 1",
        "rw=write\nbs=1m\niodepth=1",
    ),
    (
        "write-1m",
        "1 MiB sequential writes, depth 8",
        "rw=write\nbs=1m\niodepth=8",
    ),
    (
        "write-4k-1",
        "4 KiB random writes, depth 1",
        "rw=randwrite\nbs=4k\niodepth=1",
    ),
    (
        "write-4k-32",
        "4 KiB random writes, depth 32",
        "rw=randwrite\nbs=4k\niodepth=32",
    ),
    (
        "mix-4k-32",
        "70/30 read/write mix, depth 32",
        "rw=randrw\nrwmixread=70\nbs=4k\niodepth=32",
    ),
    (
        "commit",
        "4 KiB commits (write, fdatasync)",
        "rw=write\nbs=4k\niodepth=1\nioengine=psync\nfdatasync=1",
    ),
];

impl Quick {
    /// Measurements of the file or device `file`: of its first `size` bytes, or all of it.
    ///
    /// # Errors
    /// When a job file cannot contain the name.
    pub fn new(file: &Path, size: Option<Bytes>, writes: bool) -> Result<Quick, QuickError> {
        Ok(Quick {
            file: file_value(file)?,
            size,
            writes,
        })
    }

    /// Number of measurements.
    #[must_use]
    pub fn cells(&self) -> u32 {
        (READS.len() + if self.writes { WRITES.len() } else { 0 }) as u32
    }

    /// The time of each measurement when all of them take `time`, ramp time included.
    #[must_use]
    pub fn cell_time(&self, time: Nanos) -> Nanos {
        Nanos::new(time.get() / u64::from(self.cells()))
    }

    /// How much of the target the preview measures.
    #[must_use]
    pub fn preview_size(&self) -> Bytes {
        Bytes::new(
            self.size
                .map_or(PREVIEW_SIZE, |size| size.get().min(PREVIEW_SIZE)),
        )
    }

    /// The job file of the preview, which takes one second and gives a first figure before the whole target is laid out.
    #[must_use]
    pub fn preview(&self) -> String {
        let size = self.preview_size().get();
        let file = &self.file;
        format!(
            "[preview]\nfilename={file}\nsize={size}\nrw=randread\nbs=4k\niodepth=1\ndirect=1\ntime_based\nruntime=1s\n"
        )
    }

    /// The job file that lays out the target without measuring.
    #[must_use]
    pub fn layout(&self) -> String {
        format!(
            "[layout]\n{}rw=randread\nbs=1m\ncreate_only=1\n",
            self.target()
        )
    }

    /// The job file that measures for `time` in total.
    #[must_use]
    pub fn measure(&self, time: Nanos) -> String {
        let each = time.get() / u64::from(self.cells());
        // The first tenth of each measurement is ramp time.
        let (ramp, run) = (each / 10, each - each / 10);
        let mut text = format!(
            "[global]\n{}direct=1\ntime_based\nramp_time={}us\nruntime={}us\n",
            self.target(),
            ramp / 1000,
            run / 1000
        );
        for (name, title, what) in READS.iter().chain(WRITES.iter().filter(|_| self.writes)) {
            text += &format!("\n[{name}]\ndescription={title}\nstonewall\n{what}\n");
        }
        text
    }

    fn target(&self) -> String {
        let size = self
            .size
            .map_or(String::new(), |size| format!("size={}\n", size.get()));
        format!("filename={}\n{size}", self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(writes: bool) -> Quick {
        Quick::new(
            Path::new("/mnt/a:b/data"),
            Some(Bytes::new(1 << 30)),
            writes,
        )
        .expect("a valid name")
    }

    #[test]
    fn all_of_the_time_is_used() {
        for writes in [false, true] {
            let quick = quick(writes);
            let text = quick.measure(Nanos::new(60_000_000_000));
            let of = |key: &str| -> u64 {
                let line = text
                    .lines()
                    .find_map(|line| line.strip_prefix(key))
                    .expect("the key");
                line.trim_end_matches("us").parse().expect("microseconds")
            };
            let each = of("ramp_time=") + of("runtime=");
            let all = each * u64::from(quick.cells());
            assert!((59_999_900..=60_000_000).contains(&all), "{all} us");
            assert_eq!(text.matches("stonewall").count() as u32, quick.cells());
        }
    }

    #[test]
    fn without_writes_only_reads_are_measured() {
        let text = quick(false).measure(Nanos::new(1_000_000_000));
        assert!(
            !text.contains("write") && !text.contains("randrw"),
            "{text}"
        );
        assert!(
            quick(true)
                .measure(Nanos::new(1_000_000_000))
                .contains("rw=randwrite")
        );
    }

    #[test]
    fn names_with_a_meaning_in_job_files_are_refused() {
        for name in ["a${HOME}", "two\nlines", " leads", "trails ", "back\\slash"] {
            assert_eq!(
                Quick::new(Path::new(name), None, false),
                Err(QuickError::Name),
                "{name:?}"
            );
        }
        assert!(quick(false).layout().contains("filename=/mnt/a\\:b/data\n"));
    }
}
