//! The 27 unsafe target shapes and the legal ones, as facts. Each refusal is paired with the same
//! facts minus the one that made it unsafe, which must be permitted. So a rule that is disabled, or
//! that refuses everything, fails here.

use fathom_device::*;
use fathom_model::Bytes;
use std::path::PathBuf;

const SIZE: u64 = 64 << 20;

fn relative(name: &str, minor: u32) -> RelatedDevice {
    RelatedDevice {
        name: name.into(),
        devno: DevNo { major: 8, minor },
    }
}

fn ends(signatures: &[SignatureKind]) -> Option<Ends> {
    let signatures = signatures
        .iter()
        .map(|&kind| Signature {
            kind,
            offset: Bytes::ZERO,
        })
        .collect();
    Some(Ends {
        sha256: [7; 32],
        samples: Some([7; 32]),
        blank: false,
        signatures,
    })
}

/// The first and last MiB are as [`ends`], and a sample between them differs.
fn other_middle() -> Option<Ends> {
    ends(&[]).map(|ends| Ends {
        samples: Some([8; 32]),
        ..ends
    })
}

/// An idle disk: not in use and without a known structure.
fn disk() -> BlockFacts {
    BlockFacts {
        name: "sdb".into(),
        devno: DevNo {
            major: 8,
            minor: 16,
        },
        size: Bytes::new(SIZE),
        logical_block: 512,
        physical_block: 4096,
        read_only: false,
        model: Some("ACME Speedy".into()),
        serial: Some("S1".into()),
        wwid: None,
        diskseq: Some(9),
        whole: None,
        starts_at: None,
        partitions: vec![],
        holders: vec![],
        slaves: vec![],
        backing_file: None,
        backing: None,
        uses: vec![],
        system: false,
        exclusive: Exclusive::Free,
        ends: ends(&[]),
    }
}

fn location() -> DeviceLocation {
    DeviceLocation {
        directory: "/data".into(),
        fs_type: "ext4".into(),
        kernel_owned: None,
        read_only: false,
        free: Bytes::new(50 << 30),
        total: Bytes::new(100 << 30),
    }
}

/// A file with foreign data.
fn foreign() -> FileFacts {
    FileFacts {
        dev: DevNo { major: 8, minor: 1 },
        inode: 12,
        size: Bytes::new(SIZE),
        allocated: Bytes::new(SIZE),
        mtime_ns: 1_700_000_000_000_000_000,
        ctime_ns: 1_700_000_000_000_000_000,
        content: Content::Data,
        owner: Owner::Foreign,
        location: location(),
        swap: false,
        loop_devices: vec![],
        locked: false,
        benchmark: None,
        ends: ends(&[]),
    }
}

fn own_file() -> FileFacts {
    FileFacts {
        owner: Owner::Ours,
        ..foreign()
    }
}

fn block(facts: BlockFacts) -> TargetFacts {
    let named = PathBuf::from("/dev/sdb");
    TargetFacts {
        resolved: named.clone(),
        named,
        symlink: false,
        target: Target::Block(Box::new(facts)),
    }
}

fn file(facts: FileFacts) -> TargetFacts {
    let named = PathBuf::from("/data/file");
    TargetFacts {
        resolved: named.clone(),
        named,
        symlink: false,
        target: Target::File(facts),
    }
}

fn new(location: DeviceLocation) -> TargetFacts {
    let named = PathBuf::from("/data/new");
    TargetFacts {
        resolved: named.clone(),
        named,
        symlink: false,
        target: Target::NewFile(location),
    }
}

fn mount(at: &str, read_only: bool) -> UseKind {
    UseKind::Mounted(MountedAt {
        at: at.into(),
        fs_type: "ext4".into(),
        read_only,
        namespace_of: None,
    })
}

fn used(relation: Relation, kind: UseKind) -> BlockFacts {
    BlockFacts {
        uses: vec![Use {
            device: relative("sdb1", 17),
            relation,
            kind,
        }],
        ..disk()
    }
}

fn span(end: u64) -> Span {
    Span::new(Bytes::ZERO, Bytes::new(end))
}

fn writes() -> Intent {
    Intent::write(span(SIZE))
}

fn code(facts: &TargetFacts) -> DestroyCode {
    Fingerprint::of(facts).expect("contents are known").code()
}

/// Judges with the target's own code, so that only conditions that no code overrides remain.
fn with_code(facts: &TargetFacts) -> Result<Permit, Refusal> {
    judge(facts, &writes(), &[code(facts)])
}

