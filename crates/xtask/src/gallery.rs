//! `docs/gallery`: pictures and reports of real results, from the list in `gallery.txt`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One entry of the list: a file, the command that writes it, and what a reader should see.
struct Entry<'a> {
    file: &'a str,
    command: &'a str,
    statement: &'a str,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery")
}

fn other(message: String) -> io::Error {
    io::Error::other(message)
}

/// Entries have three lines each and are separated by an empty one.
fn entries(list: &str) -> io::Result<Vec<Entry<'_>>> {
    list.trim()
        .split("\n\n")
        .map(|entry| match entry.lines().collect::<Vec<_>>().as_slice() {
            [file, command, statement] => Ok(Entry {
                file,
                command,
                statement,
            }),
            _ => Err(other(format!(
                "gallery.txt: expected file, command and statement, found: {entry}"
            ))),
        })
        .collect()
}

/// The directory of the results.
fn results() -> io::Result<PathBuf> {
    std::env::var_os("FATHOM_RESULTS")
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(name).join("fio-results"))
        .filter(|results| results.is_dir())
        .ok_or_else(|| {
            other("set FATHOM_RESULTS to the directory that contains fio-results".to_owned())
        })
}

/// The program: the one that `FATHOM` names, or else the one that cargo builds.
fn program() -> io::Result<PathBuf> {
    if let Some(name) = std::env::var_os("FATHOM").filter(|name| !name.is_empty()) {
        return Ok(name.into());
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--workspace", "--bin", "fathom"])
        .current_dir(&root)
        .status()?;
    if !status.success() {
        return Err(other("cargo build failed".to_owned()));
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/fathom"))
}

fn draw(program: &Path, results: &Path, entry: &Entry) -> io::Result<()> {
    let made = Command::new(program)
        .args(entry.command.split(' ').skip(1))
        .arg("--store=none")
        .arg("-o")
        .arg(folder().canonicalize()?.join(entry.file))
        .current_dir(results)
        .output()?;
    if made.status.success() {
        Ok(())
    } else {
        let message = String::from_utf8_lossy(&made.stderr);
        Err(other(format!("{}: {}", entry.command, message.trim())))
    }
}

fn page(entries: &[Entry]) -> String {
    let mut page = String::from(
        "# Gallery\n\n\
         Charts and reports of real results of fio: a hard disk, a RAID of hard disks, a floppy disk, an older SSD and an enterprise \
         SATA SSD, published by the author of fio-plot under the BSD 3-Clause licence. In several sets the host, not the \
         device, was the limit. `cargo xtask gallery` makes this page and its files from `gallery.txt`; \
         `FATHOM_RESULTS` names the directory with the results. With `-o report.html` the reports are interactive pages.\n",
    );
    for entry in entries {
        let Entry {
            file,
            command,
            statement,
        } = entry;
        let shown = match file.strip_suffix(".svg") {
            Some(name) => format!("![{}]({file})", name.replace('-', " ")),
            None => format!("[{file}]({file})"),
        };
        let _ = write!(
            page,
            "\n## {statement}\n\n{shown}\n\n```console\n$ {command} -o {file}\n```\n"
        );
    }
    page
}

/// Writes all pictures and the page.
pub(crate) fn write() -> io::Result<usize> {
    let list = std::fs::read_to_string(folder().join("gallery.txt"))?;
    let entries = entries(&list)?;
    let (program, results) = (program()?, results()?);
    for entry in &entries {
        draw(&program, &results, entry)?;
    }
    std::fs::write(folder().join("README.md"), page(&entries))?;
    Ok(entries.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_gallery_is_up_to_date() {
        let list = std::fs::read_to_string(folder().join("gallery.txt")).expect("the list");
        let entries = entries(&list).expect("entries");
        let written = std::fs::read_to_string(folder().join("README.md")).expect("the page");
        assert!(
            written == page(&entries),
            "docs/gallery/README.md is outdated: cargo xtask gallery"
        );
        for entry in &entries {
            assert!(folder().join(entry.file).exists(), "{}", entry.file);
        }
    }
}
