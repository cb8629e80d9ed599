//! Surveys of captured devices, compared with their captures and the arithmetic of the standards.

mod pages;
mod tree;

use std::path::PathBuf;

use fathom_device::{BackingDevices, chain, concerns, device_names, survey};
use fathom_model::{
    Bytes, DeviceFacts, FileSystemFacts, FileSystemLocation, HealthState, KernelCache, LinkKind,
    Medium, TargetRecording, Transport,
};

use self::tree::Tree;

macro_rules! captured {
    ($name:literal) => {
        Tree::parse(include_str!(concat!("../../captured/", $name, ".tree")))
    };
}
pub(crate) use captured;

/// Kind, lower end, current MB/s and best MB/s of each link.
fn links(facts: &DeviceFacts) -> Vec<(LinkKind, &str, u64, Option<u64>)> {
    let mb = |bytes: u64| bytes / 1_000_000;
    let one = facts.links.iter();
    one.map(|link| {
        (
            link.kind,
            link.at.as_str(),
            mb(link.now.bytes_per_s),
            link.best.map(|best| mb(best.bytes_per_s)),
        )
    })
    .collect()
}

fn concerns_of(facts: &DeviceFacts) -> String {
    let device = fathom_model::DeviceRecording {
        before: facts.clone(),
        ..Default::default()
    };
    concerns(&TargetRecording {
        devices: vec![device],
        ..Default::default()
    })
    .join("\n")
}

#[test]
fn an_nvme_drive_behind_a_switch_has_two_links_one_of_them_degraded() {
    let tree = captured!("nvme-behind-switch");
    let facts = survey(&tree, "nvme0n1");
    assert_eq!(
        (facts.transport, facts.medium, facts.number),
        (Transport::Nvme, Medium::Flash, (259, 0))
    );
    assert_eq!(
        facts.size.get(),
        1_920_383_410_176,
        "3,750,748,848 sectors of 512 bytes"
    );
    assert_eq!(
        facts.identity.model.as_deref(),
        Some("SAMSUNG MZQL21T9HCJR-00A07")
    );
    assert_eq!(facts.identity.serial.as_deref(), Some("S64GNE0R500001"));
    assert_eq!(facts.identity.firmware.as_deref(), Some("GDC5602Q"));
    assert_eq!(facts.driver.as_deref(), Some("nvme"));
    assert_eq!(facts.numa_node, Some(1));
    // 8 GT/s x 4 lanes / 8 bits x 128/130 = 3,938 MB/s; 16 GT/s is twice that; 8 lanes of it four
    // times.
    let expected = [
        (LinkKind::Pcie, "0000:03:00.0", 3_938, Some(7_876)),
        (LinkKind::Pcie, "0000:01:00.0", 15_753, Some(15_753)),
    ];
    assert_eq!(links(&facts), expected);
    assert_eq!(
        facts.narrowest_link().map(|link| link.at.as_str()),
        Some("0000:03:00.0")
    );
    let queue = &facts.queue;
    assert_eq!(
        (queue.hardware_queues, queue.requests, queue.device_depth),
        (Some(8), Some(1023), Some(8 * 1023))
    );
    assert_eq!(queue.scheduler.as_deref(), Some("none"));
    // 127 pages of 4 KiB are more than the configured 128 KiB.
    assert_eq!(
        (queue.max_unsplit, queue.max_unsplit_contiguous),
        (Some(Bytes::new(128 << 10)), Some(Bytes::new(128 << 10)))
    );
    assert_eq!(
        (facts.cache.kernel, facts.cache.kernel_fua),
        (Some(KernelCache::WriteBack), Some(true))
    );
    assert_eq!(
        facts.cache.device_on, None,
        "sysfs does not have the device's own setting"
    );
    assert_eq!(
        (facts.health.temperature_c, facts.health.warning_c),
        (Some(38.85), Some(79.85))
    );
    assert_eq!(
        facts.health.state,
        HealthState::Unknown,
        "a temperature alone does not show good health"
    );
    assert_eq!(facts.unread, Vec::<String>::new());
    let concerns_of = concerns_of(&facts);
    assert!(
        concerns_of.contains("runs at 3938 MB/s, but both ends support 7876 MB/s"),
        "{concerns_of}"
    );
    assert!(
        concerns_of.contains("max_sectors_kb is set to 128 KiB, but the hardware accepts 2 MiB"),
        "{concerns_of}"
    );
}

