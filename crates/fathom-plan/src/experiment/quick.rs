//! `fathom quick`: the figures everybody asks for first, as a job file that anyone can run again.

use std::fmt::{self, Display};
use std::path::Path;

use fathom_model::{Bytes, Nanos};

use super::cell::file_value;

/// What a quick look does to which target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quick {
    file: String,
    size: Option<Bytes>,
    writes: bool,
}

/// Why a path has no quick look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickError {
    /// It is not UTF-8, or has characters that mean something else in a job file.
    Name,
}

impl Display for QuickError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuickError::Name => f.write_str(
                "this name cannot stand in a job file (it is not UTF-8, or holds '${', a line break, or blanks at its ends): give the target another name, or a link to it",
            ),
        }
    }
}

impl std::error::Error for QuickError {}

/// A first look is at the first so many bytes: laid out within a second by most disks.
const GLIMPSE: u64 = 32 << 20;

/// One measurement: section name, title, what is done.
type PlannedCell = (&'static str, &'static str, &'static str);

const READS: [PlannedCell; 5] = [
    (
        "read-4k-1",
        "4 KiB random reads, one by one",
        "rw=randread\nbs=4k\niodepth=1",
    ),
    (
        "read-4k-8",
        "4 KiB random reads, 8 at once",
        "rw=randread\nbs=4k\niodepth=8",
    ),
    (
        "read-4k-32",
        "4 KiB random reads, 32 at once",
        "rw=randread\nbs=4k\niodepth=32",
    ),
    (
        "read-4k-128",
        "4 KiB random reads, 128 at once",
        "rw=randread\nbs=4k\niodepth=128",
    ),
    (
        "read-1m",
        "1 MiB reads in order, 8 at once",
        "rw=read\nbs=1m\niodepth=8",
    ),
];

const WRITES: [PlannedCell; 5] = [
    (
        "write-1m",
        "1 MiB writes in order, 8 at once",
        "rw=write\nbs=1m\niodepth=8",
    ),
    (
        "write-4k-1",
        "4 KiB random writes, one by one",
        "rw=randwrite\nbs=4k\niodepth=1",
    ),
    (
        "write-4k-32",
        "4 KiB random writes, 32 at once",
        "rw=randwrite\nbs=4k\niodepth=32",
    ),
    (
        "mix-4k-32",
        "70/30 mix, 32 at once",
        "rw=randrw\nrwmixread=70\nbs=4k\niodepth=32",
    ),
    (
        "commit",
        "4 KiB commits (write, fdatasync)",
        "rw=write\nbs=4k\niodepth=1\nioengine=psync\nfdatasync=1",
    ),
];

impl Quick {
    /// A quick look at the file or device `file`: at its first `size` bytes, or all of it.
    ///
    /// # Errors
    /// When the name cannot stand in a job file.
    pub fn new(file: &Path, size: Option<Bytes>, writes: bool) -> Result<Quick, QuickError> {
        Ok(Quick {
            file: file_value(file)?,
            size,
            writes,
        })
    }

    /// How many measurements it has.
    #[must_use]
    pub fn cells(&self) -> u32 {
        (READS.len() + if self.writes { WRITES.len() } else { 0 }) as u32
    }

    /// How much of the target a first look is at.
    #[must_use]
    pub fn glimpsed(&self) -> Bytes {
        Bytes::new(self.size.map_or(GLIMPSE, |size| size.get().min(GLIMPSE)))
    }

    /// The job file of a first look, a second long: there is a figure before all of the target is made ready.
    #[must_use]
    pub fn glimpse(&self) -> String {
        let size = self.glimpsed().get();
        let file = &self.file;
        format!(
            "[glimpse]\nfilename={file}\nsize={size}\nrw=randread\nbs=4k\niodepth=1\ndirect=1\ntime_based\nruntime=1s\n"
        )
    }

    /// The job file that makes the target ready and measures nothing.
    #[must_use]
    pub fn layout(&self) -> String {
        format!(
            "[layout]\n{}rw=randread\nbs=1m\ncreate_only=1\n",
            self.target()
        )
    }

    /// The job file that measures for `time` in all.
    #[must_use]
    pub fn measure(&self, time: Nanos) -> String {
        let each = time.get() / u64::from(self.cells());
        // The first tenth of each measurement is for the target to settle.
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
        .expect("a good name")
    }

    #[test]
    fn the_time_is_shared_out_in_full() {
        for writes in [false, true] {
            let quick = quick(writes);
            let text = quick.measure(Nanos::new(60_000_000_000));
            let of = |key: &str| -> u64 {
                let line = text
                    .lines()
                    .find_map(|line| line.strip_prefix(key))
                    .expect("the key is there");
                line.trim_end_matches("us").parse().expect("microseconds")
            };
            let each = of("ramp_time=") + of("runtime=");
            let all = each * u64::from(quick.cells());
            assert!((59_999_900..=60_000_000).contains(&all), "{all} us");
            assert_eq!(text.matches("stonewall").count() as u32, quick.cells());
        }
    }

    #[test]
    fn a_look_without_writes_has_none() {
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
    fn names_that_would_mean_something_else_are_refused() {
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
