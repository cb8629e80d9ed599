//! `fathom fsync`: the methods of making a write durable, compared.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_cli::{FsyncArgs, SizeFormat};
use fathom_linux::{CommitLoad, CommitMethod, interrupts};
use fathom_model::format::counted;
use fathom_model::{Bytes, COMMIT_ROUNDS, CommitReport, CommitRow, Histogram, choose_method};
use fathom_plan::file_value;

use crate::cli;
use crate::experiment_target::{TargetRequest, check_directory, remove_created, resolve_target};
use crate::fua::{self, Window};
use crate::guard;
use crate::machine::CommitFile;
use crate::measure::measure;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, note_line, print_to};
use crate::ready::{durability_fault, plan_of};
use crate::session::{Session, marked};

/// The file that is created.
const FILE: &str = "fathom-fsync.data";
/// Size of the file: a segment of the write-ahead log of PostgreSQL, as in pg_test_fsync.
const SIZE: u64 = 16 << 20;
/// Bytes of a write when methods are compared, as in pg_test_fsync.
const BLOCK: u32 = 8192;
/// Other sizes.
const SIZES: [u32; 5] = [512, 4096, 8192, 16_384, 65_536];
/// Numbers of clients.
const CLIENTS: [u32; 4] = [1, 4, 16, 64];
/// EINTR: the user interrupted.
const INTERRUPTED: &str = "interrupted";

/// Compares the methods on the path of the arguments.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args: FsyncArgs| {
        Ok(fsync(session, &args).unwrap_or_else(|message| {
            eprint_line!("fathom fsync: {message}");
            if interrupts().load(Relaxed) == 0 {
                Outcome::Refused
            } else {
                Outcome::Interrupted
            }
        }))
    })
}

fn fsync(session: &Session, args: &FsyncArgs) -> Result<Outcome, String> {
    if !session.has_directory(&args.path) {
        return Err(format!(
            "{}: not a directory; commits are measured in a file of their own: give a directory on the disk",
            args.path.display()
        ));
    }
    let needed = if session.exists(&args.path.join(FILE)) {
        0
    } else {
        SIZE
    };
    check_directory(session, &args.path, needed)?;
    let target = resolve_target(
        session,
        TargetRequest {
            path: &args.path,
            name: FILE,
            size: Some(Bytes::new(SIZE)),
            read_only: false,
            create: true,
        },
    )?;
    interrupts();
    let measured = laid_out(session, &target.file).and_then(|file| {
        let commits = Commits {
            file,
            // Six methods with one and two writes, and the other sizes and clients of the best one.
            time: args.runtime / (2 * CommitMethod::ALL.len() + SIZES.len() + CLIENTS.len()) as u32,
        };
        let fua = commits.file.count_forced_writes();
        let mut windows = Vec::new();
        let report = commits.report(session, &args.path, &mut windows);
        let writes = fua.finish(&windows);
        let report = report.map(|mut report| {
            add_fua(&mut report, writes);
            report
        });
        commits.file.release();
        report
    });
    if target.made && !args.keep {
        remove_created(session, "fathom fsync", &target.file);
    }
    let report = measured?;
    let text = match args.result.format() {
        SizeFormat::Json => fathom_report::commits_json(&report),
        SizeFormat::Md => fathom_report::commits_markdown(&report),
        SizeFormat::Text => fathom_report::commits_text(&report, &output::answer_style()),
    };
    let printed = print_to(args.result.output.as_deref(), &text);
    Ok(match report.choice {
        None if printed == Outcome::Good => Outcome::Bad,
        _ => printed,
    })
}

/// The writes with forced unit access of each row.
fn add_fua(report: &mut CommitReport, writes: Vec<Option<u64>>) {
    let rows = report
        .methods
        .iter_mut()
        .chain(&mut report.sizes)
        .chain(&mut report.clients);
    for (row, writes) in rows.zip(writes) {
        row.fua = writes
            .filter(|_| row.failed.is_none())
            .map(|writes| writes as f64 / row.commits.max(1) as f64);
    }
}