#[test]
fn a_partition_is_part_of_its_disk() {
    let tree = captured!("nvme-behind-switch");
    assert_eq!(device_names(&tree), ["nvme0n1"]);
    let (devices, errors) = chain(&tree, &[(259, 1)]);
    assert_eq!((devices.len(), errors.len()), (1, 0));
    let part = devices[0].partition.as_ref().expect("a partition");
    assert_eq!(
        (part.name.as_str(), part.starts_at.get()),
        ("nvme0n1p1", 1 << 20)
    );
    assert_eq!(devices[0].before.name, "nvme0n1");
}

#[test]
fn a_shared_namespace_is_read_through_its_subsystem() {
    let tree = captured!("nvme-shared");
    assert_eq!(device_names(&tree), ["nvme1n1"], "its paths are hidden");
    let facts = survey(&tree, "nvme1n1");
    assert_eq!(
        (facts.transport, facts.identity.model.as_deref()),
        (Transport::NvmeFabrics, Some("Linux"))
    );
    assert_eq!(
        facts.queue.device_depth,
        Some(2 * 4 * 127),
        "two controllers with four queues of 127"
    );
    // 128 segments of at least a page: 512 KiB of the 1280 KiB that a request may have.
    assert_eq!(
        (facts.queue.max_unsplit, facts.queue.max_unsplit_contiguous),
        (Some(Bytes::new(512 << 10)), Some(Bytes::new(1280 << 10)))
    );
    assert!(concerns_of(&facts).contains("the network is measured too"));
}

#[test]
fn the_rotational_flag_of_a_raid_controller_is_not_trusted() {
    let tree = captured!("raid-controllers");
    let mega = survey(&tree, "sda");
    assert_eq!(
        (mega.transport, mega.medium),
        (Transport::RaidController, Medium::Unknown)
    );
    assert_eq!(mega.identity.serial.as_deref(), Some("00abcdef01234567"));
    assert_eq!(
        (
            mega.identity.vendor.as_deref(),
            mega.identity.firmware.as_deref()
        ),
        (Some("AVAGO"), Some("4.68"))
    );
    assert_eq!(
        (mega.driver.as_deref(), mega.queue.device_depth),
        (Some("megaraid_sas"), Some(256))
    );
    assert_eq!(
        links(&mega),
        [(LinkKind::Pcie, "0000:81:00.0", 7_876, Some(7_876))]
    );
    assert_eq!(
        (mega.cache.device_on, mega.cache.device_fua),
        (Some(true), Some(false))
    );
    // 70 segments of 4 KiB: 280 KiB, more than the 256 KiB of a request.
    assert_eq!(mega.queue.max_unsplit, Some(Bytes::new(256 << 10)));
    let hp = survey(&tree, "sdb");
    assert_eq!(
        (hp.transport, hp.medium),
        (Transport::RaidController, Medium::Flash),
        "a cleared flag is reliable"
    );
}

#[test]
fn a_sas_disk_has_a_link_per_port_up_to_the_host() {
    let tree = captured!("sas-expander");
    let facts = survey(&tree, "sdc");
    assert_eq!(
        (facts.transport, facts.medium, facts.rpm),
        (Transport::Sas, Medium::Disk, Some(0x2918))
    );
    // 6 and 12 Gbit/s with 8b/10b coding; four phys to the expander.
    let expected = [
        (LinkKind::Sas, "port-1:0:7", 600, Some(1_200)),
        (LinkKind::Sas, "port-1:0", 4_800, Some(4_800)),
        (LinkKind::Pcie, "0000:04:00.0", 7_876, Some(7_876)),
    ];
    assert_eq!(links(&facts), expected);
    assert_eq!(
        (facts.cache.device_on, facts.cache.device_fua),
        (Some(false), Some(true))
    );
    assert_eq!(facts.queue.scheduler.as_deref(), Some("bfq"));
    assert!(
        !concerns_of(&facts).contains("volatile"),
        "its cache is write-through"
    );
}

