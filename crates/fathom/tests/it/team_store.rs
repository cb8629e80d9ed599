//! A store on a PostgreSQL server, as its users see it: every command reads and writes it like a file.

use std::path::Path;

use crate::common::{Completed, program, start};
use fathom_testkit::{PG_PASSWORD, PgCluster, Scratch, require};
use serde_json::Value;

/// A store with runs of every kind.
const EVERY_KIND: &[u8] = include_bytes!("../../../fathom-store/tests/data/every-kind.db");

fn run_in(directory: &Path, store: &str, line: &str, variables: &[(&str, &str)]) -> Completed {
    let mut command = program(line.split_whitespace());
    command.current_dir(directory).env("FATHOM_STORE", store);
    for (name, value) in variables {
        command.env(name, value);
    }
    start(command).finish()
}

fn json(ran: &Completed) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

/// What the commands print and write of the same runs, from a file and from a server.
///
/// Regression 1406: after a copy the server made its plans for empty tables: a list of 1,000 of 100,000 runs took 175 ms instead of 48.
#[test]
fn every_command_reads_the_same_from_a_server_as_from_a_file() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let scratch = Scratch::new().expect("a directory");
    let server = cluster.database("team");
    std::fs::write(scratch.join("store.db"), EVERY_KIND).expect("the fixture is copied");
    let file = scratch.join("store.db").display().to_string();
    let copied = run_in(
        scratch.path(),
        "none",
        &format!("store copy {file} {server}"),
        &[],
    );
    assert_eq!(copied.code(), 0, "{}", copied.err);
    assert!(
        copied.out.starts_with("Copied ") && copied.out.ends_with("Their names are unchanged.\n"),
        "{}",
        copied.out
    );
    // The planner's own number of rows, -1 as long as it knows nothing of a table.
    let known = cluster
        .sql(
            "team",
            "SELECT reltuples FROM pg_class WHERE relname = 'run'",
        )
        .expect("a number");
    assert!(
        copied.out.contains(&format!(" {} runs", known.trim())),
        "{known}: {}",
        copied.out
    );
    let names: Vec<String> = json(&run_in(scratch.path(), &file, "runs --json", &[]))["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["run"].as_str().expect("a name").to_owned())
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    let mut lines = vec![
        "runs".to_owned(),
        "runs --json".to_owned(),
        "runs sweep --newest=2".to_owned(),
        "show latest".to_owned(),
        format!("compare {} {}", names[0], names[1]),
        format!("report {} {} --format=markdown", names[0], names[1]),
        format!("plot {} -o FILE.svg", names[0]),
        "resume --dry-run".to_owned(),
    ];
    for name in &names {
        lines.push(format!("show {name} --json"));
        lines.push(format!("show {name}"));
        lines.push(format!("export {name}"));
        lines.push(format!("export {name} --format=json"));
    }
    let mut printed = 0;
    for line in lines {
        let of = |store: &str, name: &str| {
            let ran = run_in(scratch.path(), store, &line.replace("FILE", name), &[]);
            let written = std::fs::read(scratch.join(format!("{name}.svg"))).unwrap_or_default();
            let clean = |text: &str| text.replace(store, "STORE").replace(name, "FILE");
            (ran.code(), clean(&ran.out), clean(&ran.err), written)
        };
        let (expected, found) = (of(&file, "a"), of(&server, "a"));
        assert!(expected == found, "{line}:\n{expected:?}\n{found:?}");
        printed += usize::from(expected.0 == 0 && !expected.1.is_empty());
    }
    assert!(
        printed > 2 * names.len(),
        "{printed} commands printed a result"
    );
    // Back in a file it is the same again.
    let back = scratch.join("back.db").display().to_string();
    assert_eq!(
        run_in(
            scratch.path(),
            "none",
            &format!("store copy {server} {back}"),
            &[]
        )
        .code(),
        0
    );
    let export = |store: &str| run_in(scratch.path(), store, "export r1 --format=json", &[]).out;
    assert_eq!(export(&back), export(&file));
}

