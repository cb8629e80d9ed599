//! The causes of silently wrong figures, the findings that report each, and the test that triggers
//! it; the page `docs/findings.md` made of them and of the table of findings.

use fathom_analyse::{by_number, explain};

/// How a test triggers a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// On a real kernel, through the program.
    Real,
    /// The same, with one part simulated that test machines lack or share.
    Simulated(&'static str),
}

/// One cause of silently wrong figures.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// Its number.
    pub number: &'static str,
    /// What goes wrong.
    pub title: &'static str,
    /// Codes of the findings that report it.
    pub findings: &'static [&'static str],
    /// How it is triggered.
    pub trigger: Trigger,
    /// Test file, relative to the root of the repository, and its test.
    pub test: (&'static str, &'static str),
}

const MEASURED: &str = "crates/fathom/tests/measure/findings.rs";
const FINDINGS_RS: &str = "crates/fathom/tests/it/findings.rs";
const ERRORS: &str = "crates/fathom/tests/it/silent_errors.rs";
const STALL: &str = "crates/fathom/tests/it/stall.rs";
const CHECK: &str = "crates/fathom/tests/it/check.rs";
const STAGED: &str = "crates/fathom/tests/it/staged.rs";

const fn cause(
    number: &'static str,
    title: &'static str,
    findings: &'static [&'static str],
    trigger: Trigger,
    test: (&'static str, &'static str),
) -> Cause {
    Cause {
        number,
        title,
        findings,
        trigger,
        test,
    }
}

/// All causes.
pub const CAUSES: &[Cause] = &[
    cause(
        "1",
        "Coordinated omission: a stopped generator hides its pause",
        &["GENERATOR_STALL", "LATE_ISSUE"],
        Trigger::Real,
        (STALL, "a_second_of_sigstop_is_detected"),
    ),
    cause(
        "2",
        "Generator stopped or throttled by a CPU quota",
        &["CPU_THROTTLED", "GENERATOR_STALL", "WORKER_WAITED"],
        Trigger::Real,
        (FINDINGS_RS, "a_cpu_quota"),
    ),
    cause(
        "3",
        "CPU-bound generator mistaken for the device's limit",
        &["TOOL_BOUND"],
        Trigger::Real,
        (MEASURED, "the_generator_is_the_limit"),
    ),
    cause(
        "4",
        "Stolen CPU time and noisy neighbours",
        &["HOST_BUSY", "STEAL", "WORKER_WAITED"],
        Trigger::Real,
        (MEASURED, "noisy_neighbours"),
    ),
    cause(
        "5",
        "Page cache",
        &["PAGE_CACHE", "WORKING_SET_CACHED"],
        Trigger::Real,
        (FINDINGS_RS, "reads_from_the_page_cache"),
    ),
    cause(
        "6",
        "Direct I/O that is not direct",
        &["DIRECT_NOT_DIRECT", "MEMORY_BACKED", "LOOP_BUFFERED"],
        Trigger::Real,
        (FINDINGS_RS, "direct_io_that_uses_the_page_cache"),
    ),
    cause(
        "7",
        "Holes and blocks that were only allocated",
        &["HOLES_READ"],
        Trigger::Real,
        (FINDINGS_RS, "holes_and_reserved_blocks"),
    ),
    cause(
        "8",
        "Compressible or repeated data",
        &["SOFT_PAYLOAD"],
        Trigger::Real,
        (FINDINGS_RS, "a_payload_of_zeros"),
    ),
    cause(
        "9",
        "Short I/O counted as complete",
        &["SHORT_IO"],
        Trigger::Real,
        (ERRORS, "short_reads_are_reported"),
    ),
    cause(
        "10",
        "Reads past the end of a target that shrank",
        &["TARGET_SHRANK"],
        Trigger::Real,
        (ERRORS, "a_file_truncated_during_the_run_is_reported"),
    ),
    cause(
        "11",
        "Errors counted as completions",
        &["IO_ERROR", "TIMED_OUT"],
        Trigger::Real,
        (ERRORS, "continued_errors_equal_those_of_the_device"),
    ),
    cause(
        "12",
        "Histogram clamped",
        &["FIO_BINS_CLAMPED", "HISTOGRAM_OVERFLOW"],
        Trigger::Simulated("a device of 20 s"),
        (
            "crates/fathom/tests/it/known_answers.rs",
            "twenty_seconds_are_twenty_seconds",
        ),
    ),
    cause(
        "13",
        "Time source problems",
        &["WALL_CLOCK_STEPPED", "CLOCK_DRIFT"],
        Trigger::Simulated("a clock of its own for the program"),
        (STAGED, "a_wall_clock_that_is_set_and_drifts"),
    ),
    cause(
        "14",
        "Logs and summary disagree (in fio's results; fathom's share one count, which F003 checks)",
        &["LOGS_MISLEAD", "SUMMARY_DISAGREES"],
        Trigger::Real,
        (CHECK, "fio_logs_that_disagree_with_the_summary"),
    ),
    cause(
        "15",
        "Percentiles merged by averaging (in published results; fathom merges histograms)",
        &["PERCENTILES_AVERAGED"],
        Trigger::Simulated("the percentiles of two jobs of fio"),
        (CHECK, "averaged_percentiles_are_detected"),
    ),
    cause(
        "16",
        "Write cache and missing flush",
        &["VOLATILE_CACHE_NO_FLUSH", "FLUSH_UNPROVEN"],
        Trigger::Real,
        (FINDINGS_RS, "writes_to_a_volatile_cache"),
    ),
    cause(
        "16b",
        "Cache setting changed in the kernel only",
        &["CACHE_SETTING_DISAGREES"],
        Trigger::Real,
        (FINDINGS_RS, "writes_to_a_volatile_cache"),
    ),
    cause(
        "17",
        "Not in steady state",
        &["NOT_STEADY"],
        Trigger::Real,
        (MEASURED, "a_device_that_slows_down"),
    ),
    cause(
        "18",
        "Thermal throttling",
        &["TOO_HOT", "CPU_SLOWED"],
        Trigger::Simulated("temperature and frequency sensors"),
        (
            "crates/fathom/tests/measure/staged.rs",
            "an_overheating_device",
        ),
    ),
    cause(
        "19",
        "Burst credits and QoS limits",
        &[
            "RATE_LIMITED",
            "CEILING_REACHED",
            "BURST_ENDED",
            "SMOOTH_CEILING",
            "CEILING_BY_SIZE",
        ],
        Trigger::Real,
        (MEASURED, "a_rate_limiter"),
    ),
    cause(
        "20",
        "Requests split or merged",
        &["REQUESTS_RESIZED"],
        Trigger::Real,
        (FINDINGS_RS, "requests_split_by_a_small_max_sectors"),
    ),
    cause(
        "21",
        "Latent settings from an earlier test",
        &["SETTINGS_REDUCED", "SETTINGS_CHANGED"],
        Trigger::Real,
        (FINDINGS_RS, "a_queue_setting_changed_during_the_run"),
    ),
    cause(
        "22",
        "Another program uses the device",
        &["FOREIGN_IO"],
        Trigger::Real,
        (FINDINGS_RS, "other_io_on_the_device"),
    ),
    cause(
        "23",
        "A worker died",
        &["WORKER_DIED"],
        Trigger::Real,
        (
            "crates/fathom/tests/it/interrupts.rs",
            "a_second_interrupt_aborts_a_hung_run",
        ),
    ),
    cause(
        "24",
        "The main process died and its load continued (other programs; fathom's load ends with it)",
        &["TARGET_SHARED"],
        Trigger::Real,
        (FINDINGS_RS, "workers_that_outlive_their_parent"),
    ),
    cause(
        "25",
        "Queue depth not reached",
        &["DEPTH_NOT_REACHED", "SYNC_ENGINE_DEPTH", "LITTLE_DISAGREES"],
        Trigger::Real,
        (MEASURED, "a_queue_depth_that_is_not_reached"),
    ),
    cause(
        "26",
        "Verification without verified blocks",
        &["VERIFY_NOTHING", "VERIFY_FAILED"],
        Trigger::Real,
        (FINDINGS_RS, "verification_that_did_not_run"),
    ),
    cause(
        "27",
        "One of several hosts disappeared (in results of fio's client and server)",
        &["HOST_LOST"],
        Trigger::Real,
        (CHECK, "a_missing_host_is_detected"),
    ),
];