#[test]
fn a_volatile_cache_configured_as_safe_is_reported() {
    let facts = survey(&captured!("sata-slow-link"), "sdd");
    assert_eq!(
        (
            facts.transport,
            facts.medium,
            facts.identity.vendor.as_deref()
        ),
        (Transport::Sata, Medium::Flash, None)
    );
    assert_eq!(
        links(&facts),
        [(LinkKind::Sata, "ata3", 300, None)],
        "the drive's maximum is not in sysfs"
    );
    assert_eq!(facts.health.temperature_c, Some(31.0));
    assert!(facts.cache.flushes_withheld());
    assert!(
        concerns_of(&facts)
            .contains("sends no flush, but the device reports the cache as volatile")
    );
}

#[test]
fn a_stack_is_followed_down_to_its_disks() {
    let tree = captured!("stacks");
    let (devices, errors) = chain(&tree, &[(253, 1)]);
    assert_eq!(errors, Vec::<String>::new());
    let shape: Vec<_> = devices
        .iter()
        .map(|device| (device.before.name.as_str(), device.parent))
        .collect();
    assert_eq!(
        shape,
        [
            ("dm-1", None),
            ("dm-0", Some(0)),
            ("md127", Some(1)),
            ("sda", Some(2)),
            ("sdb", Some(2))
        ]
    );
    let kinds: Vec<_> = devices
        .iter()
        .filter_map(|device| {
            device
                .before
                .array
                .as_ref()
                .map(|array| array.kind.as_str())
        })
        .collect();
    assert_eq!(kinds, ["lvm", "crypt", "raid5"]);
    let raid = devices[2].before.array.as_ref().expect("an array");
    assert_eq!(
        (raid.members, raid.degraded, raid.state.as_deref()),
        (3, Some(1), Some("clean"))
    );
    // Three members, one of them parity: two chunks of 512 KiB are a full stripe.
    assert_eq!(
        (raid.chunk, raid.stripe),
        (Some(Bytes::new(512 << 10)), Some(Bytes::new(1 << 20)))
    );
    assert_eq!(devices[2].before.medium, Medium::Below);
    assert_eq!(
        devices[4].partition.as_ref().map(|part| part.name.as_str()),
        Some("sdb1")
    );
    assert_eq!(
        (devices[3].before.transport, devices[3].before.medium),
        (Transport::Sata, Medium::Disk)
    );
    let concerns_of = concerns_of(&devices[2].before);
    assert!(
        concerns_of.contains("1 of 3 members are missing and a recover is in progress"),
        "{concerns_of}"
    );
}

#[test]
fn multipath_shows_every_path() {
    let (devices, _) = chain(&captured!("stacks"), &[(253, 5)]);
    let names: Vec<_> = devices
        .iter()
        .map(|device| device.before.name.as_str())
        .collect();
    assert_eq!(names, ["dm-5", "sdx", "sdy"]);
    assert_eq!(
        devices[0]
            .before
            .array
            .as_ref()
            .map(|array| (array.kind.as_str(), array.members)),
        Some(("multipath", 2))
    );
    assert_eq!(
        (devices[1].before.transport, devices[1].before.medium),
        (Transport::FibreChannel, Medium::Unknown)
    );
    // 16GFC carries 1,600 MB/s; the other port reports no speed.
    assert_eq!(
        links(&devices[1].before),
        [(LinkKind::FibreChannel, "host8", 1_600, None)]
    );
    assert_eq!(links(&devices[2].before), []);
}