fn refused(facts: &TargetFacts) -> Reason {
    with_code(facts).expect_err("refused").reason
}

/// Refused with the right code; the same target without the unsafe fact is permitted.
fn refused_with_code(unsafe_one: BlockFacts, text: &str) {
    let refusal = with_code(&block(unsafe_one)).expect_err("refused");
    assert!(refusal.to_string().contains(text), "{refusal}");
    assert!(refusal.to_string().contains("to proceed: "), "{refusal}");
    assert!(
        !refusal.to_string().contains("--destroy"),
        "no code overrides it, so none is offered: {refusal}"
    );
    assert!(with_code(&block(disk())).is_ok());
}

/// Refused without a code and with a wrong code, permitted with the right one.
fn permitted_by_code_only(facts: &TargetFacts, text: &str) {
    let refusal = judge(facts, &writes(), &[]).expect_err("needs a code");
    assert!(refusal.to_string().contains(text), "{refusal}");
    assert!(
        refusal
            .to_string()
            .contains(&format!("--destroy={}", code(facts))),
        "{refusal}"
    );
    let other = "00000000".parse().expect("a code");
    let wrong = judge(facts, &writes(), &[other]).expect_err("another's code");
    assert!(matches!(wrong.reason, Reason::WrongCode { .. }), "{wrong}");
    assert_eq!(
        judge(facts, &writes(), &[other, code(facts)])
            .expect("its code")
            .access(),
        Access::ReadWrite
    );
}

// ---- the 27 shapes ----

#[test]
fn shape_01_mounted() {
    refused_with_code(
        used(Relation::Itself, mount("/mnt/a", false)),
        "it is mounted at /mnt/a (ext4)",
    );
}

#[test]
fn shape_02_mounted_read_only() {
    refused_with_code(
        used(Relation::Itself, mount("/mnt/a", true)),
        "(ext4, read-only)",
    );
}

#[test]
fn shapes_03_to_06_names_do_not_matter() {
    // A by-id link, a relative link, a hard link of the node and a second node all refer to the
    // same number.
    for (named, symlink) in [
        ("/dev/disk/by-id/acme-S1", true),
        ("../rel", true),
        ("/dev/hard", false),
        ("/tmp/node", false),
    ] {
        let at = |facts| TargetFacts {
            named: named.into(),
            symlink,
            ..block(facts)
        };
        let mounted = at(used(Relation::Itself, mount("/mnt/a", false)));
        assert!(matches!(refused(&mounted), Reason::InUse(_)), "{named}");
        assert!(with_code(&at(disk())).is_ok(), "{named}");
    }
}

#[test]
fn shape_07_parent_of_a_mounted_partition() {
    refused_with_code(
        used(Relation::PartitionOf, mount("/mnt/a", false)),
        "its partition sdb1 is mounted",
    );
}

#[test]
fn shape_08_partition_of_a_mounted_disk() {
    refused_with_code(
        used(Relation::WholeOf, mount("/mnt/a", false)),
        "the whole disk sdb1 that contains it is mounted",
    );
}

#[test]
fn shape_09_mounted_in_another_namespace() {
    refused_with_code(
        BlockFacts {
            exclusive: Exclusive::Busy,
            ..disk()
        },
        "another namespace",
    );
    let elsewhere = MountedAt {
        at: "/x".into(),
        fs_type: "xfs".into(),
        read_only: false,
        namespace_of: Some(77),
    };
    refused_with_code(
        used(Relation::Itself, UseKind::Mounted(elsewhere)),
        "namespace of process 77",
    );
}

#[test]
fn shape_10_swap_partition() {
    refused_with_code(
        used(Relation::Itself, UseKind::Swap),
        "it is active swap space",
    );
}

#[test]
fn shape_11_swap_file() {
    let swap = FileFacts {
        swap: true,
        ..own_file()
    };
    assert_eq!(refused(&file(swap)), Reason::SwapFile);
    assert!(with_code(&file(own_file())).is_ok());
}

#[test]
fn shape_12_second_member_of_a_mounted_btrfs() {
    refused_with_code(
        used(
            Relation::Itself,
            UseKind::BtrfsMember { uuid: "u-u".into() },
        ),
        "member of the mounted btrfs u-u",
    );
}

