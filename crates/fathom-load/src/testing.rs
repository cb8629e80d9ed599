//! A small job to start from in tests.

use fathom_model::*;

/// A job of 4 KiB blocks on the null engine, queue depth 1.
pub(crate) fn job(traffic: Traffic, access: Access) -> Job {
    Job {
        name: "test".into(),
        options: Vec::new(),
        description: None,
        number: 1,
        section: 0,
        clone: 0,
        group: 0,
        group_reporting: false,
        start: Start::default(),
        exit: ExitRule::default(),
        files: FileSet {
            paths: vec!["test.0.0".into()],
            named: false,
            size: Extent::Bytes(Bytes::from_mib(1)),
            file_size: None,
            offset: Extent::Bytes(Bytes::ZERO),
            offset_increment: Extent::Bytes(Bytes::ZERO),
            offset_align: Bytes::ZERO,
            direct: false,
            sync_mode: SyncMode::None,
            atomic: false,
            service: FileService::RoundRobin,
            service_every: 1,
            open_files: 0,
            layout: Layout { allow_create: true, ..Layout::default() },
        },
        pattern: Pattern {
            traffic,
            access,
            block_size: PerDirection::all(BlockSizes::Fixed(4096)),
            block_align: PerDirection::all(Bytes::ZERO),
            unaligned: false,
            sizes_by_access: false,
            distribution: PerDirection::all(Distribution::Uniform),
            random_percent: PerDirection::all(100),
            without_replacement: true,
            seed: 1,
            zones: None,
        },
        limits: Limits { loops: 1, ..Limits::default() },
        pace: Pace::default(),
        queue: Queue { depth: 1, batch_submit: 1, batch_complete_min: 1, batch_complete_max: 1, low: 1 },
        engine: EngineSpec { kind: EngineKind::Null, named: true, settings: EngineSettings::default() },
        payload: Payload { fill: Fill::Random, refill: false, scramble: true, dedupe_percent: 0 },
        verify: None,
        sync: SyncPolicy::default(),
        accounting: Accounting { slat: true, clat: true, lat: true, ..Accounting::default() },
        errors: ErrorPolicy::default(),
        cpus: Vec::new(),
        nice: None,
    }
}
