//! A file without a name for what a long run must not keep in memory.

use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fathom_load::Scratch;

/// hier(7): the first is on a disk; the second, where it is memory, is still better than none.
const USUAL: [&str; 2] = ["/var/tmp", "/tmp"];

/// A file under `folder`, or under the usual ones.
pub(super) fn file(folder: Option<&Path>) -> Result<Box<dyn Scratch>> {
    let file = match folder {
        Some(folder) => under(folder),
        None => under(Path::new(USUAL[0])).or_else(|_| under(Path::new(USUAL[1]))),
    };
    Ok(Box::new(file?))
}

/// open(2), O_TMPFILE; where the file system does not know it, a file that loses its name at once.
fn under(folder: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let nameless = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
    nameless
        .or_else(|_| {
            let name = folder.join(format!(".fathom-{}", std::process::id()));
            let file = options.create_new(true).open(&name)?;
            std::fs::remove_file(&name)?;
            Ok(file)
        })
        .map_err(|error: Error| Error::new(error.kind(), format!("{}: {error}", folder.display())))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn what_is_written_is_read_and_no_name_is_left() {
        let folder =
            std::env::temp_dir().join(format!("fathom-scratch-test-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("new");
        let mut scratch = file(Some(&folder)).expect("a folder of ours");
        scratch.write_all(b"intervals").expect("room");
        scratch.rewind().expect("a file");
        let mut back = String::new();
        scratch.read_to_string(&mut back).expect("just written");
        assert_eq!(
            (
                back.as_str(),
                std::fs::read_dir(&folder).expect("there").count()
            ),
            ("intervals", 0)
        );
        std::fs::remove_dir(&folder).expect("empty");
        let missing = file(Some(&folder)).err().expect("gone").to_string();
        assert!(missing.contains(&folder.display().to_string()), "{missing}");
        assert!(file(None).is_ok());
    }
}
