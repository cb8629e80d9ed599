//! Values for code that sets only some fields of a plan, mostly tests. They are not the defaults of job options, which
//! `fathom-plan` has.

use super::{
    Access, BlockSizes, Distribution, EngineKind, EngineSettings, EngineSpec, Extent, FileService,
    FileSet, Fill, Job, Layout, Limits, Pattern, Payload, Plan, Queue, ReplayReading, ReplayTiming,
    SyncMode, Traffic, Verify, VerifyKind,
};
use crate::{Accounting, Bytes, Nanos, PerDirection, Personality};

/// A plan without jobs, with intervals of one second.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            personality: Personality::default(),
            sources: Vec::new(),
            globals: Vec::new(),
            overrides: Vec::new(),
            jobs: Vec::new(),
            interval: Nanos::from_secs(1),
            read_only: false,
            warnings: Vec::new(),
        }
    }
}

/// The first job of a run: random reads on the null engine, with slat, clat and lat.
impl Default for Job {
    fn default() -> Self {
        Job {
            name: String::new(),
            options: Vec::new(),
            description: None,
            number: 1,
            section: 0,
            clone: 0,
            group: 0,
            group_reporting: false,
            start: super::Start::default(),
            exit: super::ExitRule::default(),
            files: FileSet::default(),
            pattern: Pattern::default(),
            limits: Limits::default(),
            pace: super::Pace::default(),
            queue: Queue::default(),
            engine: EngineSpec::default(),
            payload: Payload::default(),
            verify: None,
            sync: super::SyncPolicy::default(),
            accounting: Accounting {
                slat: true,
                clat: true,
                lat: true,
                ..Accounting::default()
            },
            errors: super::ErrorPolicy::default(),
            cpus: Vec::new(),
            nice: None,
        }
    }
}

/// No files; each of those that are added is used as a whole.
impl Default for FileSet {
    fn default() -> Self {
        FileSet {
            paths: Vec::new(),
            named: false,
            size: Extent::Whole,
            file_size: None,
            offset: Extent::Bytes(Bytes::ZERO),
            offset_increment: Extent::Bytes(Bytes::ZERO),
            offset_align: Bytes::ZERO,
            direct: false,
            sync_mode: SyncMode::None,
            service: FileService::RoundRobin,
            service_every: 1,
            open_files: 0,
            layout: Layout::default(),
        }
    }
}

/// Random reads of 4 KiB, each block once.
impl Default for Pattern {
    fn default() -> Self {
        Pattern {
            traffic: Traffic::Read,
            access: Access::Random {
                every: 1,
                identical: false,
            },
            block_size: PerDirection::all(BlockSizes::Fixed(4096)),
            block_align: PerDirection::all(Bytes::ZERO),
            unaligned: false,
            sizes_by_access: false,
            distribution: PerDirection::all(Distribution::Uniform),
            random_percent: PerDirection::all(100),
            without_replacement: true,
            seed: 1,
            zones: None,
        }
    }
}

/// Queue depth 1.
impl Default for Queue {
    fn default() -> Self {
        Queue {
            depth: 1,
            batch_submit: 1,
            batch_complete_min: 1,
            batch_complete_max: 1,
            low: 1,
        }
    }
}

/// The null engine.
impl Default for EngineSpec {
    fn default() -> Self {
        EngineSpec {
            kind: EngineKind::Null,
            named: true,
            settings: EngineSettings::default(),
        }
    }
}

/// Random data that is filled once and changed before each write.
impl Default for Payload {
    fn default() -> Self {
        Payload {
            fill: Fill::Random,
            refill: false,
            scramble: true,
            dedupe_percent: 0,
            dedupe_set: None,
        }
    }
}

impl Verify {
    /// Verification with `kind` after the writes, with fio's defaults.
    #[must_use]
    pub fn with(kind: VerifyKind) -> Self {
        Verify {
            kind,
            after_writes: true,
            fatal: false,
            pattern: Vec::new(),
            pattern_interval: 0,
            interval: 0,
            header_offset: 0,
            dump: false,
            only: false,
            backlog: 0,
            backlog_batch: 0,
            threads: 0,
            thread_cpus: Vec::new(),
            write_sequence: true,
            header_seed: true,
            state_save: false,
            state_load: None,
            only_fsynced: false,
        }
    }
}

/// Every I/O of the log at its recorded time, to the files that the log names.
impl Default for ReplayReading {
    fn default() -> Self {
        ReplayReading {
            timing: ReplayTiming::OnTime,
            time_percent: 100,
            redirect: None,
            directory: None,
            scale: 1,
            align: 1,
            skip: PerDirection::all(false),
            skip_sync: false,
            lenient: false,
        }
    }
}
