//! The table of findings, one row each.
//!
//! A row has the number, the code, the category, the heaviest weight, the texts, the properties and
//! the functions that detect it. To add a finding, add a row with the next number;
//! `docs/findings.md` is generated from this table.

use fathom_model::Weight::{Degrades, Invalidates, Note};
use fathom_model::{Finding, ImportedFigures, Weight};

use self::Category::{Generator, Host, Integrity, Plan, Published, Statistics, Target};
use crate::detectors::{
    RunContext, blamed, burst_ended, cache_setting_disagrees, ceiling_by_size, ceiling_reached,
    clock_drift, clones_overlap, command_failed, cpu_slowed, cpu_throttled, depth_not_reached,
    device_queue_exceeded, direct_not_direct, engine_fallback, few_samples, fio_bins_clamped,
    flush_unproven, foreign_io, generator_stall, histogram_overflow, holes_read, host_busy,
    host_straggles, hosts_apart, hosts_differ, hosts_lost, interrupted, io_error, job_skipped,
    jobs_apart, late_issue, latency_above_class, little_disagrees, loop_buffered, memory_backed,
    memory_pressure, not_conserved, not_steady, nothing_done, page_cache, percentile_inflection,
    processes_left, ran_short, rate_limited, rate_not_reached, repeated_addresses, replay_cut,
    replay_lag, requests_resized, settings_changed, settings_reduced, short_io, smooth_ceiling,
    soft_payload, steal, summary_disagrees, sync_engine_depth, target_gone, target_shared,
    target_shrank, target_stalled, timed_out, too_hot, tool_bound, verify_failed, verify_nothing,
    volatile_cache_no_flush, wall_clock_stepped, worker_died, worker_waited, working_set_cached,
};
use crate::imported::{
    CheckInput, claims, distribution, figures, hosts, link, logs, merged, number, repeats, spec,
    sweep,
};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Missing, failed or wrong I/O, and figures that contradict each other.
    Integrity,
    /// The load generator.
    Generator,
    /// The machine that generates the load.
    Host,
    /// The target and the path to it.
    Target,
    /// The plan and how far it was carried out.
    Plan,
    /// The meaning of the statistics.
    Statistics,
    /// Published results and what their authors state.
    Published,
}

impl Category {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Integrity => "integrity",
            Generator => "generator",
            Host => "host",
            Target => "target",
            Plan => "plan",
            Statistics => "statistics",
            Published => "published results",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FindingKind {
    /// Its number, such as `F001`. Once assigned it never changes and is never reused.
    pub id: &'static str,
    /// Its code, such as `SHORT_IO`, stable as well.
    pub code: &'static str,
    /// What it is about.
    pub category: Category,
    /// The heaviest weight it can have.
    pub weight: Weight,
    /// What was found.
    pub meaning: &'static str,
    /// Why it matters.
    pub importance: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// It is about the conditions of the run, not its I/O: the exit code of `fathom fio` ignores
    /// it.
    pub about_conditions: bool,
    /// The host limited the result.
    pub host_limits: bool,
    /// It delayed the generator, so a trial of a search does not measure the target.
    pub delays_generator: bool,
    /// It can be detected during the run; others need the end.
    pub while_running: bool,
    /// The intervals count it as well.
    pub counted_per_interval: bool,
    /// It compares several results.
    pub across_results: bool,
    /// It compares the cells of an experiment.
    pub between_cells: bool,
    /// It is also looked for when a command was watched (`fathom witness`).
    pub about_commands: bool,
    /// It compares the hosts of a run on several hosts.
    pub between_hosts: bool,
    detector: Option<fn(&RunContext) -> Vec<Finding>>,
    check: Option<fn(&CheckInput) -> Vec<Finding>>,
}

impl FindingKind {
    const fn new(
        id: &'static str,
        code: &'static str,
        category: Category,
        weight: Weight,
    ) -> FindingKind {
        FindingKind {
            id,
            code,
            category,
            weight,
            meaning: "",
            importance: "",
            remedy: "",
            about_conditions: false,
            host_limits: false,
            delays_generator: false,
            while_running: false,
            counted_per_interval: false,
            across_results: false,
            between_cells: false,
            about_commands: false,
            between_hosts: false,
            detector: None,
            check: None,
        }
    }

    const fn texts(
        mut self,
        meaning: &'static str,
        importance: &'static str,
        remedy: &'static str,
    ) -> FindingKind {
        (self.meaning, self.importance, self.remedy) = (meaning, importance, remedy);
        self
    }

    const fn detector(mut self, detect: fn(&RunContext) -> Vec<Finding>) -> FindingKind {
        self.detector = Some(detect);
        self
    }

    const fn check(mut self, check: fn(&CheckInput) -> Vec<Finding>) -> FindingKind {
        self.check = Some(check);
        self
    }

    const fn about_conditions(mut self) -> FindingKind {
        self.about_conditions = true;
        self
    }

    const fn host_limits(mut self) -> FindingKind {
        self.host_limits = true;
        self
    }

    const fn delays_generator(mut self) -> FindingKind {
        self.delays_generator = true;
        self
    }

    const fn while_running(mut self) -> FindingKind {
        self.while_running = true;
        self
    }

    const fn counted_per_interval(mut self) -> FindingKind {
        self.counted_per_interval = true;
        self
    }

