//! Drive files: mistakes are reported with their place, and no text makes the reader panic.

use fathom_size::{Load, Medium, Prices, built_in_drives, evaluate, read_drives};

const VALID: &str = r#"schema = 1
[[drive]]
id = "disk"
medium = "disk"
link = "sata6"
capacity_gb = 1000
rpm = 7200
seek_ms = 8.5
outer_mb_s = 200
inner_mb_s = 100
source = "data sheet"
[drive.sources]
rpm = "label"
"#;

#[test]
fn a_file_has_drives_with_figures_and_their_sources() {
    let drives = read_drives("my.toml", VALID).expect("valid");
    assert_eq!(
        (drives[0].id.as_str(), drives[0].medium),
        ("disk", Medium::Disk)
    );
    let source = |key: &str| drives[0].figure(key).expect(key).source.clone();
    assert_eq!(
        (source("rpm").as_str(), source("seek_ms").as_str()),
        ("label", "data sheet")
    );
    assert!(drives[0].figure("tbw").is_none());
    assert!(built_in_drives().len() >= 9);
}

#[test]
fn mistakes_name_file_drive_key_and_what_is_expected() {
    let with = |from: &str, to: &str| VALID.replace(from, to);
    for (text, part) in [
        (with("schema = 1", "schema = 2"), "supports schema 1"),
        (
            with("[[drive]]", "[[disk]]").replace("[drive.sources]", "[sources]"),
            "[[drive]]",
        ),
        (
            with("rpm = 7200", "rpm = -7200"),
            "drive 'disk': `rpm` must be a number from 1000 to 100000 1/min",
        ),
        (
            with("rpm = 7200", "rpm = \"fast\""),
            "`rpm` must be a number",
        ),
        (with("rpm = 7200", "rpm = nan"), "`rpm` must be a number"),
        (with("seek_ms = 8.5", ""), "missing `seek_ms`"),
        (
            with("inner_mb_s = 100", "inner_mb_s = 300"),
            "`inner_mb_s` (300) must not be above `outer_mb_s` (200)",
        ),
        (
            with("\"disk\"\nlink", "\"tape\"\nlink"),
            "`medium` must be \"disk\" or \"flash\"",
        ),
        (with("sata6", "sata9"), "`link`: unknown link 'sata9'"),
        (with("rpm = 7200", "rpms = 7200"), "unknown key `rpms`"),
        (with("source = \"data sheet\"", ""), "missing `source`"),
        (
            with("id = \"disk\"", "id = \"a disk\""),
            "`id` may contain only",
        ),
        (with("rpm = 7200", "rpm = "), "invalid TOML"),
        (with("id = \"disk\"", ""), "drive number 1: missing `id`"),
    ] {
        let error = read_drives("my.toml", &text).expect_err(part).to_string();
        assert!(
            error.starts_with("my.toml:") && error.contains(part),
            "{part}: {error}"
        );
    }
}

/// Regression 0982: a mistake in a file of drives named the file and the drive, but not the line.
#[test]
fn regression_0982_mistakes_have_their_line() {
    let with = |from: &str, to: &str| VALID.replace(from, to);
    for (text, place) in [
        (
            with("rpm = 7200", "rpm = -7200"),
            "my.toml:7:1: drive 'disk': `rpm`",
        ),
        (
            with("rpm = 7200", "rpms = 7200"),
            "my.toml:7:1: drive 'disk': unknown",
        ),
        // The table without the key begins in line 2.
        (
            with("rpm = 7200\n", ""),
            "my.toml:2:1: drive 'disk': missing `rpm`",
        ),
        (
            with("inner_mb_s = 100", "inner_mb_s = 300"),
            "my.toml:10:1: drive 'disk': `inner_mb_s` (300)",
        ),
        (
            with("schema = 1", "# my drives\nschema = 2"),
            "my.toml:2:1: `schema",
        ),
        (with("rpm = 7200", "rpm = "), "my.toml:7:7: invalid TOML: "),
        (
            format!("{VALID}[extra]\n"),
            "my.toml:14:2: unknown key `extra`",
        ),
        (
            format!("{VALID}[[drive]]\nid = \"b\"\nmedium = 3\n"),
            "my.toml:16:1: drive 'b': missing `medium`, a text",
        ),
    ] {
        let error = read_drives("my.toml", &text).expect_err(place).to_string();
        assert!(error.starts_with(place), "{place}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Bytes of valid texts replaced, removed and repeated.
#[test]
fn no_text_makes_a_reader_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let texts = [
        VALID,
        "2000 iops, 70/30, 8k random, burstiness 4",
        "hdd-7200=150USD,nvme=1600.50 EUR",
        "currency = \"USD\"\n[price]\nnvme = 600\n",
        "60000 / rpm / 2 + sqrt(seek ^ 2) * max(1, 2)",
        "raid=5->10",
        "cache=64GB of 1TB",
    ];
    for _ in 0..20_000 {
        let mut bytes = texts[random(texts.len())].as_bytes().to_vec();
        for _ in 0..=random(4) {
            let place = random(bytes.len());
            match random(4) {
                0 => bytes[place] = random(256) as u8,
                1 => drop(bytes.remove(place)),
                2 => bytes.insert(place, b"0123456789.,-=/%[]\"e \xc3"[random(22)]),
                _ => bytes.extend_from_within(..place),
            }
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = read_drives("x.toml", &text);
        let _ = text.parse::<Load>();
        let _ = Prices::read_list(&text);
        let _ = Prices::read_file("p.toml", &text);
        let _ = evaluate(&text, &|_| Some(1.0));
        let _ = fathom_size::Change::read(&text, &fathom_size::Present::default());
        let _ = fathom_size::capacity(&text);
    }
}
