//! The names in stored and exchanged documents, and the bytes of the log, are those of docs/reference/formats.md.

use std::collections::BTreeSet;

use fathom_durable::log::{Begin, Entry, HEADER};
use fathom_durable::{
    Acknowledgements, Certificate, Circumstances, CommitRead, CutOptions, CycleEnd, FORMAT,
    Geometry, Layout, MARKER, Marker, Media, Method, Place, RunId, Stamp, Unreadable, WriteOptions,
    check_cycle,
};
use serde_json::Value;

struct Failing;

impl Media for Failing {
    fn read(&mut self, place: &Place, _buffer: &mut [u8]) -> CommitRead {
        if place.file.contains("append") {
            CommitRead::NoFile
        } else {
            CommitRead::Failed("EIO".to_owned())
        }
    }
}

fn geometry() -> Geometry {
    Geometry {
        format: FORMAT.to_owned(),
        run: RunId(1),
        cycle: 1,
        method: Method::Fsync,
        record_bytes: 512,
        records_per_commit: 1,
        slots: 16,
        streams: Geometry::streams_of(Method::Fsync, &Layout::OF_FILES, 1),
    }
}

fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

fn names(text: &str) -> String {
    let mut found = BTreeSet::new();
    keys(&serde_json::from_str(text).expect("JSON"), &mut found);
    found.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn names_are_those_of_the_formats_page() {
    let page = include_str!("../../../../docs/reference/formats.md");
    let line = |label: &str| {
        let start = format!("* {label}: `");
        let found = page.lines().find_map(|line| line.strip_prefix(&start));
        let found = found.unwrap_or_else(|| panic!("formats.md has no line '{start}'"));
        found.trim_end_matches('`').to_owned()
    };
    let acknowledgements = Acknowledgements {
        order: vec![(0, 0), (1, 15)],
    };
    let mut cycle = check_cycle(
        &geometry(),
        &acknowledgements,
        &mut Failing,
        CycleEnd::PowerCut,
    );
    let readable = cycle.clone();
    cycle.unreadable = Some(Unreadable::Device);
    let circumstances = Circumstances {
        simulated: Some("machine.toml".to_owned()),
        ..Circumstances::default()
    };
    let certificate = |cycles| Certificate::new(&geometry(), cycles, circumstances.clone()).json();
    assert_eq!(
        names(&certificate(vec![cycle, readable])),
        line("certificate")
    );
    let begin = Begin {
        geometry: geometry(),
        boot: String::new(),
    };
    assert_eq!(
        names(&serde_json::to_string(&begin).expect("JSON")),
        line("beginning of a cycle")
    );
    assert_eq!(
        names(&Marker::new(RunId(1)).text()),
        line(&format!("`{MARKER}`"))
    );
    let options = WriteOptions {
        tls_fingerprint: None,
        tls_ca: None,
        format: FORMAT.to_owned(),
        path: "/".into(),
        recorder: String::new(),
        token_file: Some("/".into()),
        methods: Vec::new(),
        layouts: Vec::new(),
        threads: 1,
        record_bytes: 512,
        records_per_commit: 1,
        size: 1,
        device_cut: false,
        cut: Some(CutOptions {
            cycles: 1,
            command: String::new(),
            after_ms: 1,
        }),
    };
    assert_eq!(names(&options.text()), line("file of `--state`"));
}

/// The bytes of a log and of a sector do not change between versions. The checksums are those of Python's zlib.crc32.
#[test]
fn bytes_of_the_log_and_of_sectors_are_fixed() {
    assert_eq!(HEADER, b"fathom durable log 1\n");
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let entry = Entry::Acknowledged(vec![(1, 2)]).encode();
    assert_eq!(hex(&entry), "0b000000750f06b34101000200000000000000");
    let mut sector = [0; 512];
    let stamp = Stamp {
        run: 1,
        cycle: 2,
        stream: 3,
        commit: 4,
        record: 5,
        sector: 6,
    };
    stamp.write(&mut sector);
    assert_eq!(
        hex(&sector[..36]),
        "4644555241424c4501000000000000000200000003000500040000000000000006000100"
    );
}
