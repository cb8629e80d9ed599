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

#[cfg(test)]
mod tests {
    use fathom_cli::MachineOptions;
    use fathom_model::Job;
    use fathom_testkit::Scratch;

    use super::*;

    /// After a run has written a device, the code of its new content is accepted; that of another device at the same path is not.
    #[test]
    fn a_code_is_renewed_for_the_same_device_only() {
        let directory = Scratch::new().expect("a directory");
        let machine = |serial: &str, holds_data: bool| {
            let file = directory.join("machine.toml");
            let text = format!(
                "[[device]]\npath = \"/dev/sda\"\nmodel = \"servers(count=1, service=1ms, capacity=8g)\"\n\
                 serial = \"{serial}\"\nholds_data = {holds_data}\n"
            );
            std::fs::write(&file, text).expect("a file");
            let options = MachineOptions {
                machine: Some(file.display().to_string()),
                ..MachineOptions::default()
            };
            Session::open(&options, None).expect("a machine")
        };
        let path = PathBuf::from("/dev/sda");
        let before = machine("S1", false);
        let (_, code) = identify(&before, &path).expect("a device");
        let mut job = Job::default();
        job.files.paths = vec![path.clone()];
        let plan = Plan {
            jobs: vec![job],
            ..Plan::default()
        };
        for (serial, is_same) in [("S1", true), ("S2", false)] {
            let mut codes = Codes::new(vec![code.to_string()]);
            codes.note(&before, &plan);
            let written = machine(serial, true);
            let (_, now) = identify(&written, &path).expect("a device");
            assert_ne!(now, code);
            codes.renew(&written);
            assert_eq!(codes.all().contains(&now.to_string()), is_same, "{serial}");
        }
    }
}
