//! Results and logs of other runs, as text.

use std::fs::File;
use std::io::Read;

/// The largest result or log.
const LARGEST: u64 = 256 << 20;

/// The text of a result or a log. Invalid UTF-8 is replaced, since messages may be in any encoding.
///
/// # Errors
/// When it cannot be read or is too large, with its name.
pub fn read(path: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(64 << 10);
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::IsADirectory => {
            format!("{path} is a directory; give the result files in it")
        }
        _ => format!("{path}: cannot be read: {error}"),
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!(
            "{path} is larger than 256 MiB, so it is not a fio result"
        ));
    }
    // Most are UTF-8, and need no copy.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