#[test]
fn shapes_13_to_18_known_structures_need_a_code() {
    use SignatureKind as K;
    for kind in [
        K::MdRaid1,
        K::Lvm2,
        K::Luks2,
        K::Zfs,
        K::GptPrimary,
        K::Mbr,
        K::Ext4,
    ] {
        let facts = block(BlockFacts {
            ends: ends(&[kind]),
            ..disk()
        });
        permitted_by_code_only(&facts, &kind.to_string());
        assert!(
            with_code(&facts).expect("its code").needs_backup(),
            "{kind}"
        );
    }
    assert!(!with_code(&block(disk())).expect("its code").needs_backup());
}

#[test]
fn shape_19_held_by_another_process() {
    refused_with_code(
        BlockFacts {
            exclusive: Exclusive::Busy,
            ..disk()
        },
        "EBUSY",
    );
    refused_with_code(
        BlockFacts {
            exclusive: Exclusive::Unknown("EACCES".into()),
            ..disk()
        },
        "EACCES",
    );
    refused_with_code(
        BlockFacts {
            holders: vec![relative("dm-0", 99)],
            ..disk()
        },
        "dm-0 is built on it",
    );
    refused_with_code(
        used(Relation::BuiltOn, mount("/mnt/a", false)),
        "built on it, is mounted",
    );
}

#[test]
fn shape_20_read_only_device() {
    refused_with_code(
        BlockFacts {
            read_only: true,
            ..disk()
        },
        "set read-only",
    );
}

#[test]
fn shape_21_backing_file_of_an_attached_loop() {
    let facts = file(FileFacts {
        loop_devices: vec!["loop3".into()],
        ..own_file()
    });
    assert_eq!(refused(&facts), Reason::LoopBacking(vec!["loop3".into()]));
    assert!(
        with_code(&facts)
            .unwrap_err()
            .remedy()
            .contains("losetup --detach /dev/loop3")
    );
    assert!(with_code(&file(own_file())).is_ok());
}

#[test]
fn shape_22_file_with_foreign_content() {
    permitted_by_code_only(&file(foreign()), "64 MiB of data that fathom did not write");
    let changed = FileFacts {
        owner: Owner::Changed,
        ..foreign()
    };
    permitted_by_code_only(&file(changed), "that another program wrote after fathom");
    // Regression 0302: the mark of a killed run was a permission, whatever the file held since.
    let unfinished = FileFacts {
        owner: Owner::Unfinished,
        ..foreign()
    };
    permitted_by_code_only(&file(unfinished.clone()), "a killed run of fathom");
    let being_written = FileFacts {
        locked: true,
        ..unfinished
    };
    assert_eq!(refused(&file(being_written)), Reason::Locked);
    for safe in [
        own_file(),
        FileFacts {
            content: Content::Empty,
            ..foreign()
        },
        FileFacts {
            content: Content::Hole,
            ..foreign()
        },
    ] {
        assert!(judge(&file(safe), &writes(), &[]).is_ok());
    }
}

#[test]
fn shape_23_kernel_paths() {
    let kernel = DeviceLocation {
        kernel_owned: Some("procfs".into()),
        ..location()
    };
    assert!(matches!(
        refused(&file(FileFacts {
            location: kernel.clone(),
            ..own_file()
        })),
        Reason::KernelOwned { .. }
    ));
    let created = judge(&new(kernel), &writes(), &[]).unwrap_err();
    assert!(
        created
            .to_string()
            .contains("the location belongs to the kernel: procfs"),
        "{created}"
    );
    assert!(judge(&new(location()), &writes(), &[]).is_ok());
}

#[test]
fn shape_24_root_device() {
    refused_with_code(
        BlockFacts {
            system: true,
            ..disk()
        },
        "holds the root file system",
    );
}

#[test]
fn shape_25_changed_between_check_and_start() {
    let permit = with_code(&block(disk())).expect("permitted");
    assert!(permit.recheck_before_write(&block(disk())).is_ok());
    let swaps = [
        BlockFacts {
            devno: DevNo {
                major: 8,
                minor: 32,
            },
            ..disk()
        },
        BlockFacts {
            serial: Some("S2".into()),
            ..disk()
        },
        BlockFacts {
            diskseq: Some(10),
            ..disk()
        },
        BlockFacts {
            ends: ends(&[SignatureKind::Xfs]),
            ..disk()
        },
    ];
    for swapped in swaps {
        let reason = permit
            .recheck_before_write(&block(swapped))
            .expect_err("changed")
            .reason;
        assert!(matches!(reason, Reason::Changed { .. }), "{reason:?}");
    }
    let permit = judge(&file(own_file()), &writes(), &[]).expect("permitted");
    let other = FileFacts {
        inode: 13,
        ..own_file()
    };
    assert!(permit.recheck_before_write(&file(own_file())).is_ok());
    assert!(matches!(
        permit
            .recheck_before_write(&file(other))
            .unwrap_err()
            .reason,
        Reason::Changed { .. }
    ));
}

