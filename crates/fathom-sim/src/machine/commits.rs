//! Commits on a simulated machine: writes that must survive a power cut.

use std::path::Path;

use fathom_load::{
    Completion, Engine, EngineError, EngineRequest, EngineUser, Op, OpenFile, Request, Wait,
};
use fathom_model::{EngineKind, EngineSettings, EngineSpec, Fadvise, Histogram, Nanos, SyncMode};

use crate::load::SimHost;

const EIO: i32 = 5;

/// A measurement of commits to the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimCommits {
    /// Writes of one commit.
    pub writes: u32,
    /// Bytes of one write.
    pub size: u32,
    /// Clients that commit at the same time: all that wait are written and synced together.
    pub clients: u32,
    /// How long it takes.
    pub time: Nanos,
    /// The writes are durable when they complete, in place of a flush after them.
    pub durable_writes: bool,
}

/// The result of a measurement of commits.
#[derive(Clone, Debug)]
pub struct SimCommitResult {
    /// Time of each commit.
    pub latency: Histogram,
    /// How often the device was asked to make them durable.
    pub syncs: u64,
    /// The measured time.
    pub elapsed: Nanos,
}

impl SimCommits {
    /// Measures commits until the time is up or `is_over` returns true.
    ///
    /// # Errors
    /// If the file has no place, or the device fails an I/O.
    pub fn run(
        &self,
        host: &SimHost,
        file: &Path,
        is_over: &dyn Fn() -> bool,
    ) -> Result<SimCommitResult, EngineError> {
        let together = self.size.saturating_mul(self.clients.max(1));
        let sync = if self.durable_writes {
            SyncMode::Dsync
        } else {
            SyncMode::None
        };
        let files = [OpenFile {
            path: file.to_owned(),
            range: (0, u64::from(together) * u64::from(self.writes)),
            writes: true,
            reads: false,
            direct: true,
            sync,
            fadvise: Fadvise::None,
            random: false,
            create: false,
        }];
        let spec = EngineSpec {
            kind: EngineKind::Psync,
            named: true,
            settings: EngineSettings::default(),
        };
        let request = EngineRequest {
            spec: &spec,
            depth: 1,
            buffer_size: together,
            files: &files,
            huge_pages: false,
        };
        let committer = Committer {
            commits: self,
            together,
            host,
            is_over,
        };
        host.with_engine(&request, committer)?
    }
}

struct Committer<'a> {
    commits: &'a SimCommits,
    /// Bytes of a write for all clients.
    together: u32,
    host: &'a SimHost,
    is_over: &'a dyn Fn() -> bool,
}

impl EngineUser for Committer<'_> {
    type Output = Result<SimCommitResult, EngineError>;

    fn run<E: Engine>(self, mut engine: E, _: &'static str, _: Option<String>) -> Self::Output {
        let mut result = SimCommitResult {
            latency: Histogram::new(),
            syncs: 0,
            elapsed: Nanos::ZERO,
        };
        let started = self.host.now();
        let mut done = Vec::new();
        while result.elapsed < self.commits.time && !(self.is_over)() {
            let begun = self.host.now();
            for number in 0..self.commits.writes {
                let offset = u64::from(number) * u64::from(self.together);
                self.wait_for(&mut engine, Op::Write, offset, &mut done)?;
            }
            if !self.commits.durable_writes {
                self.wait_for(&mut engine, Op::Fdatasync, 0, &mut done)?;
            }
            let ended = self.host.now();
            let taken = ended.saturating_sub(begun).get();
            (0..self.commits.clients.max(1)).for_each(|_| result.latency.record(taken));
            result.syncs += 1;
            result.elapsed = ended.saturating_sub(started);
        }
        Ok(result)
    }
}

impl Committer<'_> {
    /// One I/O from its start to its end.
    fn wait_for<E: Engine>(
        &self,
        engine: &mut E,
        op: Op,
        offset: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let request = Request {
            slot: 0,
            file: 0,
            op,
            len: if op == Op::Write { self.together } else { 0 },
            offset,
            prio: 0,
        };
        engine.submit(&[request])?;
        done.clear();
        while done.is_empty() {
            let wait = Wait {
                at_least: 1,
                at_most: 1,
                limit: None,
            };
            engine.reap(wait, done)?;
        }
        match done.first() {
            Some(completion) if completion.result < 0 => Err(EngineError {
                errno: EIO,
                what: "the simulated device failed a commit".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::registry::Library;
    use crate::spec::ModelSpec;

    /// One server of 100 us, whose flush takes 1 us; a durable write needs no flush, and a group costs as much as one client.
    #[test]
    fn a_commit_takes_as_long_as_its_ios() {
        let spec = ModelSpec::parse("servers(count=1, service=100us)").expect("a model");
        let machine = Machine::with_device(&spec, &Library::new(), 1).expect("possible");
        let host = SimHost::of_machine(machine, 0, None);
        let placed = host.files().place(Path::new("/wal"), 1 << 20, true);
        placed.expect("there is room");
        let time = Nanos::from_millis(100);
        for (writes, clients, durable_writes, syncs, mean) in [
            (1, 1, false, 991, 101_000.0),
            (1, 1, true, 1000, 100_000.0),
            (2, 1, false, 498, 201_000.0),
            (1, 16, false, 991, 101_000.0),
        ] {
            let commits = SimCommits {
                writes,
                size: 8192,
                clients,
                time,
                durable_writes,
            };
            let result = commits
                .run(&host, Path::new("/wal"), &|| false)
                .expect("it works");
            assert_eq!(result.syncs, syncs);
            assert_eq!(result.latency.count(), syncs * u64::from(clients));
            assert_eq!(result.latency.mean(), mean);
        }
    }
}