/// A measurement, a sweep and an import, with the password in a file, in the address and in the environment.
///
/// Regression 0944: the arguments that a sweep stores for its continuation contained the password of the store's address.
#[test]
fn runs_are_stored_on_a_server_and_the_password_nowhere() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let scratch = Scratch::new().expect("a directory");
    std::fs::write(scratch.join("target"), vec![7; 1 << 20]).expect("a file");
    let job = "[reads]\nrw=randread\nbs=4k\nfilename=target\nnumber_ios=64\n";
    std::fs::write(scratch.join("job.fio"), job).expect("a job file");
    drop(cluster.database("team"));
    let port = cluster.port();
    let encoded = "p%40ss%2Fw%3Frd%231";
    let plain = format!("postgres://owner@127.0.0.1:{port}/team");
    let with_password = format!("postgres://owner:{encoded}@127.0.0.1:{port}/team");
    let pgpass = scratch.join("pgpass").display().to_string();
    // A colon ends a field, so it would be escaped; this password has none.
    std::fs::write(
        &pgpass,
        format!("127.0.0.1:{port}:team:owner:{PG_PASSWORD}\n"),
    )
    .expect("a file");
    std::fs::set_permissions(&pgpass, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("ours");
    let by_file: [(&str, &str); 1] = [("PGPASSFILE", &pgpass)];
    let refused = run_in(
        scratch.path(),
        &plain,
        "runs",
        &[("PGPASSFILE", "/nothing"), ("HOME", "/nothing")],
    );
    assert_eq!(refused.code(), 2);
    assert!(
        refused
            .err
            .contains("check the user and the password in ~/.pgpass"),
        "{}",
        refused.err
    );

    let ran = run_in(
        scratch.path(),
        &plain,
        "run job.fio --label project=apollo",
        &by_file,
    );
    assert!(ran.err.contains("stored as r1"), "{}", ran.err);
    let named = run_in(
        scratch.path(),
        "none",
        &format!("run job.fio --store={with_password} --label=ticket=OPS-1"),
        &[],
    );
    assert!(named.err.contains("stored as r2"), "{}", named.err);
    let sweep = run_in(
        scratch.path(),
        "none",
        &format!("sweep job.fio --axis bs=4k,8k --label project=apollo --store {with_password}"),
        &[("PGPASSWORD", "wrong")],
    );
    assert!(
        sweep.out.contains("r3") || sweep.err.contains("r3"),
        "{} {}",
        sweep.out,
        sweep.err
    );
    let shown = run_in(scratch.path(), &plain, "show r2", &by_file);
    assert_eq!(shown.out, named.out);

    let found = json(&run_in(
        scratch.path(),
        &plain,
        "runs --label project=apollo --json",
        &by_file,
    ));
    let names: Vec<&str> = found["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|run| run["run"].as_str())
        .collect();
    assert_eq!(names, ["r1", "r3"]);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux");
    for run in found["runs"].as_array().expect("a list") {
        assert_eq!(run["labels"]["project"], "apollo");
        assert_eq!(run["labels"]["host"], host.trim());
        assert!(
            run["labels"]["kernel"]
                .as_str()
                .is_some_and(|text| text.contains(kernel.trim())),
            "{run}"
        );
    }
    let changed = run_in(
        scratch.path(),
        &plain,
        "store label r2 project=gemini ticket=",
        &by_file,
    );
    assert!(
        changed.out.contains("project=gemini\n") && !changed.out.contains("ticket"),
        "{}{}",
        changed.out,
        changed.err
    );
    assert_eq!(
        run_in(
            scratch.path(),
            &plain,
            "runs --label project=gemini",
            &by_file
        )
        .out
        .lines()
        .count(),
        2
    );
    assert!(
        run_in(
            scratch.path(),
            &plain,
            "runs --label project=nothing",
            &by_file
        )
        .out
        .starts_with("No stored run matches.")
    );

    // Neither the tables nor anything printed has the password.
    let dump = cluster
        .command("pg_dump")
        .args([
            "-h",
            &cluster.folder().display().to_string(),
            "-p",
            &port.to_string(),
            "-U",
            "owner",
            "team",
        ])
        .output()
        .expect("pg_dump starts");
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned();
    assert!(
        dump.contains("--store=postgres://owner@127.0.0.1"),
        "the command line is stored"
    );
    for (name, text) in [
        ("the dump", &dump),
        ("standard error of a run", &ran.err),
        ("standard error of a run with it", &named.err),
        ("standard output of a run", &named.out),
        ("standard error of a sweep", &sweep.err),
        ("standard output of a sweep", &sweep.out),
        ("a refusal", &refused.err),
    ] {
        let at = text.find(encoded).or_else(|| text.find(PG_PASSWORD));
        let line = at.map(|at| text[..at].rsplit('\n').next().unwrap_or_default());
        assert!(at.is_none(), "{name} has a password after: {line:?}");
    }
}
