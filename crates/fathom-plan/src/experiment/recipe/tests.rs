//! Recipes as files, and their cells.
#![cfg(test)]

use fathom_model::{Bytes, Nanos};

use super::*;

const SHORT: &str =
    "schema = 1\nname = \"short\"\ntitle = \"A short one\"\n\n[[step]]\nname = \"one\"\n";

fn built_in(name: &str) -> Recipe {
    let file = format!("{}/../../suites/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("a built-in recipe");
    read_recipe(name, &text).unwrap_or_else(|error| panic!("{error}"))
}

fn target(writes: bool) -> RunTarget {
    RunTarget {
        target: "/mnt/x".into(),
        size: Bytes::new(1 << 30),
        writes,
        time_divisor: 1,
    }
}

fn of(cell: &crate::PlannedCell, option: &str) -> Option<String> {
    cell.settings
        .iter()
        .rev()
        .find(|(name, _)| name == option)
        .map(|(_, value)| value.clone())
}

/// The standard's constants: 7 mixes x 8 sizes from large to small, a minute each, 25 rounds, three tracked cells.
#[test]
fn a_round_of_pts_iops_is_56_minutes_in_the_order_of_the_standard() {
    let recipe = built_in("pts-iops");
    assert_eq!(recipe.steps.len(), 2);
    let (fill, rounds) = (&recipe.steps[0], &recipe.steps[1]);
    assert!(fill.purge && fill.prepares && fill.passes == Some(2));
    let cells = recipe.cells(rounds, &target(true), &[]);
    assert_eq!(cells.len(), 56);
    let first: Vec<&str> = cells.iter().take(2).map(|cell| cell.key.as_str()).collect();
    assert_eq!(
        first,
        ["rounds rwmixread=100 bs=1m", "rounds rwmixread=100 bs=128k"]
    );
    assert_eq!(cells[55].key, "rounds rwmixread=0 bs=512");
    assert!(
        cells
            .iter()
            .all(|cell| of(cell, "runtime").as_deref() == Some("60000000us"))
    );
    let outstanding = |name: &str| {
        of(&cells[0], name)
            .expect("set")
            .parse::<u32>()
            .expect("a number")
    };
    assert_eq!(outstanding("iodepth") * outstanding("numjobs"), 128);
    let tracked = &rounds.rounds.as_ref().expect("rounds").tracked;
    assert_eq!(tracked.len(), 3);
    assert_eq!(rounds.rounds.as_ref().map(|rounds| rounds.max), Some(25));
    let minutes = recipe.time(rounds, &target(true)).expect("a time").get() * 56;
    assert_eq!(Nanos::new(minutes), Nanos::from_secs(56 * 60));
}

/// HIR: 5, 10, 15, 25, 50 s idle after 5 s of writes, 360 times: 13 h 45 min of loops, and 2 h 30 min between.
#[test]
fn the_other_procedures_have_their_constants() {
    let hir = built_in("pts-hir");
    let seconds = |name: &str| {
        hir.steps
            .iter()
            .filter(|step| step.name.starts_with(name))
            .map(|step| step.time.expect("a time").get() / 1_000_000_000)
            .sum::<u64>()
    };
    assert_eq!(seconds("idle-"), 360 * (10 + 15 + 20 + 30 + 55));
    assert_eq!(seconds("back-"), 5 * 1800);
    let xsr = built_in("pts-xsr");
    assert_eq!(
        xsr.steps
            .iter()
            .map(|step| step.time.expect("a time").get() / 3_600_000_000_000)
            .collect::<Vec<_>>(),
        [8, 6, 8]
    );
    let wsat = built_in("pts-wsat").steps[0]
        .rounds
        .clone()
        .expect("rounds");
    assert_eq!(
        (wsat.soak, wsat.written),
        (Some(Nanos::from_secs(1800)), Some(4))
    );
    assert!(
        u64::from(wsat.max) * 31 <= 24 * 60 && (u64::from(wsat.max) + 1) * 31 > 24 * 60,
        "24 hours of 31 minutes"
    );
    let latency = built_in("pts-latency");
    assert_eq!(
        latency.cells(&latency.steps[1], &target(true), &[]).len(),
        9
    );
    assert_eq!(
        latency.steps[1].rounds.as_ref().map(|rounds| rounds.figure),
        Some(Tracked::Mean)
    );
    assert_eq!(
        built_in("pts-throughput")
            .steps
            .iter()
            .filter(|step| step.purge)
            .count(),
        2
    );
}

#[test]
fn parallel_jobs_have_their_own_parts_of_the_target() {
    let recipe = built_in("mysql-16k");
    let cell = &recipe.cells(&recipe.steps[1], &target(true), &[])[0];
    assert_eq!(of(cell, "numjobs").as_deref(), Some("8"));
    assert_eq!(of(cell, "size"), Some((128_u64 << 20).to_string()));
    assert_eq!(of(cell, "offset_increment"), of(cell, "size"));
}

#[test]
fn too_large_sizes_are_left_out_and_read_only_targets_are_only_read() {
    let sets = built_in("working-set");
    let keys: Vec<String> = sets
        .cells(&sets.steps[0], &target(false), &[])
        .into_iter()
        .map(|cell| cell.key)
        .collect();
    assert_eq!(keys.last().map(String::as_str), Some("even size=1g"));
    let surface = built_in("surface");
    let rw = |writes| {
        of(
            &surface.cells(&surface.steps[0], &target(writes), &[])[0],
            "rw",
        )
    };
    assert_eq!(
        (rw(true).as_deref(), rw(false).as_deref()),
        (Some("randrw"), Some("randread"))
    );
}

#[test]
fn levels_are_combined_and_labelled() {
    let map = built_in("interference");
    let level = |option: &str, value: &str, label: &str| Setting {
        option: option.into(),
        value: value.into(),
        label: label.into(),
    };
    let levels = vec![vec![
        level("reads.rate_iops", "900", "90%"),
        level("writes.rate", "1000000", "10%"),
    ]];
    let cells = map.cells(&map.steps[2], &target(true), &levels);
    assert_eq!(cells[0].key, "map reads.rate_iops=90% writes.rate=10%");
    assert_eq!(of(&cells[0], "reads.rate_iops").as_deref(), Some("900"));
}

#[test]
fn a_rehearsal_is_shorter_but_never_empty() {
    let recipe = built_in("pts-iops");
    let rehearsal = RunTarget {
        time_divisor: 60,
        ..target(true)
    };
    assert_eq!(
        recipe.time(&recipe.steps[1], &rehearsal),
        Some(Nanos::from_secs(1))
    );
    let rehearsal = RunTarget {
        time_divisor: 1_000_000,
        ..rehearsal
    };
    assert_eq!(
        recipe.time(&recipe.steps[1], &rehearsal),
        Some(Nanos::from_millis(100))
    );
}

/// Every mistake names its line.
#[test]
fn errors_name_their_line() {
    for (more, line, what) in [
        ("nonsense = 1\n", 7, "unknown key 'nonsense'"),
        ("titel = \"x\"\n", 7, "did you mean title?"),
        (
            "options = { iodpeth = 1 }\n",
            7,
            "unknown option 'iodpeth'; did you mean iodepth?",
        ),
        (
            "options = { size = \"1g\" }\n",
            7,
            "size is set by the target",
        ),
        ("axes = [\"bs=4k\", \"bs\"]\n", 7, "an axis is NAME=VALUES"),
        (
            "axes = [\"target=/a\"]\n",
            7,
            "a recipe cannot set the target",
        ),
        ("time = \"soon\"\n", 7, "time must be a time such as"),
        ("time = 5\n", 7, "time must be a string in quotes"),
        ("passes = 0\n", 7, "passes must be a number from 1 to 1000"),
        ("rounds = 4\n", 7, "rounds must be a number from 5 to"),
        (
            "axes = [\"bs=4k,8k\"]\nrounds = 25\nsteady = [\"bs=16k\"]\n",
            9,
            "'bs=16k' is not a cell of this step",
        ),
        (
            "axes = [\"bs=4k,8k\"]\nrounds = 25\n",
            5,
            "list the cells that must reach a steady state",
        ),
        (
            "soak = \"1s\"\n",
            7,
            "needs rounds, for example `rounds = 25`",
        ),
        (
            "levels = [{ option = \"rate_iops\", of = \"two\", percent = [1] }]\n",
            7,
            "no earlier step 'two'",
        ),
        ("prepares = \"yes\"\n", 7, "prepares must be true or false"),
        ("[[step]]\nname = \"one\"\n", 8, "two steps are named one"),
        ("[[step]]\nname = \"Two\"\n", 8, "lower-case letters"),
        ("title = \"x\n", 7, "invalid TOML"),
        ("[step.options.deep]\nx = 1\n", 7, "unknown option 'deep'"),
    ] {
        let error = read_recipe("my.toml", &format!("{SHORT}{more}")).expect_err(more);
        assert!(error.problem.contains(what), "{more}: {error}");
        assert_eq!(error.line, line, "{more}: {error}");
        assert!(error.to_string().starts_with(&format!("my.toml:{line}: ")));
    }
    assert!(read_recipe("x", SHORT).is_ok());
    assert!(
        read_recipe("x", "")
            .expect_err("empty")
            .problem
            .contains("schema")
    );
    assert!(
        read_recipe("x", "schema = 2\n")
            .expect_err("newer")
            .problem
            .contains("from 1 to 1")
    );
    assert!(
        read_recipe("x", "schema = 1\nname = \"a\"\ntitle = \"b\"\n")
            .expect_err("no step")
            .problem
            .contains("[[step]]")
    );
}
