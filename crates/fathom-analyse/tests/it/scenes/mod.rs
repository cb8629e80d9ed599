//! The scenes of every finding: it fires at its limit, and is silent without its cause and just below its limit.
//!
//! A fact, such as a run that was interrupted, has no size and so no limit: [`crate::triggers`] has the run in which it fires.
//! What a simulated machine can cause has its scenes in `crates/fathom/tests/it/detector_scenes`, through the whole program.

use std::collections::BTreeSet;

use fathom_analyse::{FINDINGS, check, checks, detectors, findings};
use fathom_model::{Finding, Recording};

mod cells;
mod conditions;
mod hosts;
mod imported;
mod loads;

/// The scenes of one finding: of runs, or of figures of others.
pub struct Scenes<T: 'static> {
    pub code: &'static str,
    /// A scene at the limit, and what the evidence contains. `None` for a fact.
    pub fires: Option<(fn() -> T, &'static str)>,
    /// Scenes without the cause, and just below the limit.
    pub silent: &'static [fn() -> T],
}

impl<T> Scenes<T> {
    /// Those of a fact.
    pub const fn fact(code: &'static str, silent: &'static [fn() -> T]) -> Self {
        Self {
            code,
            fires: None,
            silent,
        }
    }

    /// Those of a finding with a limit.
    pub const fn limit(
        code: &'static str,
        fires: (fn() -> T, &'static str),
        silent: &'static [fn() -> T],
    ) -> Self {
        Self {
            code,
            fires: Some(fires),
            silent,
        }
    }
}

/// Findings whose scenes run on a simulated machine, and the file of the scenes.
const ON_A_MACHINE: &[(&str, &str)] = &[
    ("BURST_ENDED", "target.rs"),
    ("CEILING_BY_SIZE", "target.rs"),
    ("CEILING_REACHED", "target.rs"),
    ("CLONES_OVERLAP", "load.rs"),
    ("CPU_SLOWED", "host.rs"),
    ("FEW_SAMPLES", "load.rs"),
    ("FIO_BINS_CLAMPED", "load.rs"),
    ("FLUSH_UNPROVEN", "host.rs"),
    ("FOREIGN_IO", "target.rs"),
    ("GENERATOR_STALL", "host.rs"),
    ("IO_ERROR", "target.rs"),
    ("JOBS_APART", "load.rs"),
    ("JOB_SKIPPED", "load.rs"),
    ("LATE_ISSUE", "target.rs"),
    ("MEMORY_PRESSURE", "host.rs"),
    ("NOT_STEADY", "target.rs"),
    ("RAN_SHORT", "load.rs"),
    ("RATE_LIMITED", "target.rs"),
    ("RATE_NOT_REACHED", "load.rs"),
    ("REPEATED_ADDRESSES", "load.rs"),
    ("REPLAY_CUT", "load.rs"),
    ("REPLAY_LAG", "load.rs"),
    ("SMOOTH_CEILING", "target.rs"),
    ("SOFT_PAYLOAD", "load.rs"),
    ("STEAL", "host.rs"),
    ("SYNC_ENGINE_DEPTH", "load.rs"),
    ("TARGET_STALLED", "target.rs"),
    ("TIMED_OUT", "target.rs"),
    ("WALL_CLOCK_STEPPED", "host.rs"),
];

fn of_runs() -> impl Iterator<Item = &'static Scenes<Recording>> {
    [loads::SCENES, conditions::SCENES, hosts::SCENES]
        .into_iter()
        .flatten()
}

/// A finding of a row with a limit is silent without its cause and below the limit; a fact is silent without its cause.
fn least_silent(has_limit: bool) -> usize {
    if has_limit { 2 } else { 1 }
}

#[test]
fn every_finding_has_its_scenes() {
    let codes = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<BTreeSet<_>>();
    let in_memory = codes(&mut of_runs().map(|one| one.code));
    let on_a_machine = codes(&mut ON_A_MACHINE.iter().map(|one| one.0));
    assert!(in_memory.is_disjoint(&on_a_machine));
    let of_figures = codes(&mut imported::SCENES.iter().map(|one| one.code));
    let scenes: BTreeSet<_> = in_memory.union(&on_a_machine).copied().collect();
    assert_eq!(scenes, codes(&mut detectors().map(|kind| kind.code)));
    assert_eq!(of_figures, codes(&mut checks().map(|kind| kind.code)));
    let between_cells = FINDINGS.iter().filter(|kind| kind.between_cells);
    assert_eq!(
        codes(&mut between_cells.map(|kind| kind.code)),
        BTreeSet::from([cells::CODE])
    );
    for one in of_runs() {
        assert!(
            one.silent.len() >= least_silent(one.fires.is_some()),
            "{}",
            one.code
        );
    }
    for one in imported::SCENES {
        assert!(
            one.silent.len() >= least_silent(one.fires.is_some()),
            "{}",
            one.code
        );
    }
}

/// `check` of that directory demands scenes that fire and scenes that are silent.
#[test]
fn scenes_on_a_machine_are_where_they_are_said_to_be() {
    let directory = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fathom/tests/it/detector_scenes"
    );
    for (code, file) in ON_A_MACHINE {
        let text =
            std::fs::read_to_string(format!("{directory}/{file}")).expect("a file of scenes");
        let call: String = format!("check(\"{code}\",");
        let packed: String = text.split_whitespace().collect();
        assert!(packed.contains(&call), "{code} has no scenes in {file}");
    }
}

/// What is wrong with one finding: that it does not fire, with its evidence, or that it fires where it must not.
fn wrong<T>(
    code: &str,
    fires: Option<(fn() -> T, &str)>,
    silent: &[fn() -> T],
    evidence: impl Fn(T) -> Option<String>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some((scene, expected)) = fires {
        let found = evidence(scene());
        if !found.as_deref().is_some_and(|text| text.contains(expected)) {
            wrong.push(format!("{code}: {found:?}"));
        }
    }
    for (number, scene) in silent.iter().enumerate() {
        let found = evidence(scene());
        wrong.extend(found.map(|text| format!("{code}, silent {number}: {text}")));
    }
    wrong
}

/// The evidence of the finding with this code.
fn evidence_of(code: &str, found: Vec<Finding>) -> Option<String> {
    let found = found.into_iter().find(|finding| finding.code == code);
    found.map(|finding| finding.evidence)
}

#[test]
fn findings_fire_at_their_limit_and_not_below_it() {
    let wrong = of_runs().flat_map(|one| {
        wrong(one.code, one.fires, one.silent, |run| {
            evidence_of(one.code, findings(&run).findings)
        })
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn checks_fire_at_their_limit_and_not_below_it() {
    let wrong = imported::SCENES.iter().flat_map(|one| {
        wrong(one.code, one.fires, one.silent, |input| {
            evidence_of(one.code, check(&input))
        })
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}
