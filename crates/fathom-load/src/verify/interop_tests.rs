//! Blocks written by fio pass in fathom, and blocks written by fathom pass in fio, for each method.
//!
//! Needs `fio` on the path and uses the header format that it writes. Tested with fio 3.33 and
//! 3.42.

#![allow(clippy::print_stderr, reason = "a skipped check is reported")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fathom_model::{PatternPart, Verify, VerifyKind};

use super::corruption_tests::{stamper, verify};
use super::stamper::KINDS;
use super::*;

const BLOCKS: usize = 8;

/// A directory that is removed when the test ends.
struct TempDirectory(PathBuf);

impl TempDirectory {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("fathom-verify-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        TempDirectory(path)
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One set of verify options for both programs, with its own file.
struct Case {
    verify: Verify,
    block: usize,
    file: PathBuf,
}

impl Case {
    fn method(&self) -> &'static str {
        match self.verify.kind {
            VerifyKind::Crc32cIntel => "crc32c-intel",
            kind => super::header::method_name(super::header::method_number(kind)),
        }
    }

    fn name(&self) -> String {
        format!("{} bs={} {:?}", self.method(), self.block, self.verify)
    }

    /// Its section of a job file.
    fn section(&self, rw: &str) -> String {
        let (verify, block, size) = (&self.verify, self.block, self.block * BLOCKS);
        let mut text = format!(
            "[case]\nfilename={}\nrw={rw}\nbs={block}\nsize={size}\n",
            self.file.display()
        );
        text += &format!("verify={}\nioengine=psync\ndo_verify=0\n", self.method());
        if !verify.pattern.is_empty() {
            text += "verify_pattern=\"fathom!\"%o\n";
        }
        if verify.interval > 0 {
            text += &format!("verify_interval={}\n", verify.interval);
        }
        if verify.header_offset > 0 {
            text += &format!("verify_offset={}\n", verify.header_offset);
        }
        text
    }

    fn read(&self) -> Vec<u8> {
        fs::read(&self.file).unwrap()
    }
}

/// All cases, each written by fio.
fn written_by_fio(directory: &TempDirectory) -> Vec<Case> {
    let shapes = [
        (4096, 0, 0),
        (4211, 0, 0),
        (4096, 512, 0),
        (4096, 1024, 256),
    ];
    let kinds = KINDS
        .into_iter()
        .filter(|&kind| kind != VerifyKind::Null && fio_supports(kind));
    let cases = kinds.flat_map(|kind| {
        shapes.map(|(block, interval, header_offset)| {
            (
                Verify {
                    interval,
                    header_offset,
                    ..verify(kind)
                },
                block,
            )
        })
    });
    let file = |n: usize| directory.0.join(format!("case-{n:03}.data"));
    let case = |(n, (verify, block))| Case {
        verify,
        block,
        file: file(n),
    };
    let cases: Vec<Case> = cases.enumerate().map(case).collect();
    assert_eq!(
        refused_by_fio(directory, &cases, "write"),
        Vec::<String>::new()
    );
    cases
}

fn fio_supports(kind: VerifyKind) -> bool {
    let wanted = verify(kind);
    let case = Case {
        verify: wanted,
        block: 4096,
        file: PathBuf::from("/dev/null"),
    };
    let output = Command::new("fio")
        .args(["--parse-only", "--name=x", "--verify", case.method()])
        .output()
        .unwrap();
    if !output.status.success() {
        fathom_testkit::skip(&format!(
            "this fio does not support verify={}",
            case.method()
        ));
    }
    output.status.success()
}

/// Runs all cases in one fio and returns the names of the cases with an error. A single run,
/// because starting fio is slow.
fn refused_by_fio(directory: &TempDirectory, cases: &[Case], rw: &str) -> Vec<String> {
    let job = directory.0.join("job.fio");
    fs::write(
        &job,
        cases
            .iter()
            .map(|case| case.section(rw))
            .collect::<String>(),
    )
    .unwrap();
    let output = Command::new("fio")
        .arg("--output-format=terse")
        .arg(&job)
        .current_dir(&directory.0)
        .output()
        .unwrap();
    // The exit status is not enough: fio forgets a bad interval if a later one of the same block is
    // good.
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let is_reported = |case: &&Case| output_text.contains(&*case.file.to_string_lossy());
    let refused: Vec<String> = cases.iter().filter(is_reported).map(Case::name).collect();
    assert!(
        output.status.success() || !refused.is_empty(),
        "fio failed: {output_text}"
    );
    refused
}

fn fio_is_missing() -> bool {
    let missing = Command::new("fio").arg("--version").output().is_err();
    if missing {
        fathom_testkit::skip("fio is not installed, blocks cannot be exchanged with it");
    }
    missing
}

/// fio 3.33 never finishes its SHA-512, so that there is no checksum to compare; fio 3.42 does.
fn lacks_checksum(case: &Case, stamper: &Stamper, block: &[u8]) -> bool {
    let verdict = stamper.check(&block[..case.block], 0, Expected::default());
    let lacks = verdict.is_err_and(|mismatch| mismatch.fault == Fault::NoChecksum);
    assert!(!lacks || case.verify.kind == VerifyKind::Sha512);
    if lacks {
        fathom_testkit::skip("this fio writes no checksum with verify=sha512");
    }
    lacks
}

/// A stamper with the format that fio wrote.
fn stamper_like(case: &Case, bytes: &[u8]) -> Stamper {
    let format = HeaderFormat::of(&bytes[case.verify.header_offset as usize..]);
    stamper(&case.verify).with_format(format).unwrap()
}

#[test]
fn fio_blocks_pass_in_fathom_and_corrupted_ones_do_not() {
    if fio_is_missing() {
        return;
    }
    let directory = TempDirectory::new("theirs");
    for case in written_by_fio(&directory) {
        let mut bytes = case.read();
        let stamper = stamper_like(&case, &bytes);
        if lacks_checksum(&case, &stamper, &bytes) {
            continue;
        }
        for (number, block) in bytes.chunks(case.block).enumerate() {
            let expected = Expected {
                number: Some(number as u64),
                seed: None,
            };
            let verdict = stamper.check(block, (number * case.block) as u64, expected);
            verdict.unwrap_or_else(|mismatch| panic!("{}: {mismatch}", case.name()));
        }
        spoil(&case, &mut bytes);
        let spoilt = &bytes[3 * case.block..4 * case.block];
        let found = stamper
            .check(spoilt, (3 * case.block) as u64, Expected::default())
            .is_err();
        assert_eq!(found, stamper.checks_data(), "{}", case.name());
    }
}

/// Flips one bit in the data of block 3.
fn spoil(case: &Case, bytes: &mut [u8]) {
    bytes[3 * case.block + 2000] ^= 0x40;
}

#[test]
fn a_stamper_reads_both_formats_without_expectations() {
    let writer = stamper(&verify(VerifyKind::Sha1));
    for (written, read) in [
        (HeaderFormat::Short, HeaderFormat::Long),
        (HeaderFormat::Long, HeaderFormat::Short),
    ] {
        let mut block = vec![0; 4096];
        writer
            .clone()
            .with_format(written)
            .unwrap()
            .stamp(&mut block, 4096, 1, Duration::ZERO)
            .unwrap();
        let reader = writer.clone().with_format(read).unwrap();
        reader.check(&block, 4096, Expected::default()).unwrap();
    }
}

/// fio expects the seeds of its own generator, so these stamps use the seeds in the file that fio
/// wrote.
fn restamp(case: &Case, stamper: &Stamper, bytes: &mut [u8]) {
    for (number, block) in bytes.chunks_mut(case.block).enumerate() {
        let header = &block[case.verify.header_offset as usize..];
        let seed = u64::from_le_bytes(header[8..16].try_into().unwrap());
        let (offset, when) = (
            (number * case.block) as u64,
            Duration::from_secs(1_700_000_000),
        );
        block.fill(0);
        stamper
            .stamp_as(
                block,
                Stamp {
                    offset,
                    number: number as u64,
                    seed,
                    when,
                },
            )
            .unwrap();
    }
}

#[test]
fn fathom_blocks_pass_in_fio_and_corrupted_ones_do_not() {
    if fio_is_missing() {
        return;
    }
    let directory = TempDirectory::new("ours");
    let mut cases = written_by_fio(&directory);
    cases.retain(|case| {
        let mut bytes = case.read();
        let stamper = stamper_like(case, &bytes);
        let usable = !lacks_checksum(case, &stamper, &bytes);
        restamp(case, &stamper, &mut bytes);
        fs::write(&case.file, &bytes).unwrap();
        usable
    });
    assert_eq!(
        refused_by_fio(&directory, &cases, "read"),
        Vec::<String>::new()
    );
    for case in &cases {
        let mut bytes = case.read();
        spoil(case, &mut bytes);
        fs::write(&case.file, &bytes).unwrap();
    }
    let corrupted = cases
        .iter()
        .filter(|case| case.verify.kind != VerifyKind::Meta);
    assert_eq!(
        refused_by_fio(&directory, &cases, "read"),
        corrupted.map(Case::name).collect::<Vec<_>>()
    );
}

/// A pattern fixes the content: without headers fio's file and fathom's are identical.
#[test]
fn pattern_files_are_identical() {
    if fio_is_missing() {
        return;
    }
    let directory = TempDirectory::new("patterns");
    for case in written_by_fio(&directory)
        .iter()
        .filter(|case| case.verify.kind == VerifyKind::Pattern)
    {
        assert_eq!(case.verify.pattern[1], PatternPart::Offset);
        let theirs = case.read();
        let mut ours = theirs.clone();
        restamp(case, &stamper(&case.verify), &mut ours);
        assert!(theirs == ours, "{}", case.name());
    }
}
