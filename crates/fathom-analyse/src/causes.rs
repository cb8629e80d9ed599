//! The causes for which numbers are silently wrong, what finds each, and the scene that proves it.

use crate::detectors::{DETECTORS, Detector};
use crate::explain::{EXPLANATIONS, explain};

/// How a cause is set off in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// On a real kernel, through the program.
    Lab,
    /// The same, with a simulated part that this kind of machine lacks or shares: which.
    Staged(&'static str),
}

/// One cause of silently wrong numbers.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// Its number.
    pub number: &'static str,
    /// What goes wrong.
    pub title: &'static str,
    /// Names of the findings that tell it.
    pub findings: &'static [&'static str],
    /// How it is set off.
    pub proof: Proof,
    /// Test file below the root of the repository, and its test.
    pub scene: (&'static str, &'static str),
}

const SCENES: &str = "crates/fathom/tests/findings.rs";
const ERRORS: &str = "crates/fathom/tests/silent_errors.rs";
const STALL: &str = "crates/fathom/tests/stall.rs";
const CHECK: &str = "crates/fathom/tests/check.rs";
const STAGED: &str = "crates/fathom/tests/staged.rs";

const fn cause(
    number: &'static str,
    title: &'static str,
    findings: &'static [&'static str],
    proof: Proof,
    scene: (&'static str, &'static str),
) -> Cause {
    Cause {
        number,
        title,
        findings,
        proof,
        scene,
    }
}

/// All of them.
pub const CAUSES: &[Cause] = &[
    cause(
        "1",
        "Coordinated omission: a stopped generator hides its pause",
        &["GENERATOR_STALL", "LATE_ISSUE"],
        Proof::Lab,
        (STALL, "a_second_of_sigstop_is_seen"),
    ),
    cause(
        "2",
        "Generator stopped or starved by a CPU quota",
        &["CPU_THROTTLED", "GENERATOR_STALL", "WORKER_WAITED"],
        Proof::Lab,
        (SCENES, "a_cpu_quota"),
    ),
    cause(
        "3",
        "CPU-bound generator taken for the device's limit",
        &["TOOL_BOUND"],
        Proof::Lab,
        (SCENES, "the_generator_is_the_limit"),
    ),
    cause(
        "4",
        "Stolen CPU time and noisy neighbours",
        &["HOST_BUSY", "STEAL", "WORKER_WAITED"],
        Proof::Lab,
        (SCENES, "noisy_neighbours"),
    ),
    cause(
        "5",
        "Page cache",
        &["PAGE_CACHE", "WORKING_SET_CACHED"],
        Proof::Lab,
        (SCENES, "reads_from_the_page_cache"),
    ),
    cause(
        "6",
        "Direct I/O that is not direct",
        &["DIRECT_NOT_DIRECT", "MEMORY_BACKED", "LOOP_BUFFERED"],
        Proof::Lab,
        (SCENES, "direct_io_that_is_not"),
    ),
    cause(
        "7",
        "Holes and blocks that were only reserved",
        &["HOLES_READ"],
        Proof::Lab,
        (SCENES, "holes_and_reserved_blocks"),
    ),
    cause(
        "8",
        "Compressible or repeated data",
        &["SOFT_PAYLOAD"],
        Proof::Lab,
        (SCENES, "a_payload_of_zeros"),
    ),
    cause(
        "9",
        "Short I/O counted as done",
        &["SHORT_IO"],
        Proof::Lab,
        (ERRORS, "short_reads_are_told"),
    ),
    cause(
        "10",
        "Reads past the end of a target that shrank",
        &["TARGET_SHRANK"],
        Proof::Lab,
        (ERRORS, "a_file_truncated_under_the_run_is_told"),
    ),
    cause(
        "11",
        "Errors counted as completions",
        &["IO_ERROR", "TIMED_OUT"],
        Proof::Lab,
        (ERRORS, "continued_errors_are_exactly_those_of_the_device"),
    ),
    cause(
        "12",
        "Histogram clamped",
        &["FIO_BINS_CLAMPED", "HISTOGRAM_OVERFLOW"],
        Proof::Lab,
        (
            "crates/fathom/tests/known_answers.rs",
            "twenty_seconds_are_twenty_seconds",
        ),
    ),
    cause(
        "13",
        "Time source trouble",
        &["WALL_CLOCK_STEPPED", "CLOCK_DRIFT"],
        Proof::Staged("a clock of its own for the program"),
        (STAGED, "a_clock_that_is_set_and_drifts"),
    ),
    cause(
        "14",
        "Logs and summary disagree (fio's; ours are one count, and F003 would tell)",
        &["LOGS_MISLEAD", "SUMMARY_DISAGREES"],
        Proof::Lab,
        (CHECK, "logs_of_fio_that_disagree_with_its_summary"),
    ),
    cause(
        "15",
        "Percentiles merged by averaging (by others; ours come from merged histograms)",
        &["PERCENTILES_AVERAGED"],
        Proof::Lab,
        (CHECK, "an_averaged_percentile_is_none"),
    ),
    cause(
        "16",
        "Write cache and missing flush",
        &["VOLATILE_CACHE_NO_FLUSH", "FLUSH_UNPROVEN"],
        Proof::Lab,
        (SCENES, "writes_into_a_volatile_cache"),
    ),
    cause(
        "16b",
        "Cache setting changed in the kernel only",
        &["CACHE_SETTING_DISAGREES"],
        Proof::Lab,
        (SCENES, "writes_into_a_volatile_cache"),
    ),
    cause(
        "17",
        "Not in steady state",
        &["NOT_STEADY"],
        Proof::Lab,
        (SCENES, "a_device_that_slows_down"),
    ),
    cause(
        "18",
        "Thermal throttling",
        &["TOO_HOT", "CPU_SLOWED"],
        Proof::Staged("temperature and frequency sensors"),
        (STAGED, "a_machine_that_gets_hot"),
    ),
    cause(
        "19",
        "Burst credits and QoS limits",
        &["RATE_LIMITED", "CEILING_REACHED"],
        Proof::Lab,
        (SCENES, "a_rate_limiter"),
    ),
    cause(
        "20",
        "Requests split or merged",
        &["REQUESTS_RESIZED"],
        Proof::Lab,
        (SCENES, "requests_split_by_an_old_setting"),
    ),
    cause(
        "21",
        "Latent settings from an earlier test",
        &["SETTINGS_REDUCED", "SETTINGS_CHANGED"],
        Proof::Lab,
        (SCENES, "a_queue_setting_changed_on_the_way"),
    ),
    cause(
        "22",
        "Someone else uses the device",
        &["FOREIGN_IO"],
        Proof::Lab,
        (SCENES, "somebody_else_on_the_device"),
    ),
    cause(
        "23",
        "A worker died",
        &["WORKER_DIED"],
        Proof::Lab,
        (
            "crates/fathom/tests/interrupts.rs",
            "a_second_interrupt_aborts_a_hung_run",
        ),
    ),
    cause(
        "24",
        "The main process died and its load went on (another program's; ours ends with it)",
        &["TARGET_SHARED"],
        Proof::Lab,
        (SCENES, "workers_that_outlive_their_program"),
    ),
    cause(
        "25",
        "Queue depth not reached",
        &["DEPTH_NOT_REACHED", "SYNC_ENGINE_DEPTH", "LITTLE_DISAGREES"],
        Proof::Lab,
        (SCENES, "a_depth_that_is_not_reached"),
    ),
    cause(
        "26",
        "Verification that verifies nothing",
        &["VERIFY_NOTHING", "VERIFY_FAILED"],
        Proof::Lab,
        (SCENES, "a_check_that_did_not_take_place"),
    ),
    cause(
        "27",
        "A host of several vanished (in results of fio's client and server)",
        &["HOST_LOST"],
        Proof::Lab,
        (CHECK, "a_host_that_vanished"),
    ),
];

