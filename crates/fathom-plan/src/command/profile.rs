//! The profile `tiobench` of fio (`--profile=tiobench`): four jobs over the same four files.

use crate::jobfile::{Assignment, MEMORY, Section};
use crate::span::Span;

const FILES: &str = ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4";

/// The profile with its own options.
pub(super) struct Tiobench {
    at: Span,
    /// All files together, in MiB; 4 KiB for each MiB of memory without it.
    size_mib: Option<String>,
    block: String,
    runs: String,
    directory: String,
    threads: String,
}

impl Tiobench {
    /// The profile that the option at `at` selects.
    pub(super) fn new(at: Span) -> Tiobench {
        Tiobench {
            at,
            size_mib: None,
            block: "4096".to_owned(),
            runs: "1".to_owned(),
            directory: "./".to_owned(),
            threads: "1".to_owned(),
        }
    }

    /// Sets an option of the profile. False if it has no such option.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) -> bool {
        let text = value.unwrap_or("").to_owned();
        match name {
            "size" => self.size_mib = Some(text),
            "block" => self.block = text,
            "numruns" => self.runs = text,
            "dir" => self.directory = text,
            "threads" => self.threads = text,
            _ => return false,
        }
        true
    }

    /// Its global section and its jobs.
    pub(super) fn sections(self) -> Vec<Section> {
        let size = match &self.size_mib {
            Some(mib) => format!("{mib}m"),
            None => format!("4*1024*{MEMORY}"),
        };
        let global = [
            ("buffered", "0"),
            ("size", &size),
            ("bs", &self.block),
            ("loops", &self.runs),
            ("directory", &self.directory),
            ("numjobs", &self.threads),
            ("runtime", "600"),
            ("group_reporting", "1"),
            ("thread", "1"),
            ("overwrite", "1"),
            ("filename", FILES),
            ("ioengine", "sync"),
        ];
        let write = |rw| [("rw", rw), ("end_fsync", "1"), ("stonewall", "1")];
        let read = |rw| [("rw", rw), ("stonewall", "1")];
        vec![
            self.section("global", &global),
            self.section("seqwrite", &write("write")[..2]),
            self.section("randwrite", &write("randwrite")),
            self.section("seqread", &read("read")),
            self.section("randread", &read("randread")),
        ]
    }

    fn section(&self, name: &str, options: &[(&str, &str)]) -> Section {
        let assignment = |(key, value): &(&str, &str)| Assignment {
            key: (*key).to_owned(),
            key_at: self.at.clone(),
            value: Some((*value).to_owned()),
            value_at: self.at.clone(),
        };
        Section {
            name: name.to_owned(),
            at: self.at.clone(),
            is_global: name == "global",
            assignments: options.iter().map(assignment).collect(),
        }
    }
}