/// Commits of one client with one write of 8 KiB and fdatasync(2), measured for `time` in a file of its own below `path`.
///
/// # Errors
/// If the file cannot be written.
pub fn commits_of_one_client(
    session: &Session,
    path: &Path,
    time: Duration,
) -> Result<CommitRow, String> {
    let target = resolve_target(
        session,
        TargetRequest {
            path,
            name: FILE,
            size: Some(Bytes::new(SIZE)),
            read_only: false,
            create: true,
        },
    )?;
    let row = laid_out(session, &target.file).and_then(|file| {
        let commits = Commits { file, time };
        let mut measured = Measured::new(CommitMethod::Fdatasync, 1, BLOCK, 1);
        let row = commits
            .measure(&mut measured, time)
            .map(|()| measured.row());
        commits.file.release();
        row
    });
    remove_created(session, "fathom fsync", &target.file);
    row
}

/// Writes the file completely, so that no commit allocates blocks, and opens it.
fn laid_out<'a>(session: &'a Session, file: &Path) -> Result<Box<dyn CommitFile + 'a>, String> {
    let name = file_value(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let job = |options: &str| format!("[commits]\nfilename={name}\nsize={SIZE}\n{options}\n");
    let layout = plan_of(session, job("rw=randread\nbs=1m\ncreate_only=1"))?;
    let (load, _) = guard::open_targets(
        session,
        &layout,
        &guard::Confirmed::default(),
        &mut guard::Backups::new(Path::new(".")),
    )
    .map_err(|all| all.join("\n"))?;
    measure(load, layout).map_err(|error| error.to_string())?;
    let writes = plan_of(session, job("rw=write\nbs=8k"))?;
    guard::open_commit_file(session, &writes).map_err(|all| all.join("\n"))
}

/// Measurements of commits to one file.
struct Commits<'a> {
    file: Box<dyn CommitFile + 'a>,
    time: Duration,
}

