//! The pictures of `docs/gallery` are those that this program draws of the same results.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_testkit::{Scratch, skip};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery")
}

/// Dates and versions differ from day to day.
fn masked(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | ':');
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
        .split_inclusive(|c: char| !is_part(c))
        .map(|part| {
            let number = part.trim_end_matches(|c| !is_part(c));
            let is_date =
                number.len() >= 10 && number.starts_with("20") && number.matches('-').count() >= 2;
            if is_date {
                part.replace(number, "DATE")
            } else {
                part.to_owned()
            }
        })
        .collect()
}

#[test]
fn dates_and_versions_do_not_count() {
    assert_eq!(
        masked("<text>drawn 2026-11-22 by fathom</text>"),
        masked("<text>drawn 2027-01-02 by fathom</text>")
    );
    assert_ne!(masked("translate(20.5 30)"), masked("translate(20.6 30)"));
}

#[test]
fn the_gallery_is_what_this_program_draws() {
    let Some(results) = std::env::var_os("FATHOM_RESULTS").filter(|name| !name.is_empty()) else {
        skip("FATHOM_RESULTS names no directory with results of fio");
        return;
    };
    let results = PathBuf::from(results).join("fio-results");
    let scratch = Scratch::new().expect("a directory");
    let list = std::fs::read_to_string(folder().join("gallery.txt")).expect("the list");
    let (mut differing, mut compared, mut size) = (Vec::new(), 0, 0);
    for entry in list.trim().split("\n\n") {
        let mut lines = entry.lines();
        let (Some(file), Some(command)) = (lines.next(), lines.next()) else {
            panic!("no file and command: {entry}");
        };
        let drawn = scratch.path().join(file);
        let ran = Command::new(common::FATHOM)
            .args(command.split(' ').skip(1))
            .arg("--store=none")
            .arg("-o")
            .arg(&drawn)
            .current_dir(&results)
            .output()
            .expect("fathom runs");
        let message = String::from_utf8_lossy(&ran.stderr);
        if message.contains("no chart script") {
            skip("this build has no chart script");
            return;
        }
        assert!(ran.status.success(), "{command}: {message}");
        let drawn = std::fs::read_to_string(&drawn).expect("the file");
        let kept = std::fs::read_to_string(folder().join(file)).unwrap_or_default();
        size += kept.len();
        if masked(&drawn) != masked(&kept) {
            differing.push(file);
        }
        compared += 1;
    }
    assert!(
        differing.is_empty(),
        "these differ; `cargo xtask gallery` writes them, then look at them: {differing:?}"
    );
    assert!(
        compared >= 23 && size < 3_000_000,
        "{compared} files, {size} bytes"
    );
}
