//! Small files of the test: the marker of its directory, and the state for `--resume`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::geometry::{FORMAT, Layout, Method, RunId};

/// Name of the marker in the directory of the test's files.
pub const MARKER: &str = "fathom-durable.json";

/// The file that marks a directory as that of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// [`FORMAT`].
    pub format: String,
    /// The run.
    pub run: RunId,
}

impl Marker {
    /// The marker of a run.
    #[must_use]
    pub fn new(run: RunId) -> Marker {
        Marker {
            format: FORMAT.to_owned(),
            run,
        }
    }

    /// Reads a marker.
    ///
    /// # Errors
    /// When the text is not a marker of this version.
    pub fn read(text: &[u8]) -> Result<Marker, String> {
        let marker: Marker = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        check_format(&marker.format)?;
        Ok(marker)
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// What `durable write` does: its options, with paths that are valid in every directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOptions {
    /// [`FORMAT`].
    pub format: String,
    /// Directory of the files.
    pub path: PathBuf,
    /// Address or file of the recorder.
    pub recorder: String,
    /// File of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Fingerprint of the recorder's certificate, if it uses TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_fingerprint: Option<Fingerprint>,
    /// File with the authority that signed the recorder's certificate, in place of its fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ca: Option<PathBuf>,
    /// Methods of the cycles, in turn.
    pub methods: Vec<Method>,
    /// Layouts of each cycle.
    pub layouts: Vec<Layout>,
    /// Threads of each layout.
    pub threads: u16,
    /// Bytes of a record.
    pub record_bytes: u32,
    /// Records of a commit.
    pub records_per_commit: u16,
    /// Space for all files in bytes.
    pub size: u64,
    /// The power of the device alone is cut.
    pub device_cut: bool,
    /// The command that cuts the power, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutOptions>,
}

/// The command that cuts the power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOptions {
    /// Cycles in total.
    pub cycles: u32,
    /// Command line for /bin/sh.
    pub command: String,
    /// Longest time before it runs, in milliseconds.
    pub after_ms: u64,
}

impl WriteOptions {
    /// Reads the file of `--state`.
    ///
    /// # Errors
    /// When the text is not that of this version.
    pub fn read(text: &[u8]) -> Result<WriteOptions, String> {
        let options: WriteOptions =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        check_format(&options.format)?;
        if options.methods.is_empty() || options.layouts.is_empty() {
            return Err("it has no method or no layout".to_owned());
        }
        Ok(options)
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The method of a cycle, which begins with 1.
    #[must_use]
    pub fn method(&self, cycle: u32) -> Method {
        let index = (cycle.max(1) - 1) as usize % self.methods.len().max(1);
        self.methods.get(index).copied().unwrap_or(Method::Fsync)
    }
}

fn check_format(format: &str) -> Result<(), String> {
    if format == FORMAT {
        Ok(())
    } else {
        Err(format!(
            "format '{}' instead of '{FORMAT}'",
            format.escape_debug()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_as_they_were_written() {
        let marker = Marker::new(RunId(0x0123_4567_89ab_cdef));
        assert_eq!(Marker::read(marker.text().as_bytes()), Ok(marker.clone()));
        assert!(marker.text().contains("0123456789abcdef"));
        for wrong in [
            "",
            "{}",
            r#"{"format":"fathom-durable 9","run":"0000000000000000"}"#,
        ] {
            assert!(Marker::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let options = WriteOptions {
            format: FORMAT.to_owned(),
            path: "/mnt/disk/durable".into(),
            recorder: "192.0.2.1:7420".to_owned(),
            token_file: None,
            tls_fingerprint: Some(Fingerprint([0xa5; 32])),
            tls_ca: Some("/etc/ssl/lab.pem".into()),
            methods: vec![Method::Fua, Method::Rename],
            layouts: vec![Layout::Append],
            threads: 2,
            record_bytes: 8192,
            records_per_commit: 2,
            size: 1 << 27,
            device_cut: false,
            cut: Some(CutOptions {
                cycles: 50,
                command: "true".to_owned(),
                after_ms: 30_000,
            }),
        };
        let text = options.text();
        assert_eq!(WriteOptions::read(text.as_bytes()), Ok(options.clone()));
        let methods: Vec<Method> = (1..=3).map(|cycle| options.method(cycle)).collect();
        assert_eq!(methods, [Method::Fua, Method::Rename, Method::Fua]);
    }
}
