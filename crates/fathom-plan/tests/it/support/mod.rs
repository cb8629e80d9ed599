//! A simulated host with files, and functions to make plans on it.

use std::collections::HashMap;
use std::path::Path;

use fathom_model::Personality;
use fathom_plan::{Diagnostic, FileReader, HostInfo, Planned, parse_args, plan};

/// A host with 4 CPUs, 2000 MiB and pages of 4096 bytes.
pub struct Machine {
    pub variables: HashMap<String, String>,
    pub files: HashMap<String, String>,
    pub directories: Vec<String>,
    pub devices: Vec<String>,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            variables: HashMap::new(),
            files: HashMap::new(),
            directories: vec!["/tmp".into(), "/data".into(), "/mnt".into()],
            devices: vec!["/dev/sdb".into()],
        }
    }
}

impl Machine {
    pub fn with_file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.into(), text.into());
        self
    }
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
    pub fn plan(
        &self,
        personality: Personality,
        arguments: &[&str],
    ) -> Result<Planned, Vec<Diagnostic>> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let invocation = parse_args(&arguments, personality)?;
        plan(&invocation, self, self)
    }
}

impl HostInfo for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
    fn memory_mib(&self) -> u64 {
        2000
    }
    fn cpus(&self) -> u32 {
        4
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn is_special(&self, path: &Path) -> bool {
        self.devices.iter().any(|device| Path::new(device) == path)
    }
    fn is_directory(&self, path: &Path) -> bool {
        self.directories
            .iter()
            .any(|directory| Path::new(directory) == path)
    }
    fn entropy(&self) -> u64 {
        4
    }
}

impl FileReader for Machine {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        self.files
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| std::io::Error::other("no such file"))
    }
}

/// The plan of one job file, read as `fathom run` reads it.
pub fn plan_for_run(text: &str) -> Result<Planned, Vec<Diagnostic>> {
    Machine::default()
        .with_file("job.fio", text)
        .plan(Personality::Fathom, &["job.fio"])
}

/// The plan of one job file, read as `fathom fio` reads it.
pub fn plan_for_fio(text: &str) -> Result<Planned, Vec<Diagnostic>> {
    Machine::default()
        .with_file("job.fio", text)
        .plan(Personality::Fio, &["job.fio"])
}

/// The plan of job options below `[j]`.
pub fn job(options: &str) -> fathom_model::Job {
    let planned = plan_for_run(&format!("[j]\n{options}\n"))
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    planned.plan.jobs.into_iter().next().expect("one section")
}

/// One diagnostic per line.
pub fn shown(diagnostics: &[Diagnostic]) -> String {
    diagnostics
        .iter()
        .map(|diagnostic| format!("{diagnostic}\n"))
        .collect()
}