    const fn across_results(mut self) -> FindingKind {
        self.across_results = true;
        self
    }

    const fn between_cells(mut self) -> FindingKind {
        self.between_cells = true;
        self
    }

    const fn about_commands(mut self) -> FindingKind {
        self.about_commands = true;
        self
    }

    const fn between_hosts(mut self) -> FindingKind {
        self.between_hosts = true;
        self
    }

    /// Whether it is detected in recordings of fathom.
    #[must_use]
    pub const fn is_detected(&self) -> bool {
        self.detector.is_some()
    }

    /// Whether it is found in imported and published results.
    #[must_use]
    pub const fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    /// What its detector finds in a run.
    pub(crate) fn detect(&self, run: &RunContext) -> Vec<Finding> {
        self.numbered(self.detector.map_or_else(Vec::new, |detect| detect(run)))
    }

    /// What its check finds in imported results.
    pub(crate) fn judge(&self, input: &CheckInput) -> Vec<Finding> {
        let check = |input: &CheckInput| self.check.map_or_else(Vec::new, |check| check(input));
        // A run of fathom was judged with more data than its result contains.
        let found = if self.is_detected() && input.results.iter().any(|one| one.judged) {
            let mut others = input.clone();
            others.results.retain(|one| !one.judged);
            check(&others)
        } else {
            check(input)
        };
        self.numbered(found)
    }

    /// The findings with its number and code.
    fn numbered(&self, mut found: Vec<Finding>) -> Vec<Finding> {
        for finding in &mut found {
            debug_assert!(finding.weight <= self.weight, "{}: {finding:?}", self.code);
            (finding.id, finding.code) = (self.id, self.code);
        }
        found
    }
}

/// A finding by its number or its code, in any letter case.
#[must_use]
pub fn explain(code: &str) -> Option<&'static FindingKind> {
    FINDINGS
        .iter()
        .find(|kind| kind.code.eq_ignore_ascii_case(code) || kind.id.eq_ignore_ascii_case(code))
}

/// The kinds that are detected in recordings.
pub fn detectors() -> impl Iterator<Item = &'static FindingKind> {
    FINDINGS.iter().filter(|kind| kind.is_detected())
}

/// The kinds that are checked in imported results.
pub fn checks() -> impl Iterator<Item = &'static FindingKind> {
    FINDINGS.iter().filter(|kind| kind.is_checked())
}

/// All findings, by number.
#[must_use]
pub fn by_number() -> Vec<&'static FindingKind> {
    let mut all: Vec<&FindingKind> = FINDINGS.iter().collect();
    all.sort_by_key(|kind| kind.id);
    all
}

/// A check of each result by itself.
fn each(input: &CheckInput, check: fn(&ImportedFigures) -> Option<Finding>) -> Vec<Finding> {
    input.results.iter().filter_map(check).collect()
}