/// The page `docs/findings.md`: the rule of the verdict, the causes with their scenes, and every finding.
#[must_use]
pub fn findings_page() -> String {
    let mut page = HEAD.to_owned();
    for cause in CAUSES {
        page += &format!(
            "| {} | {} | {} | {} |\n",
            cause.number,
            cause.title,
            told_by(cause),
            scene(cause)
        );
    }
    let staged = CAUSES
        .iter()
        .filter(|cause| matches!(cause.proof, Proof::Staged(_)))
        .count();
    page += &format!(
        "\nAll {} are set off through the program on a real kernel, {staged} of them with a simulated part, as marked.\n\n## Every finding\n\n",
        CAUSES.len()
    );
    page += "| Number | Name | Seen in | What was seen | What to do |\n|---|---|---|---|---|\n";
    for one in EXPLANATIONS {
        let place = if DETECTORS
            .iter()
            .any(|detector: &Detector| detector.code == one.code)
        {
            "runs"
        } else {
            "results of others"
        };
        page += &format!(
            "| {} | {} | {place} | {} | {} |\n",
            one.id, one.code, one.means, one.remedy
        );
    }
    page
}

fn told_by(cause: &Cause) -> String {
    let number =
        |name: &&str| explain(name).map_or(String::new(), |one| format!("{} {}", one.id, one.code));
    cause
        .findings
        .iter()
        .map(number)
        .collect::<Vec<_>>()
        .join(", ")
}

fn scene(cause: &Cause) -> String {
    let (file, test) = cause.scene;
    match cause.proof {
        Proof::Lab => format!("`{file}`: {test}"),
        Proof::Staged(what) => format!("`{file}`: {test} (simulated: {what})"),
    }
}

const HEAD: &str = "\
# Findings

Generated from the catalogue in `crates/fathom-analyse`; a test keeps it true. `fathom explain F012`, or the name, says more.

## The rule of the verdict

Each finding has a weight. The worst weight of a run decides:

* one finding that **invalidates**: the run is *invalid*, its numbers do not mean what they seem to, and the exit code is 1;
* else one that **degrades**: the run is *degraded*, its numbers hold for the conditions that the findings name;
* else, with notes or without: the run is *valid*, nothing known speaks against its numbers.

A finding invalidates where I/O is missing, wrong or was never done, or where more than one response in a hundred is the
generator's; it degrades where something other than the target took part in the figures; it is a note where the figures hold but
could be read wrongly. The rule is `fathom_analyse::verdict`, and nothing else decides.

## How each is proved

Every detector has a recording made to order in `crates/fathom-analyse/tests/scenes`, with the sentence expected word by word;
another test switches each detector off and sees to it that the sentence is gone. The scenes below go through the program on a
real kernel: without the detector they fail. `scripts/false-alarms` counts what clean runs set off.

| Cause | What goes wrong | Told by | Scene |
|---|---|---|---|
";
