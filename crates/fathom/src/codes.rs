//! Codes that allow writing, over several measurements of one process.
//!
//! A code belongs to a device and its content, so the first measurement that writes makes it invalid. Data that fathom wrote
//! may be overwritten: the new code of the same device is accepted after each measurement.

use std::path::{Path, PathBuf};

use fathom_device::{DestroyCode, Fingerprint, Identity};
use fathom_model::Plan;

use crate::machine::Contents;
use crate::session::Session;

/// Codes, and the devices that they allow fathom to write.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    all: Vec<String>,
    written: Vec<(PathBuf, Identity)>,
}

impl Codes {
    /// The codes of the command line.
    pub fn new(all: Vec<String>) -> Codes {
        Codes {
            all,
            written: Vec::new(),
        }
    }

    /// All valid codes.
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// Records which devices of `plan` a code allows to write, before they are written.
    pub fn note(&mut self, session: &Session, plan: &Plan) {
        self.written.clear();
        if self.all.is_empty() {
            return;
        }
        let mut paths: Vec<&PathBuf> = plan.jobs.iter().flat_map(|job| &job.files.paths).collect();
        paths.sort_unstable();
        paths.dedup();
        let codes: Vec<DestroyCode> = self
            .all
            .iter()
            .filter_map(|code| code.parse().ok())
            .collect();
        let allowed = paths
            .into_iter()
            .filter_map(|path| Some((path.clone(), identify(session, path)?)));
        self.written = allowed
            .filter(|(_, (_, code))| codes.contains(code))
            .map(|(path, (identity, _))| (path, identity))
            .collect();
    }

    /// Adds the current codes of the recorded devices. Another device at the same path gets none.
    pub fn renew(&mut self, session: &Session) {
        for (path, identity) in std::mem::take(&mut self.written) {
            let same = identify(session, &path).filter(|(now, _)| *now == identity);
            if let Some(code) = same
                .map(|(_, code)| code.to_string())
                .filter(|code| !self.all.contains(code))
            {
                self.all.push(code);
            }
        }
    }
}

/// The identity of a block device, and its code.
fn identify(session: &Session, path: &Path) -> Option<(Identity, DestroyCode)> {
    let examined = session.examine(path, Contents::Samples).ok()?;
    Some((
        Identity::of(examined.facts())?,
        Fingerprint::of(examined.facts())?.code(),
    ))
}