#[test]
fn shape_26_code_of_another_device() {
    let first = block(disk());
    let others = [
        BlockFacts {
            devno: DevNo {
                major: 8,
                minor: 32,
            },
            ..disk()
        },
        BlockFacts {
            serial: Some("S2".into()),
            ..disk()
        },
        BlockFacts {
            model: None,
            ..disk()
        },
        BlockFacts {
            wwid: Some("naa.5".into()),
            ..disk()
        },
        BlockFacts {
            size: Bytes::new(SIZE * 2),
            ..disk()
        },
        BlockFacts {
            starts_at: Some(Bytes::new(1 << 20)),
            ..disk()
        },
        BlockFacts {
            ends: ends(&[SignatureKind::Xfs]),
            ..disk()
        },
        BlockFacts {
            ends: Some(Ends {
                sha256: [8; 32],
                samples: Some([7; 32]),
                blank: false,
                signatures: vec![],
            }),
            ..disk()
        },
        BlockFacts {
            ends: other_middle(),
            ..disk()
        },
    ];
    for other in others.map(block) {
        let reason = judge(&other, &writes(), &[code(&first)])
            .expect_err("another's code")
            .reason;
        assert!(matches!(reason, Reason::WrongCode { .. }), "{reason:?}");
    }
    assert!(with_code(&first).is_ok());
}

/// A scratch device is written without a code while it holds nothing that is known. Its partitions are known to the kernel also where
/// its first and last MiB show no table: then only the code of what it held when it was confirmed counts.
#[test]
fn a_scratch_device_with_partitions_needs_its_code() {
    let other: DestroyCode = "00000000".parse().expect("a code");
    let judged = |facts: &BlockFacts, code| {
        let scratch = ScratchDevice {
            id: ScratchId::of(facts).expect("a serial number"),
            code,
            path: "/dev/sdb".into(),
        };
        let confirmed = Confirmations {
            scratch: ScratchList(vec![scratch]),
            ..Confirmations::default()
        };
        judge_with(&block(facts.clone()), &writes(), &confirmed).map(|permit| permit.access())
    };
    assert_eq!(judged(&disk(), other).ok(), Some(Access::ReadWrite));
    let divided = BlockFacts {
        partitions: vec![relative("sdb1", 17)],
        ..disk()
    };
    let refusal = judged(&divided, other).expect_err("it has a partition");
    assert!(
        matches!(refusal.reason, Reason::NeedsCode { .. }),
        "{refusal}"
    );
    let confirmed_as_it_is = code(&block(divided.clone()));
    assert_eq!(
        judged(&divided, confirmed_as_it_is).ok(),
        Some(Access::ReadWrite)
    );
}

#[test]
fn shape_26_code_of_another_file_or_another_state() {
    let first = file(foreign());
    let others = [
        FileFacts {
            inode: 13,
            ..foreign()
        },
        FileFacts {
            dev: DevNo { major: 8, minor: 2 },
            ..foreign()
        },
        FileFacts {
            mtime_ns: 1,
            ..foreign()
        },
        FileFacts {
            ctime_ns: 1,
            ..foreign()
        },
        FileFacts {
            ends: other_middle(),
            ..foreign()
        },
        FileFacts {
            size: Bytes::new(SIZE + 1),
            ..foreign()
        },
    ];
    for other in others.map(file) {
        assert_ne!(code(&first), code(&other));
        assert!(judge(&other, &writes(), &[code(&first)]).is_err());
    }
}

#[test]
fn shape_27_range_beyond_the_end() {
    let facts = block(disk());
    for intent in [
        Intent::write(span(SIZE + 1)),
        Intent::read(span(SIZE + 1)),
        writes().growing_to(Bytes::new(SIZE + 1)),
    ] {
        let reason = judge(&facts, &intent, &[code(&facts)])
            .expect_err("too far")
            .reason;
        assert!(matches!(reason, Reason::BeyondEnd { .. }), "{reason:?}");
    }
    assert!(judge(&file(own_file()), &Intent::write(span(SIZE + 1)), &[]).is_err());
    assert!(with_code(&facts).is_ok());
}

// ---- legal shapes ----

