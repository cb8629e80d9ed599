//! The devices' own pages, built from the tables of their standards.

use fathom_device::{AtaPages, NvmePages, Pages, ScsiPages, apply_device_pages, survey};
use fathom_model::{Bytes, DeviceFacts, HealthState, LinkKind, Medium};

use crate::survey::captured;
use crate::survey::tree::Tree;

fn page(size: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut page = vec![0; size];
    for (at, bytes) in parts {
        page[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    page
}

fn with_pages(mut facts: DeviceFacts, pages: Pages) -> DeviceFacts {
    apply_device_pages(&mut facts, &pages);
    facts
}

fn nvme() -> NvmePages {
    let controller = page(
        4096,
        &[
            (4, b"S64GNE0R500001      "),
            (24, b"SAMSUNG MZQL21T9HCJR-00A07              "),
            (64, b"GDC5602Q"),
            (266, &343_u16.to_le_bytes()),
            (268, &358_u16.to_le_bytes()),
            (525, &[0x07]),
        ],
    );
    let smart = page(
        512,
        &[
            (1, &315_u16.to_le_bytes()),
            (3, &[100, 10, 4]),
            (32, &2_000_000_u128.to_le_bytes()),
            (48, &1_000_000_u128.to_le_bytes()),
            (128, &8_760_u128.to_le_bytes()),
            (144, &12_u128.to_le_bytes()),
            (160, &3_u128.to_le_bytes()),
            (192, &2_u32.to_le_bytes()),
            (196, &1_u32.to_le_bytes()),
            (216, &5_u32.to_le_bytes()),
            (224, &74_u32.to_le_bytes()),
        ],
    );
    NvmePages {
        controller,
        smart,
        cache: Some(1),
    }
}

#[test]
fn nvme_pages_are_parsed_by_their_tables() {
    let tree = captured!("nvme-behind-switch");
    let facts = with_pages(
        survey(&tree, "nvme0n1"),
        Pages {
            nvme: Some(nvme()),
            ..Pages::default()
        },
    );
    let health = &facts.health;
    assert_eq!(
        (health.temperature_c, health.warning_c, health.critical_c),
        (Some(42.0), Some(70.0), Some(85.0))
    );
    assert_eq!(
        (
            health.spare_percent,
            health.used_percent,
            health.media_errors
        ),
        (Some(100), Some(4), Some(3))
    );
    assert_eq!(
        (health.power_on_hours, health.unsafe_shutdowns),
        (Some(8_760), Some(12))
    );
    // A data unit is a thousand times 512 bytes.
    assert_eq!(
        (health.written, health.read),
        (
            Some(Bytes::new(512_000_000_000)),
            Some(Bytes::new(1_024_000_000_000))
        )
    );
    // Two minutes and one minute above the limits, 74 s of light throttling.
    assert_eq!(
        (health.throttled_s, health.throttle_count),
        (Some(3 * 60 + 74), Some(5))
    );
    assert_eq!(
        (health.state.clone(), health.source),
        (HealthState::Good, Some("NVMe SMART log"))
    );
    assert_eq!(
        (
            facts.cache.device_has,
            facts.cache.device_on,
            facts.cache.device_fua
        ),
        (Some(true), Some(true), Some(true))
    );
    let mut off = nvme();
    off.cache = Some(0);
    off.smart[0] = 0b101;
    off.smart[5] = 104;
    let facts = with_pages(
        survey(&tree, "nvme0n1"),
        Pages {
            nvme: Some(off),
            ..Pages::default()
        },
    );
    assert_eq!(
        (facts.cache.device_has, facts.cache.device_on),
        (Some(true), Some(false))
    );
    let HealthState::Warns(warnings) = facts.health.state else {
        panic!("two bits are set")
    };
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[2].contains("104 %"));
}

#[test]
fn missing_nvme_pages_stay_unknown() {
    let tree = captured!("nvme-behind-switch");
    let pages = Pages {
        nvme: Some(NvmePages::default()),
        unread: vec!["NVMe SMART log: Permission denied\u{1b}".into()],
        ..Pages::default()
    };
    let facts = with_pages(survey(&tree, "nvme0n1"), pages);
    assert_eq!(
        (facts.health.state, facts.cache.device_on),
        (HealthState::Unknown, None)
    );
    assert_eq!(
        facts.health.temperature_c,
        Some(38.85),
        "the sensor's value stays"
    );
    assert_eq!(
        facts.identity.model.as_deref(),
        Some("SAMSUNG MZQL21T9HCJR-00A07"),
        "the value from sysfs stays"
    );
    assert_eq!(facts.unread, ["NVMe SMART log: Permission denied\\u{1b}"]);
}

/// ATA text: two characters per word, the first in the upper byte.
fn swapped(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .flat_map(|pair| [pair[1], pair[0]])
        .collect()
}

fn ata(warnings: &[(usize, u16)]) -> Vec<u8> {
    let mut identify = page(
        512,
        &[
            (20, &swapped("S45PNA0M500001      ")),
            (46, &swapped("HXT7404Q")),
            (54, &swapped("SAMSUNG MZ7LH480HAHQ-00005              ")),
        ],
    );
    for (number, word) in warnings {
        identify[2 * number..2 * number + 2].copy_from_slice(&word.to_le_bytes());
    }
    identify
}

#[test]
fn ata_pages_are_parsed_by_their_words() {
    let cached = (1 << 5, 1 << 14, 1 << 14 | 1 << 6);
    let identify = ata(&[
        (76, 0b1110),
        (82, cached.0),
        (83, cached.1),
        (84, cached.2),
        (85, 1 << 5),
        (217, 1),
    ]);
    let attribute = |number: u8, raw: [u8; 6]| [&[number, 0, 0, 100, 100], &raw[..], &[0]].concat();
    let attributes = [
        attribute(5, [7, 0, 0, 0, 0, 0]),
        attribute(9, [0x10, 0x27, 0, 0, 9, 0]),
        attribute(194, [33, 0, 20, 0, 45, 0]),
        attribute(197, [1, 1, 0, 0, 0, 0]),
    ];
    let smart = page(512, &[(2, &attributes.concat())]);
    let pages = Pages {
        ata: Some(AtaPages {
            identify,
            smart,
            failing: Some(false),
        }),
        ..Pages::default()
    };
    let facts = with_pages(survey(&captured!("sata-slow-link"), "sdd"), pages);
    assert_eq!(
        facts.identity.model.as_deref(),
        Some("SAMSUNG MZ7LH480HAHQ-00005"),
        "sysfs truncates it at 16 characters"
    );
    assert_eq!(
        (
            facts.identity.serial.as_deref(),
            facts.identity.firmware.as_deref()
        ),
        (Some("S45PNA0M500001"), Some("HXT7404Q"))
    );
    assert_eq!(
        (
            facts.cache.device_has,
            facts.cache.device_on,
            facts.cache.device_fua
        ),
        (Some(true), Some(true), Some(true))
    );
    let link = &facts.links[0];
    assert_eq!(
        (link.kind, link.best.map(|best| best.bytes_per_s)),
        (LinkKind::Sata, Some(600_000_000))
    );
    assert!(link.is_degraded());
    let health = &facts.health;
    assert_eq!(
        (health.reallocated, health.pending, health.power_on_hours),
        (Some(7), Some(257), Some(10_000))
    );
    assert_eq!(
        (health.temperature_c, health.state.clone()),
        (Some(33.0), HealthState::Good)
    );
}

#[test]
fn a_disk_that_predicts_its_failure_is_not_good() {
    let identify = ata(&[(76, 0), (82, 0), (83, 1 << 14), (85, 0), (217, 7200)]);
    let pages = Pages {
        ata: Some(AtaPages {
            identify,
            failing: Some(true),
            ..AtaPages::default()
        }),
        ..Pages::default()
    };
    let facts = with_pages(survey(&captured!("sata-slow-link"), "sdd"), pages);
    assert_eq!((facts.medium, facts.rpm), (Medium::Disk, Some(7200)));
    assert_eq!(
        (facts.cache.device_has, facts.cache.device_on),
        (Some(false), Some(false))
    );
    assert!(matches!(facts.health.state, HealthState::Warns(_)));
}

#[test]
fn scsi_pages_are_parsed_by_their_tables() {
    let pages = ScsiPages {
        // Header with DPOFUA, one block descriptor, caching page with WCE.
        caching: [&[31, 0, 0x10, 8], &[0; 8][..], &[0x88, 18, 0x04], &[0; 17]].concat(),
        temperature: vec![0x0D, 0, 0, 12, 0, 0, 3, 2, 0, 39, 0, 1, 3, 2, 0, 65],
        exceptions: vec![0x2F, 0, 0, 8, 0, 0, 3, 4, 0x5D, 0, 39, 0],
        solid_state: vec![0x11, 0, 0, 8, 0, 1, 3, 4, 0, 0, 0, 17],
    };
    let facts = with_pages(
        survey(&captured!("sas-expander"), "sdc"),
        Pages {
            scsi: Some(pages),
            ..Pages::default()
        },
    );
    assert_eq!(
        (facts.cache.device_on, facts.cache.device_fua),
        (Some(true), Some(true))
    );
    assert!(facts.cache.flushes_withheld(), "sysfs says write through");
    assert_eq!(
        (
            facts.health.temperature_c,
            facts.health.critical_c,
            facts.health.used_percent
        ),
        (Some(39.0), Some(65.0), Some(17))
    );
    assert!(matches!(facts.health.state, HealthState::Warns(_)));
}

/// Whatever bytes a device sends, parsing does not panic and the texts cannot control a terminal.
#[test]
fn any_bytes_are_contained() {
    let tree: Tree = captured!("nvme-behind-switch");
    let plain = survey(&tree, "nvme0n1");
    for seed in 0..400_u32 {
        let noise = |length: usize| -> Vec<u8> {
            let mut state = seed.wrapping_mul(2_654_435_761) ^ length as u32;
            let length = if seed % 2 == 0 {
                length
            } else {
                length * (seed as usize % 97) / 97
            };
            (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect()
        };
        let pages = Pages {
            nvme: Some(NvmePages {
                controller: noise(4096),
                smart: noise(512),
                cache: Some(seed),
            }),
            ata: Some(AtaPages {
                identify: noise(512),
                smart: noise(512),
                failing: None,
            }),
            scsi: Some(ScsiPages {
                caching: noise(64),
                temperature: noise(40),
                exceptions: noise(41),
                solid_state: noise(42),
            }),
            unread: vec![],
        };
        let facts = with_pages(plain.clone(), pages);
        let identity = [
            &facts.identity.model,
            &facts.identity.serial,
            &facts.identity.firmware,
        ];
        assert!(
            identity
                .into_iter()
                .flatten()
                .all(|text| !text.chars().any(char::is_control)),
            "seed {seed}"
        );
    }
}
