//! `docs/reference/commands.md`: the help of every command, from the table of commands.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use fathom_cli::CommandGroup;

/// Columns of the help texts.
const WIDTH: usize = 96;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md")
}

fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nGenerated from the table of commands (`cargo xtask docs`). Every job option of fio is an option of `fathom run` and \
         `fathom fio` too: see [fio options](../fio-compatibility.md).\n",
    );
    for group in CommandGroup::ALL {
        let _ = write!(page, "\n## {}\n", group.title());
        for spec in fathom_cli::commands()
            .iter()
            .filter(|spec| spec.group == group)
        {
            let help = help(spec.name);
            let _ = write!(
                page,
                "\n### fathom {}\n\n```text\n{}\n```\n",
                spec.name,
                help.trim_end()
            );
        }
    }
    page
}

fn help(name: &str) -> String {
    let text = fathom_cli::command(name)
        .term_width(WIDTH)
        .render_long_help()
        .to_string();
    // Spaces at the end of lines are noise in a diff.
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Writes the page.
pub(crate) fn write() -> io::Result<usize> {
    std::fs::write(path(), page())?;
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_reference_is_current() {
        let stored = std::fs::read_to_string(path()).expect("docs/reference/commands.md");
        assert!(
            stored == page(),
            "docs/reference/commands.md is not current: run `cargo xtask docs`"
        );
    }
}