#[test]
fn small_kinds_are_distinguished() {
    let tree = captured!("small-kinds");
    let kind = |name: &str| {
        let facts = survey(&tree, name);
        (facts.transport, facts.medium)
    };
    assert_eq!(
        kind("vdb"),
        (Transport::Virtio, Medium::Virtual),
        "its rotational flag is 1"
    );
    assert_eq!(kind("fd0"), (Transport::Floppy, Medium::Disk));
    assert_eq!(
        kind("sde"),
        (Transport::Usb, Medium::Unknown),
        "a bridge hides the type of the disk"
    );
    assert_eq!(kind("sdf"), (Transport::Iscsi, Medium::Unknown));
    assert_eq!(kind("mmcblk0"), (Transport::Mmc, Medium::Flash));
    assert_eq!(kind("zram0"), (Transport::Zram, Medium::Memory));
    assert_eq!(kind("xvda"), (Transport::Xen, Medium::Virtual));
    assert_eq!(
        survey(&tree, "fd0").size.get(),
        1_474_560,
        "80 tracks x 2 heads x 18 sectors x 512 bytes"
    );
    assert_eq!(
        links(&survey(&tree, "sde")),
        [(LinkKind::Usb, "2-3", 500, None)]
    );
    assert_eq!(survey(&tree, "vdb").hypervisor.as_deref(), Some("QEMU"));
    assert_eq!(survey(&tree, "fd0").hypervisor, None);
    // 254 pages of 4 KiB.
    assert_eq!(
        survey(&tree, "vdb").queue.max_unsplit,
        Some(Bytes::new(254 * 4096))
    );
}

#[test]
fn a_loop_device_has_the_file_system_of_its_backing_file() {
    let mut tree = captured!("small-kinds");
    let (devices, errors) = chain(&tree, &[(7, 3)]);
    assert_eq!(
        (devices.len(), errors),
        (
            1,
            vec!["loop3: its backing file /mnt/faults/image is not visible from here".to_owned()]
        )
    );
    let file_system = FileSystemFacts {
        kind: "fuse.fault".into(),
        location: FileSystemLocation::Process,
        ..Default::default()
    };
    tree.backing_devices.push((
        PathBuf::from("/mnt/faults/image"),
        BackingDevices {
            file_system,
            devices: vec![],
        },
    ));
    let (devices, errors) = chain(&tree, &[(7, 3)]);
    let backing = devices[0].before.backing.as_ref().expect("a file");
    assert_eq!(
        (backing.offset.get(), backing.direct_io, errors.len()),
        (4096, Some(true), 0)
    );
    assert_eq!(
        backing.file_system.as_ref().map(|facts| facts.location),
        Some(FileSystemLocation::Process)
    );
}

#[test]
fn a_hostile_device_is_contained() {
    let tree = captured!("hostile");
    let facts = survey(&tree, "vdz");
    assert_eq!(
        facts.identity.serial.as_deref(),
        Some("\\u{1b}[2J\\u{202e}evil")
    );
    assert_eq!((facts.size, facts.number), (Bytes::ZERO, (0, 0)));
    assert_eq!(
        (
            facts.queue.requests,
            facts.queue.rotational,
            facts.queue.max_segment_size
        ),
        (None, None, None)
    );
    assert_eq!(
        facts.unread,
        [
            "queue/scheduler: Input/output error",
            "queue/write_cache: Permission denied"
        ]
    );
    let (devices, errors) = chain(&tree, &[(1, 1), (9, 9)]);
    assert_eq!(devices.len(), 1, "it is built on itself and listed once");
    assert_eq!(
        errors,
        [
            "vdz: its member gone no longer exists",
            "device 9:9 not found in sysfs"
        ]
    );
    let gone = survey(&tree, "not-there");
    assert_eq!(
        (gone.medium, gone.transport, gone.unread.len()),
        (Medium::Unknown, Transport::Unknown, 1)
    );
    assert_eq!(
        survey(&tree, "round").unread.len(),
        1,
        "a cycle of links does not resolve"
    );
}
