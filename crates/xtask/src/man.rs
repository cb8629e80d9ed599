//! The man pages, from the table of commands.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../man")
}

/// All pages: file name and text.
fn pages() -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut program = fathom_cli::program().disable_help_subcommand(true);
    program.build();
    let mut pages = BTreeMap::new();
    for command in program.get_subcommands() {
        let name = format!("fathom-{}", command.get_name());
        add(&mut pages, &name, command.clone())?;
    }
    add(&mut pages, "fathom", program)?;
    Ok(pages)
}

fn add(pages: &mut BTreeMap<String, Vec<u8>>, name: &str, command: Command) -> io::Result<()> {
    let mut page = Vec::new();
    // The date of a page would change it without a reason.
    Man::new(command)
        .title(name.to_uppercase())
        .section("1")
        .date("")
        .source(format!("fathom {}", env!("CARGO_PKG_VERSION")))
        .manual("fathom manual")
        .render(&mut page)?;
    pages.insert(format!("{name}.1"), page);
    Ok(())
}

/// Writes all pages, and removes those of commands that no longer exist.
pub(crate) fn write() -> io::Result<usize> {
    let (directory, pages) = (directory(), pages()?);
    std::fs::create_dir_all(&directory)?;
    for entry in std::fs::read_dir(&directory)? {
        let entry = entry?;
        if !pages.contains_key(&*entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    for (name, page) in &pages {
        std::fs::write(directory.join(name), page)?;
    }
    Ok(pages.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn man_pages_are_current() {
        let pages = pages().expect("pages");
        let mut stored = BTreeMap::new();
        for entry in std::fs::read_dir(directory()).expect("man/") {
            let entry = entry.expect("directory entry");
            let name = entry.file_name().into_string().expect("UTF-8");
            stored.insert(name, std::fs::read(entry.path()).expect("a page"));
        }
        let names = |pages: &BTreeMap<String, Vec<u8>>| pages.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&stored), names(&pages), "run `cargo xtask man`");
        for (name, page) in &pages {
            assert!(
                stored[name] == *page,
                "man/{name} is not current: run `cargo xtask man`"
            );
        }
    }

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages().expect("pages");
        for spec in fathom_cli::commands() {
            let page = &pages[&format!("fathom-{}.1", spec.name)];
            let text = String::from_utf8_lossy(page);
            assert!(
                // roff writes an apostrophe and a hyphen as escapes.
                text.replace("\\*(Aq", "'")
                    .replace("\\-", "-")
                    .contains(spec.about.split(':').next().expect("text")),
                "{}",
                spec.name
            );
        }
        let run = String::from_utf8_lossy(&pages["fathom-run.1"]).into_owned();
        assert!(run.contains("iodepth") && run.contains("destroy"));
    }
}
