//! Everything by which the user has confirmed that data may be destroyed.

use crate::code::DestroyCode;
use crate::facts::{BenchmarkFile, BlockFacts, DevNo, FileFacts};
use crate::scratch::{ScratchId, ScratchList};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Codes, scratch devices and directories. Each one only replaces the question for a code:
/// conditions that no code overrides stay.
#[derive(Clone, Debug, Default)]
pub struct Confirmations {
    /// `--destroy`: codes of targets in their present state.
    pub codes: Vec<DestroyCode>,
    /// Devices confirmed for all later runs.
    pub scratch: ScratchList,
    /// `--destroy-all-in`: directories whose benchmark files may be overwritten.
    pub directories: Vec<DirectoryConfirmation>,
    /// The files that the jobs name by the pattern of their own names (`JOB.0.0`), as given.
    pub job_files: Vec<PathBuf>,
}

/// `--destroy-all-in DIR=CODE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryConfirmation {
    /// Device and inode number of the directory.
    pub inode: (DevNo, u64),
    /// The code given.
    pub code: DestroyCode,
}

impl BenchmarkFile {
    /// The code that confirms all benchmark files of the directory. It does not depend on their
    /// contents, because alternating runs of fio and fathom change them.
    #[must_use]
    pub fn code(&self) -> DestroyCode {
        let (dev, inode) = self.directory_inode;
        let hash = Sha256::new()
            .chain_update(b"fathom destroy-all-in v1\0")
            .chain_update(format!("{dev} {inode} {} ", self.user))
            .chain_update(self.directory.as_os_str().as_encoded_bytes())
            .finalize();
        DestroyCode::of_hash(&hash.into())
    }
}

impl Confirmations {
    /// Only these codes.
    #[must_use]
    pub fn of_codes(codes: &[DestroyCode]) -> Self {
        Self {
            codes: codes.to_vec(),
            ..Self::default()
        }
    }

    /// Whether the device is a scratch device that holds no known structure, or exactly what it
    /// held when it was last confirmed.
    pub(crate) fn allow_device(&self, block: &BlockFacts, code: DestroyCode) -> bool {
        let entry = ScratchId::of(block).and_then(|id| self.scratch.find(&id).cloned());
        let unstructured = block
            .ends
            .as_ref()
            .is_some_and(|ends| ends.signatures.is_empty());
        let no_partitions = block.partitions.is_empty();
        entry.is_some_and(|entry| unstructured && no_partitions || entry.code == code)
    }

    /// The benchmark file, if `--destroy-all-in` may apply to it.
    pub(crate) fn benchmark<'a>(
        &self,
        named: &Path,
        file: &'a FileFacts,
    ) -> Option<&'a BenchmarkFile> {
        let unstructured = file
            .ends
            .as_ref()
            .is_some_and(|ends| ends.signatures.is_empty());
        file.benchmark
            .as_ref()
            .filter(|_| unstructured && self.job_files.iter().any(|job| job == named))
    }

    /// Whether a directory was confirmed that permits this file.
    pub(crate) fn allow_file(&self, benchmark: &BenchmarkFile) -> bool {
        let given = DirectoryConfirmation {
            inode: benchmark.directory_inode,
            code: benchmark.code(),
        };
        self.directories.contains(&given)
    }
}