/// The page `docs/findings.md`: the verdict rule, the causes with their tests, and every finding.
#[must_use]
pub fn findings_page() -> String {
    let mut page = HEAD.to_owned();
    for cause in CAUSES {
        page += &format!(
            "| {} | {} | {} | {} |\n",
            cause.number,
            cause.title,
            reported_by(cause),
            test_of(cause)
        );
    }
    let simulated = CAUSES
        .iter()
        .filter(|cause| matches!(cause.trigger, Trigger::Simulated(_)))
        .count();
    page += &format!(
        "\nTests trigger all {} through the program on a real kernel, {simulated} of them with a simulated part, as marked.\n\n## Every finding\n\n",
        CAUSES.len()
    );
    page += "| Number | Code | Category | Found in | Meaning | What to do |\n|---|---|---|---|---|---|\n";
    for kind in by_number() {
        let source = if kind.is_detected() {
            "runs"
        } else if kind.between_cells {
            "experiments"
        } else {
            "imported results"
        };
        page += &format!(
            "| {} | {} | {} | {source} | {} | {} |\n",
            kind.id,
            kind.code,
            kind.category.name(),
            kind.meaning,
            kind.remedy
        );
    }
    page
}

fn reported_by(cause: &Cause) -> String {
    let number =
        |name: &&str| explain(name).map_or(String::new(), |one| format!("{} {}", one.id, one.code));
    cause
        .findings
        .iter()
        .map(number)
        .collect::<Vec<_>>()
        .join(", ")
}

fn test_of(cause: &Cause) -> String {
    let (file, test) = cause.test;
    match cause.trigger {
        Trigger::Real => format!("`{file}`: {test}"),
        Trigger::Simulated(what) => format!("`{file}`: {test} (simulated: {what})"),
    }
}

const HEAD: &str = "\
# Findings

Generated from `crates/fathom-analyse/src/catalogue.rs`; a test checks that it is current. `fathom explain F012`, or the code, prints more.

## Verdict

Each finding has a weight. The worst weight of a run decides:

* One finding **invalidates**: the run is *invalid*, its results are wrong or incomplete, and the exit code is 1.
* Otherwise, one finding **degrades**: the run is *degraded*, its results hold only for the conditions that the findings name.
* Otherwise, with or without notes: the run is *valid*, no known problem affects its results.

A finding invalidates if I/O is missing, wrong or was never done, or if the generator delayed more than one response in a
hundred. It degrades if something other than the target influenced the figures. It is a note if the figures are correct but
easy to misread. `fathom_analyse::verdict` implements this rule.

## Tests

Every detector has an artificial recording in `crates/fathom-analyse/tests/it/triggers`, with the exact sentence expected; another
test disables each detector and checks that the sentence is gone. The tests below run the program on a real kernel and fail
without the detector. `scripts/false-alarms` counts the findings of clean runs.

| Cause | Problem | Finding | Test that triggers it |
|---|---|---|---|
";