#[test]
fn reading_a_target_in_use_is_permitted() {
    let busy = BlockFacts {
        system: true,
        exclusive: Exclusive::Busy,
        read_only: true,
        ends: None,
        ..used(Relation::Itself, UseKind::Swap)
    };
    let swap = FileFacts {
        swap: true,
        loop_devices: vec!["loop1".into()],
        ..foreign()
    };
    for facts in [block(busy), file(swap), block(disk()), file(foreign())] {
        assert_eq!(
            judge(&facts, &Intent::read(span(SIZE)), &[])
                .expect("reading")
                .access(),
            Access::ReadOnly
        );
    }
}

#[test]
fn legal_targets_are_permitted() {
    let spare_partition = BlockFacts {
        whole: Some(relative("sda", 0)),
        starts_at: Some(Bytes::new(1 << 30)),
        ..disk()
    };
    let volume = BlockFacts {
        slaves: vec![relative("sda", 0)],
        ..disk()
    };
    let blank = BlockFacts {
        ends: Some(Ends {
            sha256: [0; 32],
            samples: Some([0; 32]),
            blank: true,
            signatures: vec![],
        }),
        ..disk()
    };
    let anonymous = BlockFacts {
        model: None,
        serial: None,
        ..disk()
    };
    for legal in [disk(), spare_partition, volume, blank, anonymous] {
        assert!(with_code(&block(legal)).is_ok());
    }
    let null = TargetFacts {
        target: Target::Char(DevNo { major: 1, minor: 3 }),
        ..block(disk())
    };
    assert_eq!(
        judge(&null, &Intent::write(span(u64::MAX)), &[])
            .expect("null")
            .access(),
        Access::ReadWrite
    );
    assert_eq!(
        judge(&new(location()), &writes(), &[])
            .expect("new")
            .access(),
        Access::Create
    );
    let link_to_ours = TargetFacts {
        symlink: true,
        ..file(own_file())
    };
    assert!(judge(&link_to_ours, &writes(), &[]).is_ok());
    let by_id = TargetFacts {
        symlink: true,
        named: "/dev/disk/by-id/x".into(),
        ..block(disk())
    };
    assert!(with_code(&by_id).is_ok());
}

// ---- other refusals ----

#[test]
fn a_blank_device_also_needs_a_code() {
    let blank = BlockFacts {
        ends: Some(Ends {
            sha256: [0; 32],
            samples: Some([0; 32]),
            blank: true,
            signatures: vec![],
        }),
        ..disk()
    };
    permitted_by_code_only(&block(blank), "blank first and last MiB");
    let unread = block(BlockFacts {
        ends: None,
        ..disk()
    });
    assert_eq!(
        judge(&unread, &writes(), &["00000000".parse().unwrap()])
            .unwrap_err()
            .reason,
        Reason::Unreadable
    );
}

#[test]
fn trims_and_growth_count_as_writing() {
    let trims = Intent {
        trims: true,
        ..Intent::read(span(SIZE))
    };
    for intent in [trims, Intent::read(span(SIZE)).growing_to(Bytes::new(SIZE))] {
        assert!(judge(&block(disk()), &intent, &[]).is_err());
        assert!(judge(&file(foreign()), &intent, &[]).is_err());
    }
}

#[test]
fn a_link_to_a_foreign_file_is_not_followed_for_writing() {
    for content in [Content::Empty, Content::Data] {
        let facts = TargetFacts {
            symlink: true,
            ..file(FileFacts {
                content,
                ..foreign()
            })
        };
        assert!(matches!(refused(&facts), Reason::Symlink { .. }));
    }
    let dangling = TargetFacts {
        target: Target::Other(NotATarget::DanglingLink),
        ..file(own_file())
    };
    assert!(judge(&dangling, &writes(), &[]).is_err());
}

#[test]
fn unsupported_kinds_are_refused_also_for_reading() {
    for kind in [
        NotATarget::Directory,
        NotATarget::Fifo,
        NotATarget::Socket,
        NotATarget::Unknown,
    ] {
        let facts = TargetFacts {
            target: Target::Other(kind),
            ..file(own_file())
        };
        assert_eq!(
            judge(&facts, &Intent::read(span(1)), &[])
                .unwrap_err()
                .reason,
            Reason::NotATarget(kind)
        );
    }
    // 10:130 is /dev/watchdog: opening it starts a timer that reboots the machine.
    let watchdog = TargetFacts {
        target: Target::Char(DevNo {
            major: 10,
            minor: 130,
        }),
        ..file(own_file())
    };
    assert!(judge(&watchdog, &Intent::read(span(1)), &[]).is_err());
}

