//! Devices on terminals of any width.

use std::path::PathBuf;

use fathom_model::{
    Bytes, DeviceFacts, DeviceRecording, DeviceSafety, HealthState, Identity, Link, LinkKind,
    LinkSpeed, Medium, SpecLine, SpecReport, TargetOverview, TargetRecording, Transport,
    WritePermission,
};
use fathom_report::{Style, device_cards, device_document, device_table, spec_document, spec_text};

fn card(name: &str, model: &str) -> TargetOverview {
    let speed = LinkSpeed {
        generation: Some(3),
        lanes: 4,
        megatransfers: 8_000,
        bytes_per_s: 3_938_461_536,
    };
    let mut before = DeviceFacts {
        name: name.into(),
        size: Bytes::new(1_000_204_886_016),
        identity: Identity {
            model: Some(model.into()),
            ..Identity::default()
        },
        medium: Medium::Flash,
        transport: Transport::Nvme,
        links: vec![Link {
            kind: LinkKind::Pcie,
            at: "0000:03:00.0".into(),
            now: speed,
            best: None,
        }],
        ..DeviceFacts::default()
    };
    before.health.temperature_c = Some(41.2);
    let device = DeviceRecording {
        before,
        ..DeviceRecording::default()
    };
    let standing = DeviceSafety {
        mounted_at: vec!["/srv".into()],
        write: WritePermission::Refused("it is mounted".into()),
        ..DeviceSafety::default()
    };
    TargetOverview {
        target: TargetRecording {
            path: PathBuf::from(format!("/dev/{name}")),
            devices: vec![device],
            ..TargetRecording::default()
        },
        headline: format!("/dev/{name}: block device {name}, {model}"),
        safety: standing,
        concerns: vec![format!(
            "{name}: its write cache is volatile: a power failure can lose writes that were not flushed"
        )],
        ..TargetOverview::default()
    }
}

fn cards() -> Vec<TargetOverview> {
    vec![
        card("nvme0n1", "Samsung SSD 970 EVO Plus 1TB"),
        card(
            "nvme1n1",
            "A\u{1b}[2Jmodel that is far too long to be shown in full in any table",
        ),
        TargetOverview::default(),
    ]
}

fn style(width: usize) -> Style {
    Style {
        width,
        ..Style::default()
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_none_drives_it() {
    for width in [20, 30, 43, 44, 60, 80, 120, 200] {
        for text in [
            device_table(&cards(), &style(width)),
            device_cards(&cards(), &style(width)),
        ] {
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
            assert!(
                !text.contains('\u{1b}') && text.contains("nvme0n1"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_table_names_omitted_columns() {
    let wide = device_table(&cards(), &style(160));
    for part in [
        "NAME",
        "931.51 GiB",
        "flash",
        "NVMe, PCIe",
        "3938",
        "41 C",
        "Samsung SSD 970 EVO Plus 1TB",
        "/srv",
        "never",
    ] {
        assert!(wide.contains(part), "{part} in\n{wide}");
    }
    assert!(!wide.contains("columns omitted"), "{wide}");
    let narrow = device_table(&cards(), &style(60));
    assert!(
        narrow.contains("(columns omitted: TEMP") && narrow.contains("/srv"),
        "{narrow}"
    );
}

#[test]
fn unknown_health_is_never_reported_as_good() {
    let text = device_cards(&cards()[..1], &style(80));
    assert!(text.contains("health      unknown"), "{text}");
    assert!(
        text.contains("PCIe 3.0 x4, 3,938 MB/s after line coding, at 0000:03:00.0"),
        "{text}"
    );
    let mut known = card("a", "b");
    known.target.devices[0].before.health.state =
        HealthState::Warns(vec!["spare blocks are below the threshold".into()]);
    assert!(
        device_cards(&[known], &style(80))
            .contains("warning: spare blocks are below the threshold")
    );
}

#[test]
fn documents_are_valid_json_with_null_for_unknown_values() {
    let mut bytes = Vec::new();
    device_document(&cards(), &mut bytes).expect("memory takes everything");
    let document: serde_json::Value = serde_json::from_slice(&bytes).expect("valid");
    let device = &document["targets"][0]["devices"][0];
    assert_eq!(
        (
            device["links"][0]["current"]["usable_bytes_per_s"].as_u64(),
            device["serial"].is_null()
        ),
        (Some(3_938_461_536), true)
    );
    assert_eq!(
        (
            document["targets"][0]["safety"]["reason"].as_str(),
            device["health"]["state"].as_str()
        ),
        (Some("it is mounted"), Some("unknown"))
    );
}

#[test]
fn a_sheet_is_shown_with_its_reasons() {
    let line = SpecLine {
        figure: "random read, 600000 IOPS".into(),
        conditions: "4 KiB, depth 32, 4 threads".into(),
        promised: 600_000.0,
        measured: Some(300_000.0),
        measured_text: Some("300000 IOPS".into()),
        ratio: Some(0.5),
        tolerance: 0.1,
        judgement: "below",
        reasons: vec!["only 16.0 of 128 I/Os were in flight".into()],
        note: None,
    };
    let report = SpecReport {
        target: "/dev/x".into(),
        sheet: "own".into(),
        lines: vec![line],
        ..SpecReport::default()
    };
    for width in [24, 80] {
        let text = spec_text(&report, &style(width));
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
        assert!(
            text.contains("BELOW")
                && text
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .contains("measured 300000 IOPS, 50 % of it"),
            "{text}"
        );
    }
    let mut bytes = Vec::new();
    spec_document(&report, &mut bytes).expect("memory takes everything");
    let document: serde_json::Value = serde_json::from_slice(&bytes).expect("valid");
    assert_eq!(document["figures"][0]["ratio"], 0.5);
}
