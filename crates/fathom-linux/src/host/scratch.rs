//! An unnamed temporary file for data that a long run cannot keep in memory.

use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fathom_load::Scratch;

/// hier(7): the first is on a disk; the second may be in memory, which is still better than none.
const DEFAULT_DIRECTORIES: [&str; 2] = ["/var/tmp", "/tmp"];

/// A file in `directory`, or in one of the default directories.
pub(super) fn file(directory: Option<&Path>) -> Result<Box<dyn Scratch>> {
    let file = match directory {
        Some(directory) => in_directory(directory),
        None => in_directory(Path::new(DEFAULT_DIRECTORIES[0]))
            .or_else(|_| in_directory(Path::new(DEFAULT_DIRECTORIES[1]))),
    };
    Ok(Box::new(file?))
}

/// open(2), O_TMPFILE; if the file system does not support it, a file that is unlinked at once.
fn in_directory(directory: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let unnamed = options
        .clone()
        .custom_flags(libc::O_TMPFILE)
        .open(directory);
    unnamed
        .or_else(|_| {
            let name = directory.join(format!(".fathom-{}", std::process::id()));
            let file = options.create_new(true).open(&name)?;
            std::fs::remove_file(&name)?;
            Ok(file)
        })
        .map_err(|error: Error| {
            Error::new(error.kind(), format!("{}: {error}", directory.display()))
        })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn data_is_read_back_and_no_name_remains() {
        let directory =
            std::env::temp_dir().join(format!("fathom-scratch-test-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("new");
        let mut scratch = file(Some(&directory)).expect("a directory");
        scratch.write_all(b"intervals").expect("enough space");
        scratch.rewind().expect("a file");
        let mut back = String::new();
        scratch.read_to_string(&mut back).expect("just written");
        assert_eq!(
            (
                back.as_str(),
                std::fs::read_dir(&directory).expect("there").count()
            ),
            ("intervals", 0)
        );
        std::fs::remove_dir(&directory).expect("empty");
        let missing = file(Some(&directory)).err().expect("gone").to_string();
        assert!(
            missing.contains(&directory.display().to_string()),
            "{missing}"
        );
        assert!(file(None).is_ok());
    }
}