/// Every finding. Findings of one weight are listed in this order.
pub const FINDINGS: &[FindingKind] = &[
    FindingKind::new("F001", "WORKER_DIED", Integrity, Invalidates)
        .texts(
            "A worker thread ended without submitting its results.",
            "Its I/O is missing from every total, so rates are too low and nothing says by how much.",
            "Run again. If it happens again, report it with the job file.",
        )
        .detector(worker_died::detect),
    FindingKind::new("F002", "NOT_CONSERVED", Integrity, Invalidates)
        .texts(
            "Some planned I/Os have no outcome, or some requested bytes are neither transferred nor missing.",
            "Every correct run satisfies planned = ok + short + failed + timed out + not sent. If it does not hold, the accounting is wrong.",
            "Report this as a bug in fathom; do not use the figures.",
        )
        .detector(not_conserved::detect),
    FindingKind::new("F003", "SUMMARY_DISAGREES", Integrity, Invalidates)
        .texts(
            "The intervals of a job do not add up to its totals, or a stated rate differs from amount divided by time.",
            "Charts and summaries would contradict each other.",
            "Do not use the figures. If fathom measured them, report a bug; otherwise get the original result file.",
        )
        .detector(summary_disagrees::detect)
        .check(|input| each(input, figures::rates_disagree)),
    FindingKind::new("F004", "VERIFY_FAILED", Integrity, Invalidates)
        .texts(
            "Blocks read back differ from the data written. With verify=fathom each is reported with its class (lost write, stale data, torn block, torn sector, shorn tail, misdirected write or read, swapped or duplicated blocks, bit flip, zeroed, data of another run, target or job), its file and byte offset, the expected and the actual generation, and the time of each write. A generation is the pass of the job that wrote the block.",
            "The target, or something between it and this program, corrupts data. A second read shows where: if it returns the same bytes, they are stored like this; if it returns correct bytes, the read path (memory, cable, controller) is at fault.",
            "Do not modify the target. Lost writes or stale data suggest a volatile cache, an ineffective flush or firmware; torn or shorn blocks a power loss or reset; misdirected or swapped blocks an address map (RAID, thin provisioning, flash translation layer); bit flips memory or cabling; data of another run or job a second writer. Read the kernel log and the device's log at the reported times, then verify again; `fathom run --output-format=json` lists every wrong block under fathom.entries.verify.",
        )
        .detector(verify_failed::detect)
        .while_running(),
    FindingKind::new("F005", "SHORT_IO", Integrity, Invalidates)
        .texts(
            "I/Os completed with fewer bytes than requested.",
            "Counting them as complete would turn missing work into speed. They are excluded from IOPS, bandwidth and latency.",
            "Check whether the target ends early, is full, or fails.",
        )
        .detector(short_io::detect)
        .while_running()
        .counted_per_interval(),
    FindingKind::new("F006", "IO_ERROR", Integrity, Invalidates)
        .texts(
            "I/Os failed, or a job was ended by an error.",
            "Failed I/Os often complete faster or slower than successful ones. They are counted separately and are excluded from all rates and latencies.",
            "Read the kernel log for the device and remove the cause. With continue_on_error the run is only degraded.",
        )
        .detector(io_error::detect)
        .check(|input| each(input, figures::failed))
        .while_running()
        .counted_per_interval(),
    FindingKind::new("F007", "TIMED_OUT", Integrity, Invalidates)
        .texts(
            "I/Os did not complete before the timeout.",
            "The slowest I/Os of the run are missing from every latency figure.",
            "Check for a hung device, path or server.",
        )
        .detector(timed_out::detect)
        .while_running(),
    FindingKind::new("F008", "TARGET_SHRANK", Target, Invalidates)
        .texts(
            "The file or device is smaller than it was at the start.",
            "Reads past the end cost nothing, so rates rise while nothing is read.",
            "Find what truncates or replaces the target.",
        )
        .detector(target_shrank::detect)
        .while_running(),
    FindingKind::new("F009", "NOTHING_DONE", Integrity, Invalidates)
        .texts(
            "A job ran but completed no I/O.",
            "Zeros look like a very slow device.",
            "Check the job's error and its size, io_size and number_ios.",
        )
        .detector(nothing_done::detect)
        .check(|input| each(input, figures::nothing_done)),
    FindingKind::new("F010", "GENERATOR_STALL", Generator, Invalidates)
        .texts(
            "The load generator itself was stopped or starved of CPU: its watchdog woke too late.",
            "A stopped generator measures nothing. In an open loop the I/Os that were due meanwhile count as waiting, so response times include the stall; service times hide it.",
            "Check for suspended processes, CPU quotas, overcommitted hosts and swapping; then run again.",
        )
        .detector(generator_stall::detect)
        .about_conditions()
        .host_limits()
        .delays_generator()
        .while_running(),
    FindingKind::new("F011", "VERIFY_NOTHING", Integrity, Invalidates)
        .texts(
            "Verification was requested, but some or all blocks were not checked.",
            "A check of nothing always passes.",
            "Let the job run to its end, and make sure that there is data to verify.",
        )
        .detector(verify_nothing::detect),
    FindingKind::new("F012", "INTERRUPTED", Plan, Invalidates)
        .texts(
            "The run ended before its plan was complete.",
            "Averages over a part of the plan may differ from those over all of it.",
            "Run the whole plan.",
        )
        .detector(interrupted::detect)
        .about_commands()
        .about_conditions(),
    FindingKind::new("F013", "RAN_SHORT", Plan, Degrades)
        .texts(
            "A time-based job ended early.",
            "The start of a run (empty caches, fresh flash) weighs more in a short one.",
            "Remove the cause and run again.",
        )
        .detector(ran_short::detect),
    FindingKind::new("F014", "JOB_SKIPPED", Plan, Degrades)
        .texts(
            "A job never started.",
            "The totals of its group lack its share.",
            "Fix the job before it, or the cause that ended the run.",
        )
        .detector(job_skipped::detect),
    FindingKind::new("F015", "RATE_NOT_REACHED", Generator, Degrades)
        .texts(
            "An open-loop job did not reach its planned rate.",
            "Above capacity the queue grows without bound: latency then reflects the length of the run, not the speed of the target.",
            "Lower the rate, or read the result as an overload test.",
        )
        .detector(rate_not_reached::detect)
        .about_conditions(),
    FindingKind::new("F016", "LATE_ISSUE", Generator, Degrades)
        .texts(
            "Open-loop I/Os were submitted long after their due time although the generator was not stopped.",
            "The target did not receive the planned arrivals. Response times include the wait, service times do not.",
            "Raise iodepth, lower the rate, or use more jobs.",
        )
        .detector(late_issue::detect)
        .while_running(),
    FindingKind::new("F060", "REPLAY_LAG", Generator, Degrades)
        .texts(
            "The I/Os of a replayed log were submitted later than recorded.",
            "The target received other arrivals than the recorded ones. Each I/O is due at its recorded time from the start, so lag does not accumulate; response times include it.",
            "Raise iodepth, use an asynchronous engine, or slow the log down with replay_time_scale.",
        )
        .detector(replay_lag::detect),
    FindingKind::new("F061", "REPLAY_CUT", Plan, Degrades)
        .texts(
            "The run ended before the whole log was replayed.",
            "The figures describe the first part of the recorded load only.",
            "Remove runtime, or raise replay_time_scale so that the log fits.",
        )
        .detector(replay_cut::detect),
    FindingKind::new("F017", "DEPTH_NOT_REACHED", Generator, Degrades)
        .texts(
            "By Little's law far fewer I/Os were in flight than iodepth allows.",
            "The figures are those of a smaller queue depth than the one in the job file.",
            "Use direct=1, another engine or more jobs; buffered I/O and some file systems execute requests one at a time.",
        )
        .detector(depth_not_reached::detect),
    FindingKind::new("F018", "SYNC_ENGINE_DEPTH", Plan, Degrades)
        .texts(
            "iodepth is set for an engine that returns only when its I/O is complete.",
            "The setting has no effect: the figures are those of queue depth 1.",
            "Use io_uring, libaio or numjobs.",
        )
        .detector(sync_engine_depth::detect),
    FindingKind::new("F019", "PAGE_CACHE", Target, Degrades)
        .texts(
            "The devices below the targets transferred less than half of what the jobs transferred.",
            "The page cache served or absorbed the rest. The figures are those of RAM, not of the device. Holes in files have the same effect.",
            "Use direct=1, write the files completely first, or use a region larger than memory.",
        )
        .detector(page_cache::detect)
        .about_commands()
        .while_running(),
    FindingKind::new("F020", "FOREIGN_IO", Target, Degrades)
        .texts(
            "A device transferred much more than the jobs requested.",
            "Other users slow the device down, and their load differs from run to run.",
            "Find them with iotop or iostat, or use an idle device.",
        )
        .detector(foreign_io::detect)
        .about_commands(),
    FindingKind::new("F021", "CPU_THROTTLED", Host, Degrades)
        .texts(
            "The CPU quota of the control group stopped this process during the run.",
            "Each throttle is a pause of up to 100 ms that appears as device latency.",
            "Raise cpu.max of the container or service.",
        )
        .detector(cpu_throttled::detect)
        .about_commands()
        .host_limits()
        .delays_generator(),
    FindingKind::new("F022", "STEAL", Host, Degrades)
        .texts(
            "The hypervisor gave CPU time of this machine to other guests.",
            "CPU time stolen while I/O completes counts as latency.",
            "Use dedicated CPUs, or compare only runs with the same steal.",
        )
        .detector(steal::detect)
        .about_commands()
        .host_limits()
        .delays_generator(),
    FindingKind::new("F023", "HOST_BUSY", Host, Degrades)
        .texts(
            "Other programs kept the CPUs of this host busy.",
            "Workers that wait for a CPU submit and reap late.",
            "Stop the other programs, or read the figures as a lower bound.",
        )
        .detector(host_busy::detect)
        .about_commands()
        .host_limits()
        .delays_generator(),
    FindingKind::new("F024", "WORKER_WAITED", Generator, Degrades)
        .texts(
            "A worker was runnable but had no CPU for much of the time (run delay in /proc/thread-self/schedstat).",
            "Completions that wait for a CPU count as slow I/O, and submissions are late.",
            "Leave a CPU for each worker: fewer jobs, fewer other programs, or cpus_allowed.",
        )
        .detector(worker_waited::detect)
        .host_limits()
        .delays_generator()
        .while_running(),
    FindingKind::new("F025", "TOOL_BOUND", Generator, Degrades)
        .texts(
            "A worker used a whole CPU, or came close to the rate that it reaches on a target that answers at once.",
            "The CPU, not the target, limits the rate. With the null engine this is expected.",
            "Use more jobs, larger blocks or a cheaper engine until the rate no longer grows.",
        )
        .detector(tool_bound::detect),
    FindingKind::new("F026", "CLOCK_DRIFT", Host, Degrades)
        .texts(
            "The clock used for the measurement ran at another rate than the kernel's clock.",
            "All times and rates are wrong by that ratio.",
            "Use another clock source; see the clock facts in the result.",
        )
        .detector(clock_drift::detect),
    FindingKind::new("F027", "HISTOGRAM_OVERFLOW", Statistics, Degrades)
        .texts(
            "Some latencies exceed 73 minutes.",
            "They are counted and included in mean and maximum, but have no bucket of their own.",
            "Find out what hung.",
        )
        .detector(histogram_overflow::detect)
        .about_conditions()
        .while_running(),
    FindingKind::new("F028", "CLONES_OVERLAP", Plan, Degrades)
        .texts(
            "Several clones of a sequential job access the same addresses.",
            "One clone reads from the medium, the others from a cache that it filled.",
            "Set offset_increment, or give each clone its own file.",
        )
        .detector(clones_overlap::detect),
    FindingKind::new("F029", "JOBS_APART", Plan, Degrades)
        .texts(
            "Jobs whose totals are added did not run at the same time.",
            "The sum of their rates was never reached.",
            "Start them together, or use different groups.",
        )
        .detector(jobs_apart::detect),
    FindingKind::new("F030", "NOT_STEADY", Statistics, Note)
        .texts(
            "Throughput differs by more than a fifth between parts of the run.",
            "One average hides the change: caches fill, flash starts garbage collection, devices get warm.",
            "Precondition, warm up and run longer; check the series.",
        )
        .detector(not_steady::detect)
        .about_commands()
        .check(|input| each(input, distribution::not_steady)),
    FindingKind::new("F031", "REPEATED_ADDRESSES", Plan, Note)
        .texts(
            "The region was read at least twice.",
            "Caches in the device, the controller or memory may serve the repeats.",
            "Use a larger region unless the real working set is this small.",
        )
        .detector(repeated_addresses::detect),
    FindingKind::new("F032", "REQUESTS_RESIZED", Target, Note)
        .texts(
            "The device received more or fewer requests than the jobs submitted.",
            "The kernel split or merged requests, so sizes and latencies at the device differ from those of the job.",
            "See max_sectors_kb and nomerges in /sys/block/*/queue.",
        )
        .detector(requests_resized::detect),
    FindingKind::new("F033", "VOLATILE_CACHE_NO_FLUSH", Target, Note)
        .texts(
            "Writes completed in memory or in the device's volatile cache and were never flushed.",
            "A power failure would lose them, and their speed is that of the cache until it is full.",
            "Add fsync, fdatasync, end_fsync or sync to the job.",
        )
        .detector(volatile_cache_no_flush::detect),
    FindingKind::new("F034", "SOFT_PAYLOAD", Plan, Note)
        .texts(
            "The data written is compressible or can be deduplicated.",
            "Devices and file systems that do so transfer less than the figures suggest.",
            "Use fresh random data to measure the medium.",
        )
        .detector(soft_payload::detect),
    FindingKind::new("F035", "FEW_SAMPLES", Statistics, Note)
        .texts(
            "A percentile rests on fewer than ten I/Os.",
            "The next run may give another value.",
            "Run longer.",
        )
        .detector(few_samples::detect)
        .check(|input| each(input, distribution::few_samples)),
    FindingKind::new("F036", "FIO_BINS_CLAMPED", Statistics, Degrades)
        .texts(
            "Latencies of 17.2 s and more share the last bin of fio's format.",
            "Percentiles computed from those bins are too low. fathom does not compute its percentiles from them, but fio does.",
            "Use the percentiles and the maximum.",
        )
        .detector(fio_bins_clamped::detect)
        .check(|input| each(input, distribution::clamped)),
    FindingKind::new("F037", "ENGINE_FALLBACK", Generator, Note)
        .texts(
            "The planned engine was not available; another engine did the I/O.",
            "Engines differ in CPU cost and in the queue depth they reach.",
            "Name the engine in the job file to fail instead of falling back.",
        )
        .detector(engine_fallback::detect)
        .while_running(),
    FindingKind::new("F038", "DIRECT_NOT_DIRECT", Target, Degrades)
        .texts(
            "Direct I/O was requested, but the file system buffers it or is memory.",
            "The page cache answers at the speed of memory although the job file says direct=1. ext4 with data=journal, btrfs with checksums and tmpfs do this silently.",
            "Use another file system or mount option, or the device itself.",
        )
        .detector(direct_not_direct::detect)
        .while_running(),
    FindingKind::new("F039", "HOLES_READ", Target, Degrades)
        .texts(
            "Parts of the range that was read were never written.",
            "The file system answers holes and reserved blocks with zeros, ten times faster than the medium, without device I/O.",
            "Write the file completely first; fallocate is not enough.",
        )
        .detector(holes_read::detect),
    FindingKind::new("F040", "TARGET_GONE", Target, Degrades)
        .texts(
            "The file was removed or replaced while it was in use.",
            "The load continues on a file without a name; the path now refers to something else.",
            "Find what removes it and run again.",
        )
        .detector(target_gone::detect),
    FindingKind::new("F074", "TARGET_SHARED", Target, Degrades)
        .texts(
            "Another program had a target of the run open.",
            "A load that seemed to have ended, a second test or a service may have used it at the same time: workers of other load generators continue after their main process is killed.",
            "Stop it, or use a target that nothing else uses.",
        )
        .detector(target_shared::detect),
    FindingKind::new("F075", "TARGET_STALLED", Target, Degrades)
        .texts(
            "Nothing completed for a second or more, and much longer than usual.",
            "The target, its path or its driver stopped answering. Averages mix the time of the stall with the rest, and a stall lengthens a run beyond its runtime.",
            "Look for resets, timeouts and path changes in the kernel log, and run again.",
        )
        .detector(target_stalled::detect)
        .check(|input| each(input, distribution::stood_still)),
    FindingKind::new("F041", "LITTLE_DISAGREES", Integrity, Invalidates)
        .texts(
            "Rate times latency differs from the number of I/Os that can have been in flight.",
            "Little's law holds for every queue. Above the depth, a figure is wrong; below it, the time between I/Os was spent in this program and not in the target.",
            "Above: report a bug. Below: use more jobs or a cheaper engine.",
        )
        .detector(little_disagrees::detect)
        .check(|input| each(input, figures::little))
        .about_conditions(),
    FindingKind::new("F042", "RATE_LIMITED", Target, Degrades)
        .texts(
            "I/Os are either fast or stopped for the same time again and again.",
            "This is typical of rate limiters: the average is their setting, the median is the device, and the tail is their period.",
            "Check for QoS limits, burst credits, container limits, or a device that pauses.",
        )
        .detector(rate_limited::detect)
        .about_commands(),
    FindingKind::new("F043", "CEILING_REACHED", Target, Degrades)
        .texts(
            "The rate equals a known limit.",
            "A limit hides the performance of what it limits.",
            "Raise the limit, or report the result as that of the limit.",
        )
        .detector(ceiling_reached::detect),
    FindingKind::new("F044", "PERCENTILE_INFLECTION", Statistics, Note)
        .texts(
            "Between two neighbouring percentiles below p99 the latency at least doubles.",
            "Two kinds of I/O are mixed: the average describes neither.",
            "Quote the percentiles on both sides of the step, and find out what the slow I/Os wait for.",
        )
        .detector(percentile_inflection::detect)
        .check(|input| each(input, distribution::inflection))
        .while_running(),
    FindingKind::new("F045", "SETTINGS_CHANGED", Target, Degrades)
        .texts(
            "A queue setting of a device changed during the run.",
            "The two parts of the run were measured under different settings.",
            "Find what changes them and run again.",
        )
        .detector(settings_changed::detect)
        .about_commands(),
    FindingKind::new("F046", "SETTINGS_REDUCED", Target, Note)
        .texts(
            "A queue setting of a device is below the usual value, or its counters are off.",
            "Settings outlive the test that changed them. Split requests cost CPU and latency; without counters several checks cannot work.",
            "Restore them in /sys/block/*/queue, or keep and report them.",
        )
        .detector(settings_reduced::detect),
    FindingKind::new("F047", "CACHE_SETTING_DISAGREES", Target, Degrades)
        .texts(
            "The kernel treats the cache of a device as safe, but the device reports a volatile cache.",
            "The kernel then sends no flushes: fsync returns at once and protects nothing.",
            "Set queue/write_cache to \"write back\", or turn off the cache in the device.",
        )
        .detector(cache_setting_disagrees::detect),
    FindingKind::new("F048", "WORKING_SET_CACHED", Target, Note)
        .texts(
            "Buffered reads access a region that fits into memory.",
            "After the first pass the page cache answers them.",
            "Use direct=1, or a region of at least twice the memory.",
        )
        .detector(working_set_cached::detect),
    FindingKind::new("F049", "TOO_HOT", Host, Degrades)
        .texts(
            "Throughput fell while a temperature sensor of the machine rose.",
            "Drives and CPUs throttle to cool down; a short run does not show it, a long one shows little else.",
            "Improve the cooling, and let the device cool down before each run.",
        )
        .detector(too_hot::detect)
        .about_commands(),
    FindingKind::new("F050", "CPU_SLOWED", Host, Degrades)
        .texts(
            "The CPU frequency was lower at the end of the run than at its start.",
            "Latencies of microseconds consist mostly of CPU time.",
            "Use the performance governor; check heat and power limits.",
        )
        .detector(cpu_slowed::detect)
        .about_commands(),
    FindingKind::new("F051", "MEMORY_PRESSURE", Host, Degrades)
        .texts(
            "All programs of the machine waited for memory for part of the run.",
            "Reclaim and swapping use the same devices and CPUs.",
            "Free memory, or use a larger machine.",
        )
        .detector(memory_pressure::detect)
        .about_commands(),
    FindingKind::new("F052", "WALL_CLOCK_STEPPED", Host, Note)
        .texts(
            "The time of day was set during the run.",
            "The measurement is not affected, but times of day in logs are.",
            "Do not correlate these times with other logs.",
        )
        .detector(wall_clock_stepped::detect)
        .about_commands(),
    FindingKind::new("F053", "FLUSH_UNPROVEN", Host, Note)
        .texts(
            "Flushes were acknowledged inside a virtual machine.",
            "Some hosts acknowledge a flush without doing it, and the guest cannot detect that.",
            "Check the cache mode of the virtual disk.",
        )
        .detector(flush_unproven::detect),
    FindingKind::new("F054", "MEMORY_BACKED", Target, Degrades)
        .texts(
            "The target is memory: tmpfs, a RAM disk or zram.",
            "Its figures are those of the CPU and of RAM.",
            "Use a device with a real medium.",
        )
        .detector(memory_backed::detect)
        .about_commands(),
    FindingKind::new("F055", "LOOP_BUFFERED", Target, Degrades)
        .texts(
            "A loop device below the target goes through the page cache.",
            "Direct I/O stops at the loop device; below it the page cache answers.",
            "Attach it with losetup --direct-io=on.",
        )
        .detector(loop_buffered::detect),
    FindingKind::new("F056", "PER_JOB_FIGURES", Published, Note)
        .texts(
            "Published figures are those of one of several jobs.",
            "One job's share says little about the device, and multiplying it assumes that all jobs ran alike and at the same time.",
            "Publish the sum over the time in which all jobs ran.",
        )
        .check(|input| each(input, figures::per_job)),
    FindingKind::new("F057", "ABOVE_LINK", Published, Invalidates)
        .texts(
            "A rate exceeds the capacity of the link.",
            "Averages over different times were added, or a cache answered.",
            "Add rates only over the time in which all jobs ran.",
        )
        .check(|input| each(input, link::above)),
    FindingKind::new("F058", "IN_FLIGHT_MISCOUNTED", Published, Degrades)
        .texts(
            "More I/Os are claimed in flight than jobs times depth.",
            "A mixed job has its reads and writes in one queue; counting both doubles the depth on paper.",
            "Count jobs times depth, and print rate times latency beside it.",
        )
        .check(|input| each(input, claims::in_flight)),
    FindingKind::new("F059", "LINE_CODING_IGNORED", Published, Degrades)
        .texts(
            "A ceiling was computed from the raw bit rate of the link.",
            "Line coding costs a fifth (8b/10b) or a sixty-fifth (128b/130b), so the headroom looks larger than it is.",
            "Use the usable rate of the link.",
        )
        .check(|input| each(input, claims::line_coding)),
    FindingKind::new("F062", "HEADROOM_MISJUDGED", Published, Degrades)
        .texts(
            "The links are used to another degree than stated.",
            "Plans then rely on headroom that does not exist.",
            "Compute it from generation, width and number of links.",
        )
        .check(|input| each(input, claims::headroom)),
    FindingKind::new("F063", "PATTERN_MISNAMED", Published, Invalidates)
        .texts(
            "The text says random and the option says sequential, or the reverse.",
            "They differ by orders of magnitude on disks and through caches on flash.",
            "Name the pattern beside every result.",
        )
        .check(|input| each(input, claims::pattern)),
    FindingKind::new("F064", "BLOCK_ASSUMED", Published, Note)
        .texts(
            "The stated smallest block size is not the device's.",
            "Blocks smaller than the physical block need read-modify-write; larger ones are not the smallest.",
            "Read it from the device.",
        )
        .check(|input| each(input, claims::block)),
    FindingKind::new("F065", "ATTACHMENT_IN_THE_WAY", Published, Degrades)
        .texts(
            "A controller sits between host and drive, or the path is not recorded.",
            "Its cache, its CPU and its limits look like the drive's.",
            "Record the whole path, and repeat on a plain HBA.",
        )
        .check(|input| each(input, claims::attachment)),
    FindingKind::new("F066", "PART_NUMBER_DISAGREES", Published, Invalidates)
        .texts(
            "The part number belongs to another product family than the data sheet.",
            "The measurements are compared with the specification of another drive.",
            "Identify drives by part number.",
        )
        .check(|input| each(input, spec::part_number)),
    FindingKind::new("F067", "SPEC_MISSED", Published, Degrades)
        .texts(
            "A measurement differs from the vendor's figure by more than a tenth.",
            "One row that agrees says nothing about the others; a result above the specification is as suspicious as one below it.",
            "Compare each row under the conditions of the data sheet.",
        )
        .check(spec::missed),
    FindingKind::new("F068", "REPEATS_CACHED", Published, Degrades)
        .texts(
            "Skewed addresses repeat so often that caches answered.",
            "It looks like shorter seeks, but it is a hit ratio that grows with the length of the run.",
            "Report the share of distinct blocks.",
        )
        .check(|input| each(input, repeats::cached)),
    FindingKind::new("F069", "STATE_DIFFERS", Published, Degrades)
        .texts(
            "Results of one device contradict each other.",
            "Flash that is asleep, unwritten or worn performs differently.",
            "Bring the device into a defined state first, and record it.",
        )
        .check(sweep::state_differs)
        .across_results(),
    FindingKind::new("F070", "LOGS_MISLEAD", Published, Degrades)
        .texts(
            "Rows are missing from log files, or the logs contradict the summary.",
            "fio writes no row for an interval without completions, so sums by row number add values of different times.",
            "Add logs by time, with zeros for missing rows.",
        )
        .check(|input| [logs::mislead(input), distribution::logs_contradict(input)].concat()),
    FindingKind::new("F071", "NUMBER_MALFORMED", Published, Invalidates)
        .texts(
            "A figure is ambiguous or impossible.",
            "80,00 may be 80, 8,000 or 80,000, and no p99 is below its median.",
            "Correct it at its source.",
        )
        .check(|input| [number::malformed(input), distribution::descending(input)].concat()),
    FindingKind::new("F072", "PERCENTILES_AVERAGED", Published, Invalidates)
        .texts(
            "A percentile of several jobs is not the percentile of all their I/Os.",
            "The mean of percentiles is not a percentile: with 19 fast I/Os for each slow one, p99 is a slow one.",
            "Add the histograms, then compute the percentile.",
        )
        .check(merged::averaged),
    FindingKind::new("F073", "HOST_LOST", Integrity, Invalidates)
        .texts(
            "One of several load-generating hosts returned no figures.",
            "Sums are too low, percentiles cover only the other hosts, and other programs still exit successfully.",
            "Run again with all hosts, or state the number of hosts that the figures cover.",
        )
        .detector(hosts_lost::detect)
        .check(hosts::lost)
        .between_hosts(),
    FindingKind::new("F084", "HOSTS_APART", Plan, Degrades)
        .texts(
            "The hosts of a run did not start together, or the difference of their clocks is not known well enough to say so.",
            "While only some hosts load the storage, each has more of it: the sum of such figures is too high.",
            "Use a faster or quieter network between the hosts, and leave a CPU free on each of them.",
        )
        .detector(hosts_apart::detect)
        .between_hosts(),
    FindingKind::new("F085", "HOSTS_DIFFER", Host, Note)
        .texts(
            "The hosts of a run differ in kernel, CPUs, memory or target.",
            "A difference between their figures may come from the hosts, not from the storage.",
            "Compare hosts that are equal, or report each kind of host by itself.",
        )
        .detector(hosts_differ::detect)
        .between_hosts(),
    FindingKind::new("F086", "HOST_STRAGGLES", Host, Degrades)
        .texts(
            "One host reached much less than the others with the same job, or finished much later.",
            "The total is that of the slowest host; a mean over the hosts hides it.",
            "Look at the findings, the network path and the device of that host.",
        )
        .detector(host_straggles::detect)
        .between_hosts(),
    FindingKind::new("F076", "CELL_CONTRADICTED", Statistics, Degrades)
        .texts(
            "A cell of an experiment contradicts its neighbours or its own repeats.",
            "Throughput that falls with more I/Os in flight, or repeats that differ several times, show that something else used the device or the host while the cell was measured.",
            "Measure the cell again when nothing else uses the device; `fathom sweep` and `fathom suite` do this at their end while the time of --budget lasts.",
        )
        .between_cells(),
    FindingKind::new("F077", "LATENCY_ABOVE_CLASS", Target, Note)
        .texts(
            "With one I/O in flight, the mean latency is above the limit of the device's class: 20 ms for a hard disk, 3 ms for an SSD.",
            "A single I/O waits for no other I/O of the run, so the time is that of the device or of what is in between.",
            "Look for retries in the kernel log, other load, power saving, and a controller or a network in between.",
        )
        .detector(latency_above_class::detect),
    FindingKind::new("F078", "DEVICE_QUEUE_EXCEEDED", Target, Note)
        .texts(
            "More I/Os were in flight than the device accepts at once.",
            "The others wait in the kernel; a longer queue adds latency, and no throughput.",
            "Use at most the queue depth of the device; `fathom devices` shows it.",
        )
        .detector(device_queue_exceeded::detect),
    FindingKind::new("F080", "SCHEDULER_WAIT", Target, Note)
        .texts(
            "With `fathom run --blame`: a quarter or more of the response time passed in the queue of the I/O scheduler.",
            "That time is not the device's: the scheduler held the I/Os back, behind other requests or to keep a class of I/O waiting.",
            "Compare with the scheduler none (/sys/block/DEVICE/queue/scheduler), or with an idle device.",
        )
        .detector(blamed::scheduler),
    FindingKind::new("F081", "BEHIND_FLUSHES", Target, Note)
        .texts(
            "With `fathom run --blame`: a quarter or more of the response time passed while the device flushed its cache.",
            "Many devices serve nothing else during a flush, so the latencies are those of a device that is flushed this often.",
            "Look for who flushes: fsync= of the jobs, the journal of the file system, or another program.",
        )
        .detector(blamed::flushes),
    FindingKind::new("F082", "BEHIND_OWN_WRITES", Plan, Note)
        .texts(
            "With `fathom run --blame`: a quarter or more of the response time of small I/Os passed while large writes of the load itself were in the device.",
            "The latency of the small I/Os is that of a device under the load's own writes.",
            "Measure the small I/Os alone too.",
        )
        .detector(blamed::own_writes),
    FindingKind::new("F083", "REAPED_LATE", Generator, Degrades)
        .texts(
            "With `fathom run --blame`: a quarter or more of the response time passed after the device had completed the I/Os.",
            "The load generator saw the completions late, so the latencies are not those of the device.",
            "Leave a CPU for each worker (cpus_allowed=, fewer jobs), or reap smaller batches (iodepth_batch_complete_max=).",
        )
        .detector(blamed::reaped_late),
    FindingKind::new("F088", "BURST_ENDED", Target, Degrades)
        .texts(
            "The rate fell from a burst to a base rate, as a token bucket that runs dry does.",
            "Providers sell a base rate and lend a burst: the first minutes are not what the volume keeps, and a mean over both is neither.",
            "Judge the volume by its base rate; let the bucket fill before a run that measures the burst.",
        )
        .detector(burst_ended::detect),
    FindingKind::new("F089", "SMOOTH_CEILING", Target, Degrades)
        .texts(
            "All parts of the run have exactly the same rate, and every I/O waited for it.",
            "A limiter without pauses hides the device: the rate is a setting, and the latency is the queue depth divided by it.",
            "Find the limit (volume, instance, QoS, container), or report the result as that of the limit.",
        )
        .detector(smooth_ceiling::detect),
    FindingKind::new("F090", "CEILING_BY_SIZE", Target, Degrades)
        .texts(
            "Jobs with several block sizes show what a limit counts: I/Os, bytes, or I/Os of at most so many bytes.",
            "A limit of I/Os gives large blocks more bandwidth, a limit of bytes gives small blocks more IOPS: a result of one size says nothing about another.",
            "State the block size with the result, and choose it by what the limit counts.",
        )
        .detector(ceiling_by_size::detect),
    FindingKind::new("F093", "COMMAND_FAILED", Plan, Degrades)
        .texts(
            "The watched command ended with an exit code other than 0.",
            "A program that fails early does less work, and can look faster.",
            "Read its output, remove the cause, and watch it again.",
        )
        .detector(command_failed::detect)
        .about_commands(),
    FindingKind::new("F094", "PROCESSES_LEFT", Plan, Note)
        .texts(
            "Processes of the watched command still ran when the command had ended.",
            "Their I/O after the end is not counted, and can disturb the next measurement.",
            "Let the command wait for its processes, or stop them before the end.",
        )
        .detector(processes_left::detect)
        .about_commands(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_has_its_texts_and_a_detector_or_a_check() {
        for kind in FINDINGS {
            assert!(
                [kind.meaning, kind.importance, kind.remedy]
                    .iter()
                    .all(|text| text.ends_with('.')),
                "{}",
                kind.code
            );
            assert!(
                kind.is_detected() || kind.is_checked() || kind.between_cells,
                "{}",
                kind.code
            );
        }
        let mut codes: Vec<_> = FINDINGS.iter().map(|kind| kind.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), FINDINGS.len(), "duplicate code");
    }

    #[test]
    fn unknown_codes_have_none() {
        assert!(explain("NO_SUCH_CODE").is_none());
        assert!(explain("short_io").is_some());
    }
}