#[test]
fn space_is_left_free_on_the_file_system() {
    let with = |free: u64, total: u64| DeviceLocation {
        free: Bytes::new(free),
        total: Bytes::new(total),
        ..location()
    };
    let needs = |free, total| judge(&new(with(free, total)), &writes(), &[]);
    // 5 % of 1000 MiB is 50 MiB; 64 MiB are requested.
    assert!(needs(114 << 20, 1000 << 20).is_ok());
    let refusal = needs((114 << 20) - 1, 1000 << 20).unwrap_err().to_string();
    assert!(
        refusal.contains(
            "the run may need 64 MiB more, but 113.99 MiB are free and 50 MiB must stay free"
        ),
        "{refusal}"
    );
    // Regression 0517: on a full file system the advice was to write at most 0 bytes. 64 MiB and 50 MiB are needed.
    assert!(
        refusal.contains("to proceed: write at most 63.99 MiB more, free 1 byte there"),
        "{refusal}"
    );
    let full = needs(0, 1000 << 20).unwrap_err().to_string();
    assert!(
        full.contains("need 64 MiB more, but 0 bytes are free and 50 MiB must stay free")
            && full.contains("to proceed: free 114 MiB there, or use another file system"),
        "{full}"
    );
    // Of 1 TiB, 1 GiB is left free, not 51 GiB.
    assert!(needs((1 << 30) + SIZE, 1 << 40).is_ok());
    assert!(needs((1 << 30) + SIZE - 1, 1 << 40).is_err());
    let sparse = FileFacts {
        allocated: Bytes::ZERO,
        location: with(SIZE, 1 << 40),
        ..own_file()
    };
    assert!(
        matches!(
            judge(&file(sparse), &writes(), &[]).unwrap_err().reason,
            Reason::NoSpace { .. }
        ),
        "holes fill up"
    );
    let full = FileFacts {
        location: with(0, 1 << 40),
        ..own_file()
    };
    assert!(
        judge(&file(full), &writes(), &[]).is_ok(),
        "overwriting needs no space"
    );
}

#[test]
fn a_missing_file_is_not_created_by_reading() {
    assert_eq!(
        judge(&new(location()), &Intent::read(span(1)), &[])
            .unwrap_err()
            .reason,
        Reason::Missing
    );
    let read_only = DeviceLocation {
        read_only: true,
        ..location()
    };
    assert_eq!(
        judge(&new(read_only), &writes(), &[]).unwrap_err().reason,
        Reason::ReadOnlyFileSystem
    );
}

#[test]
fn an_empty_range_is_reported() {
    let backwards = Span::new(Bytes::new(8), Bytes::new(4));
    for range in [span(0), backwards] {
        assert_eq!(
            judge(&block(disk()), &Intent::read(range), &[])
                .unwrap_err()
                .reason,
            Reason::EmptyRange(range)
        );
    }
}

#[test]
fn a_recheck_accepts_new_contents_but_not_new_users() {
    let permit = with_code(&block(disk())).expect("permitted");
    let written = BlockFacts {
        ends: ends(&[SignatureKind::Xfs]),
        ..disk()
    };
    assert!(permit.recheck_during_run(&block(written)).is_ok());
    assert!(
        permit
            .recheck_during_run(&block(used(Relation::Itself, mount("/m", false))))
            .is_err()
    );
    assert!(
        permit
            .recheck_during_run(&block(BlockFacts {
                read_only: true,
                ..disk()
            }))
            .is_err()
    );
    let permit = judge(&file(own_file()), &writes(), &[]).expect("permitted");
    assert!(
        permit
            .recheck_during_run(&file(FileFacts {
                mtime_ns: 0,
                ..own_file()
            }))
            .is_ok()
    );
    assert!(
        permit
            .recheck_during_run(&file(FileFacts {
                loop_devices: vec!["loop0".into()],
                ..own_file()
            }))
            .is_err()
    );
}

#[test]
fn a_description_has_identity_contents_and_code() {
    let facts = block(BlockFacts {
        ends: ends(&[SignatureKind::Luks2]),
        ..used(Relation::Itself, mount("/a\u{7}b", false))
    });
    let text = describe(&facts);
    for part in [
        "ACME Speedy",
        "serial S1",
        "64 MiB",
        "LUKS2",
        "/a\\u{7}b",
        &code(&facts).to_string(),
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}
