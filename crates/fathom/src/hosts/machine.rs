//! What the planner reads: at the controller it is noted, at an agent it comes from the job.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use fathom_hosts::protocol::Job;
use fathom_plan::{FileReader, HostInfo};

use crate::session::Session;
use crate::this_machine::ThisMachine;

/// The functions of [`HostInfo`] that return facts of the machine of `self.session`.
macro_rules! machine_facts {
    () => {
        fn address_space_mib(&self) -> Option<u64> {
            self.session.address_space_mib()
        }

        fn memory_mib(&self) -> u64 {
            self.session.memory_mib()
        }

        fn cpus(&self) -> u32 {
            self.session.cpus()
        }

        fn host_cpus(&self) -> u32 {
            self.session.host_cpus()
        }

        fn page_size(&self) -> u64 {
            self.session.page_size()
        }

        fn is_special(&self, path: &Path) -> bool {
            self.session.is_special(path)
        }

        fn is_directory(&self, path: &Path) -> bool {
            self.session.is_directory(path)
        }

        fn files_below(&self, directory: &Path, most: usize) -> Option<Vec<PathBuf>> {
            self.session.files_below(directory, most)
        }

        fn entropy(&self) -> u64 {
            self.session.entropy()
        }
    };
}

/// This machine, with the variables of one agent; notes the files and variables that a plan needs.
pub struct Noting<'a> {
    session: &'a Session,
    /// Variables that are not those of the environment.
    own: BTreeMap<String, String>,
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    variables: RefCell<BTreeMap<String, String>>,
}

impl<'a> Noting<'a> {
    /// This machine. Files of an earlier job are not read again: standard input can be read once.
    pub fn new(
        session: &'a Session,
        own: BTreeMap<String, String>,
        earlier: Option<&Job>,
    ) -> Noting<'a> {
        let known = earlier.iter().flat_map(|job| &job.files);
        let known = known.map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        Noting {
            session,
            own,
            files: RefCell::new(known.collect()),
            variables: RefCell::default(),
        }
    }

    /// A job for agents with these arguments and what was noted.
    ///
    /// # Errors
    /// When a file is not text.
    pub fn job(self, arguments: &[String]) -> Result<Job, String> {
        let files = self.files.into_inner().into_iter();
        let files = files.map(|(name, bytes)| match String::from_utf8(bytes) {
            Ok(text) => Ok((name, text)),
            Err(_) => Err(format!(
                "{name}: it is not text in UTF-8, which --hosts needs"
            )),
        });
        Ok(Job {
            arguments: arguments.to_vec(),
            is_fio: false,
            files: files.collect::<Result<_, _>>()?,
            variables: self.variables.into_inner(),
            remove: Vec::new(),
            ready: None,
        })
    }
}

impl FileReader for Noting<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if let Some(known) = self.files.borrow().get(path) {
            return Ok(known.clone());
        }
        let bytes = FileReader::read(&ThisMachine, path)?;
        self.files
            .borrow_mut()
            .insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn open_log(&self, _: &str) -> io::Result<Box<dyn BufRead + Send>> {
        Err(no_replay())
    }
}

fn no_replay() -> io::Error {
    io::Error::other("read_iolog does not work with --hosts; replay the log on each host alone")
}

impl HostInfo for Noting<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        let value = match self.own.get(name) {
            Some(value) => Some(value.clone()),
            None => self.session.variable(name),
        };
        if let Some(value) = value.as_ref().filter(|_| !self.own.contains_key(name)) {
            self.variables
                .borrow_mut()
                .insert(name.to_owned(), value.clone());
        }
        value
    }

    machine_facts!();
}

/// An agent's machine: no file and no variable of it goes into a plan.
pub struct OfJob<'a> {
    /// The job, which has them.
    pub job: &'a Job,
    /// The machine of the agent.
    pub session: &'a Session,
}

impl FileReader for OfJob<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.job.files.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err(io::Error::other(
                "the controller did not send this file; its plan did not need it",
            )),
        }
    }

    fn open_log(&self, _: &str) -> io::Result<Box<dyn BufRead + Send>> {
        Err(no_replay())
    }
}

impl HostInfo for OfJob<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.job.variables.get(name).cloned()
    }

    machine_facts!();
}