impl Commits<'_> {
    /// `windows` gets the times of each row, in the order of the report.
    fn report(
        &self,
        session: &Session,
        path: &Path,
        windows: &mut Vec<Vec<Window>>,
    ) -> Result<CommitReport, String> {
        let mut methods = Vec::new();
        // Rounds over all methods: whatever else the disk does during one of them affects every method.
        for round in 0..COMMIT_ROUNDS {
            note_line!(
                "fathom fsync: {} methods, round {} of {COMMIT_ROUNDS}",
                CommitMethod::ALL.len(),
                round + 1
            );
            for (place, method) in CommitMethod::ALL.into_iter().enumerate() {
                for writes in [1, 2] {
                    let row = 2 * place + writes as usize - 1;
                    if methods.len() <= row {
                        methods.push(Measured::new(method, writes, BLOCK, 1));
                    }
                    self.measure(&mut methods[row], self.time / COMMIT_ROUNDS)?;
                }
            }
        }
        windows.extend(methods.iter().map(|one: &Measured| one.windows.clone()));
        let methods: Vec<CommitRow> = methods.into_iter().map(Measured::row).collect();
        let (choice, reason) = choose_method(&methods);
        let mut report = CommitReport {
            target: marked(&path.display().to_string(), session),
            methods,
            reason,
            notes: durability_fault(session, path).into_iter().collect(),
            ..CommitReport::default()
        };
        let chosen = CommitMethod::ALL
            .into_iter()
            .find(|method| Some(method.name()) == choice.as_deref());
        if let Some(method) = chosen {
            for size in SIZES {
                let measured = self.single(method, size, 1)?;
                windows.push(measured.windows.clone());
                report.sizes.push(measured.row());
            }
            for clients in CLIENTS {
                let measured = self.single(method, BLOCK, clients)?;
                windows.push(measured.windows.clone());
                report.clients.push(measured.row());
            }
        }
        report.choice = choice;
        Ok(report)
    }

    /// One measurement for the whole time.
    fn single(&self, method: CommitMethod, size: u32, clients: u32) -> Result<Measured, String> {
        note_line!(
            "fathom fsync: {}, {size} bytes, {}",
            method.name(),
            counted(u64::from(clients), "client")
        );
        let mut measured = Measured::new(method, 1, size, clients);
        self.measure(&mut measured, self.time)?;
        Ok(measured)
    }

    /// Adds commits of `time` to what was measured.
    fn measure(&self, so_far: &mut Measured, time: Duration) -> Result<(), String> {
        if so_far.failed.is_some() {
            return Ok(());
        }
        let load = CommitLoad {
            time,
            ..so_far.load
        };
        let before = self.file.counters();
        let start = fua::now();
        let measured = self.file.measure(&load, &|| interrupts().load(Relaxed) > 0);
        so_far.windows.push((start, fua::now()));
        let after = self.file.counters();
        if interrupts().load(Relaxed) > 0 {
            return Err(INTERRUPTED.to_owned());
        }
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => {
                so_far.failed = Some(error.to_string());
                return Ok(());
            }
        };
        let disk = before
            .zip(after)
            .filter(|(before, after)| before.0 == after.0);
        let added = disk.map(|(before, after)| {
            (
                after.1.flush_ios.saturating_sub(before.1.flush_ios),
                after.1.write_ios.saturating_sub(before.1.write_ios),
            )
        });
        so_far.disk = match (so_far.disk, added) {
            (Some((flushes, writes)), Some(added)) => Some((flushes + added.0, writes + added.1)),
            _ => None,
        };
        let seconds = measured.elapsed.as_secs_f64().max(1e-9);
        so_far
            .rounds
            .push(measured.latency.count() as f64 / seconds);
        so_far.latency.merge(&measured.latency);
        so_far.syncs += measured.syncs;
        so_far.seconds += seconds;
        so_far.direct = measured.direct;
        Ok(())
    }
}

/// Commits of one kind, over all rounds.
struct Measured {
    load: CommitLoad,
    latency: Histogram,
    /// Commits per second of each round.
    rounds: Vec<f64>,
    syncs: u64,
    seconds: f64,
    direct: bool,
    /// Flushes and writes of the device, if its counters are known.
    disk: Option<(u64, u64)>,
    windows: Vec<Window>,
    failed: Option<String>,
}

impl Measured {
    fn new(method: CommitMethod, writes: u32, size: u32, clients: u32) -> Measured {
        Measured {
            load: CommitLoad {
                method,
                writes,
                size,
                clients,
                time: Duration::ZERO,
            },
            latency: Histogram::new(),
            rounds: Vec::new(),
            syncs: 0,
            seconds: 0.0,
            direct: false,
            disk: Some((0, 0)),
            windows: Vec::new(),
            failed: None,
        }
    }

    fn row(self) -> CommitRow {
        let row = CommitRow {
            method: self.load.method.name().to_owned(),
            writes: self.load.writes,
            size: self.load.size,
            clients: self.load.clients,
            failed: self.failed,
            ..CommitRow::default()
        };
        if row.failed.is_some() {
            return row;
        }
        let commits = self.latency.count();
        let per_commit = |count: u64| count as f64 / commits.max(1) as f64;
        let percentile = |percent| self.latency.percentile(percent).unwrap_or(0.0);
        CommitRow {
            direct: self.direct,
            commits,
            rate: commits as f64 / self.seconds.max(1e-9),
            median: percentile(50.0),
            p99: percentile(99.0),
            max: percentile(100.0),
            syncs: per_commit(self.syncs),
            flushes: self.disk.map(|(flushes, _)| per_commit(flushes)),
            device_writes: self.disk.map(|(_, writes)| per_commit(writes)),
            rounds: self.rounds,
            ..row
        }
    }
}
