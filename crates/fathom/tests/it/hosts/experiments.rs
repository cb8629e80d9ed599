//! Sweeps, searches and suites over several hosts, and which host runs which job.

use super::*;

/// A job of 100 I/Os per second on every host, without a device.
const STEADY: &str = "[n]\nioengine=null\nsize=1g\nrw=randread\nrate_iops=100\n";

fn job_file(scratch: &Scratch, text: &str) -> String {
    let file = scratch.join("job.fio");
    fs::write(&file, text).expect("a job file");
    file.to_str().expect("UTF-8").to_owned()
}

/// A command over these hosts with a store of its own.
fn over(server: &Server, scratch: &Scratch, hosts: &str, arguments: &[&str]) -> Command {
    let mut command = program([arguments[0], &server.url(), "--hosts", hosts, "--quiet"]);
    command
        .args(&arguments[1..])
        .env("FATHOM_STORE", scratch.join("store.db"));
    command
}

/// 100 I/Os per second on each of two hosts are 200 in every cell; the stored cells show both hosts.
#[test]
fn a_cell_of_a_sweep_is_one_run_of_all_hosts() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let file = job_file(&scratch, STEADY);
    let arguments = [
        "sweep",
        &file,
        "--axis=bs=4k,8k",
        "--set=number_ios=100",
        "--json",
    ];
    let ran = start(over(&server, &scratch, "a,b", &arguments))
        .finish()
        .expect(0);
    let cells = ran.json().0["cells"].as_array().cloned().expect("cells");
    assert_eq!(cells.len(), 2);
    let rates = cells.iter().filter_map(|cell| cell["iops"].as_f64());
    // 100 I/Os of each host at 100 per second take a second less one interval at least.
    for rate in rates {
        assert!(rate > 0.0 && rate <= 203.0, "{rate}");
    }
    let mut show = program(["show", "r1.1"]);
    show.env("FATHOM_STORE", scratch.join("store.db"));
    let shown = start(show).finish().expect(0).out;
    assert!(
        shown.contains("\nHosts:\n") && shown.contains("a:n") && shown.contains("b:n"),
        "{shown}"
    );
}

/// In a directory each host writes a file of its own, which is removed at the end; what was not to be created stays missing.
#[test]
fn a_directory_gets_a_file_of_each_host_until_the_end() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let data = scratch.join("data");
    fs::create_dir(&data).expect("a directory");
    let _agents = server.agents(&["a", "b"], &data, &[]);
    let names = || {
        let mut names: Vec<String> = fs::read_dir(&data)
            .expect("a directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    };
    let path = format!("{}/", data.display());
    let sweep = |more: &[&str]| {
        let arguments = [
            "sweep",
            &path,
            "--axis=bs=4k",
            "--size=4m",
            "--runtime=200ms",
        ];
        let mut command = over(&server, &scratch, "a,b", &arguments);
        command
            .args(["--set=direct=0", "--set=ioengine=psync"])
            .args(more);
        start(command).finish()
    };
    sweep(&["--keep"]).expect(0);
    let kept = names();
    assert_eq!(kept, ["fathom-sweep-a.data", "fathom-sweep-b.data"]);
    sweep(&[]).expect(0);
    assert_eq!(names(), [""; 0]);
    let missing = format!("{}/missing", data.display());
    let arguments = [
        "sweep",
        &missing,
        "--axis=bs=4k",
        "--size=4m",
        "--runtime=200ms",
    ];
    let ran = start(over(&server, &scratch, "a,b", &arguments))
        .finish()
        .expect(1);
    assert!(ran.err.contains("missing"), "{}", ran.err);
    assert_eq!(names(), [""; 0]);
}

/// A load of 200 I/Os per second is that of all hosts together: 100 on each of two.
#[test]
fn the_load_of_a_search_is_shared_by_the_hosts() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let file = job_file(&scratch, "[n]\nioengine=null\nsize=1g\nrw=randread\n");
    let arguments = [
        "search",
        &file,
        "--at=200",
        "--slo=mean<=1s",
        "--arrivals=even",
        "--runtime=1s",
        "--json",
    ];
    let ran = start(over(&server, &scratch, "a,b", &arguments))
        .finish()
        .expect(0);
    let point = ran.json().0["open_loop"][0].clone();
    assert_eq!(point["offered_load"], 200.0, "{point:#}");
    let mut show = program(["show", "r1.1", "--format=json"]);
    show.env("FATHOM_STORE", scratch.join("store.db"));
    let shown = start(show).finish().expect(0).json();
    let hosts = shown.0["fathom"]["hosts"]
        .as_array()
        .expect("hosts")
        .clone();
    // Each host has half of the load, to the last I/O.
    let planned: Vec<i64> = hosts
        .iter()
        .filter_map(|host| host["counts"]["planned_ios"].as_i64())
        .collect();
    assert!(
        matches!(planned[..], [a, b] if a > 0 && (a - b).abs() <= 1),
        "{hosts:#?}"
    );
}

/// A procedure of two steps: its figures are those of both hosts.
#[test]
fn a_suite_runs_on_all_hosts() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let data = scratch.join("data");
    fs::create_dir(&data).expect("a directory");
    let _agents = server.agents(&["a", "b"], &data, &[]);
    let recipe = "schema = 1\nname = \"two\"\ntitle = \"two steps\"\nsize = \"4m\"\ntime = \"1s\"\n\
                  [options]\nioengine = \"psync\"\nrate_iops = 100\n\
                  [[step]]\nname = \"reads\"\ntitle = \"reads\"\noptions = { rw = \"randread\" }\n\
                  [[step]]\nname = \"writes\"\ntitle = \"writes\"\noptions = { rw = \"randwrite\" }\n";
    fs::write(scratch.join("two.toml"), recipe).expect("a recipe");
    let suites = format!("--suites={}", scratch.path().display());
    let path = format!("{}/", data.display());
    let arguments = ["suite", "two", &path, &suites, "--json"];
    let ran = start(over(&server, &scratch, "all", &arguments))
        .finish()
        .expect(0);
    let answer = ran.json();
    for step in 0..2 {
        let rate = answer.number(&format!("/steps/{step}/result/cells/0/iops"));
        // At most that of both.
        assert!(rate > 0.0 && rate <= 210.0, "{rate}");
    }
    let mut show = program(["show", "r1.1"]);
    show.env("FATHOM_STORE", scratch.join("store.db"));
    let shown = start(show).finish().expect(0).out;
    assert!(shown.contains("a:") && shown.contains("b:"), "{shown}");
    assert_eq!(
        fs::read_dir(&data)
            .expect("a directory")
            .filter(|entry| {
                let name = entry.as_ref().expect("an entry").file_name();
                !name.to_string_lossy().starts_with('.')
            })
            .count(),
        0
    );
}

/// The first job of b lasts 1.5 s: 150 I/Os, 100 a second. The job behind the stonewall begins on both hosts after it.
#[test]
fn a_phase_begins_when_all_hosts_have_ended_the_one_before() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &["--label=rack=3"]);
    let text = "[global]\nioengine=null\nsize=1g\nrw=randread\nrate_iops=100\n\
                [short@a]\nnumber_ios=10\n\
                [long]\nhost=b\nnumber_ios=150\n\
                [after]\nstonewall\nnumber_ios=10\n\
                [last@rack=3]\nstonewall\nnumber_ios=10\n";
    let file = job_file(&scratch, text);
    let ran = start(server.run("a,b", &format!("{file} --json")))
        .finish()
        .expect(0);
    let jobs = ran.json().0["jobs"].as_array().cloned().expect("jobs");
    let start_of = |name: &str| {
        let job = jobs.iter().find(|job| job["jobname"] == name);
        let job = job.unwrap_or_else(|| panic!("{name}: {jobs:#?}"));
        job["job_start"].as_u64().expect("milliseconds")
    };
    let names: Vec<&str> = jobs
        .iter()
        .filter_map(|job| job["jobname"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "a:short", "a:after", "a:last", "b:long", "b:after", "b:last"
        ]
    );
    // 149 intervals of 10 ms, less what rounding to milliseconds may hide.
    let (long, last) = (start_of("b:long"), start_of("a:last"));
    for name in ["a:after", "b:after"] {
        assert!(start_of(name) >= long + 1_480, "{name} of {jobs:#?}");
        assert!(last > start_of(name), "the last phase is later");
    }
    // A host that no job is for takes no part; a job for nobody is a mistake.
    let one = start(server.run("a,b", &format!("{file} --section=short@a --json"))).finish();
    assert_eq!(hosts_of(&one.expect(0)).len(), 1);
    let none = start(server.run("a", &file)).finish().expect(2);
    assert!(
        none.err.contains("no host of this run is 'b'"),
        "{}",
        none.err
    );
    let alone = start(program(["run", &file])).finish().expect(2);
    assert!(alone.err.contains("--hosts"), "{}", alone.err);
}

/// The bytes of a shared file say whose part they are: 0x01 is the part of rank 0, 0x11 that of rank 1. Each host verifies that
/// it reads its own part and nothing else, of a file in two halves and of one in stripes of 4 KiB.
#[test]
fn ranks_split_a_shared_file() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let half = 1 << 20;
    let halves = [vec![0x01_u8; half], vec![0x11; half]].concat();
    let stripes: Vec<u8> = (0..2 * half)
        .map(|at| if at / 4096 % 2 == 0 { 0x01 } else { 0x11 })
        .collect();
    fs::write(scratch.join("halves"), halves).expect("a file");
    fs::write(scratch.join("stripes"), stripes).expect("a file");
    let text = format!(
        "[global]\nioengine=psync\nbs=4k\nverify=pattern\nverify_pattern=0x${{FATHOM_RANK}}1\n\
         [segmented]\nrw=read\nfilename={0}/halves\nsize=1m\noffset=(${{FATHOM_RANK}}*1m)\n\
         [random]\nrw=randread\nfilename={0}/halves\nsize=1m\noffset=(${{FATHOM_RANK}}*1m)\n\
         [strided]\nrw=read:4k\nfilename={0}/stripes\nio_size=1m\nsize=(2m-4k)\noffset=(${{FATHOM_RANK}}*4k)\n",
        scratch.path().display()
    );
    let file = job_file(&scratch, &text);
    let ran = start(server.run("a,b", &format!("{file} --json")))
        .finish()
        .expect(0);
    let jobs = ran.json().0["jobs"].as_array().cloned().expect("jobs");
    assert_eq!(jobs.len(), 6);
    for job in &jobs {
        assert_eq!(
            (job["read"]["total_ios"].as_u64(), job["error"].as_u64()),
            (Some(256), Some(0)),
            "{job:#}"
        );
    }
    // The check does check.
    let wrong = text.replace("0x${FATHOM_RANK}1", "0x77");
    let file = job_file(&scratch, &wrong);
    start(server.run("a,b", &file)).finish().expect(1);
}

/// Each host writes its file; in a second run each reads the file that the next host wrote, which its own cache cannot have.
#[test]
fn a_host_reads_what_the_next_one_wrote() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let run = |host: &str, options: &str| {
        let text = format!(
            "[j]\nfilename={}/${{{host}}}.data\nioengine=psync\nbs=4k\nsize=1m\n\
             verify=pattern\nverify_pattern=0x${{FATHOM_RANK}}1\n{options}\n",
            scratch.path().display()
        );
        let file = job_file(&scratch, &text);
        start(server.run("a,b", &format!("{file} --json"))).finish()
    };
    run("FATHOM_HOST", "rw=write\ndo_verify=0").expect(0);
    run("FATHOM_HOST", "rw=read").expect(0);
    // The bytes are those of the other rank.
    run("FATHOM_NEXT_HOST", "rw=read").expect(1);
    run("FATHOM_NEXT_HOST", "rw=read\nverify=0").expect(0);
}

/// `quick` over two hosts: for each job the total and a row of each host, and no file is left.
/// Regression 0986: the report named the variable FATHOM_HOST in place of the files, and had no totals.
#[test]
fn quick_measures_all_hosts() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let data = scratch.join("data");
    fs::create_dir(&data).expect("a directory");
    let _agents = server.agents(&["a", "b"], &data, &[]);
    let path = format!("{}/", data.display());
    let arguments = ["quick", &path, "--runtime=10s"];
    let ran = start(over(&server, &scratch, "a,b", &arguments))
        .finish()
        .expect(0);
    let intro = "fathom-quick-HOST.data on 2 hosts (a, b): 256 MiB each";
    let joined = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(intro), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().collect();
    let commits = lines
        .iter()
        .position(|line| line.starts_with("4 KiB commits"));
    let commits = commits.unwrap_or_else(|| panic!("{}", ran.out));
    let mut hosts: Vec<&str> = lines[commits..].iter().take(6).copied().collect();
    hosts.retain(|line| line.starts_with("  a") || line.starts_with("  b"));
    assert!(
        hosts.len() == 2 && hosts[0].starts_with("  a") && hosts[1].starts_with("  b"),
        "{}",
        ran.out
    );
    // The total is the sum of what each host counted, to the last I/O; ten reads and writes, one mix and one job of commits.
    let mut show = program(["show", "latest", "--json"]);
    show.env("FATHOM_STORE", scratch.join("store.db"));
    let stored = start(show).finish().expect(0).json().0;
    let totals = stored["fathom"]["totals"].as_array().expect("totals");
    assert_eq!(totals.len(), 12);
    for total in totals {
        let names = total["names"].as_array().expect("names");
        assert_eq!(names.len(), 2, "{total:#}");
        for direction in ["read", "write"] {
            let of_hosts: u64 = stored["jobs"]
                .as_array()
                .expect("jobs")
                .iter()
                .filter(|job| names.contains(&job["jobname"]))
                .filter_map(|job| job[direction]["total_ios"].as_u64())
                .sum();
            let ios = total[direction]["ios"].as_u64().unwrap_or(0);
            assert_eq!(ios, of_hosts, "{direction} of {total:#}");
        }
    }
    let left = fs::read_dir(&data)
        .expect("a directory")
        .filter(|entry| {
            entry
                .as_ref()
                .is_ok_and(|entry| entry.path().extension().is_some())
        })
        .count();
    assert_eq!(left, 0);
    // The options of hosts need --hosts.
    let mut alone = program(["quick", &path, &server.url()]);
    alone.arg("--quiet");
    assert!(start(alone).finish().expect(2).err.contains("need --hosts"));
}

/// Commits take 0.1 ms on the device of one host, and 0.7 s on that of the other, with a limit of half a second, which no busy machine
/// makes of 0.1 ms: one passes, the other fails and is the answer.
/// Each agent judges its own target with its own code.
#[test]
fn the_worst_host_decides_whether_the_disks_are_ready() {
    require!(Nats, Fuse);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    fs::write(
        scratch.join("log.toml"),
        COMMITS_PROFILE.replace("10ms", "500ms"),
    )
    .expect("a profile");
    let devices = [100, 700_000].map(|sync_us| device_with_commits_of(64 << 20, sync_us));
    // The names of the agents are those of the directories, so that each has a device of its own below one path.
    let directories = [0, 1].map(|host: usize| {
        let path = devices[host].path();
        path.parent().expect("a directory").to_owned()
    });
    let names = directories.each_ref().map(|directory| {
        let name = directory.file_name().expect("a name");
        name.to_str().expect("UTF-8").to_owned()
    });
    let [fast, slow] = names.each_ref().map(String::as_str);
    let above = directories[0].parent().expect("a directory");
    let _agents = server.agents(&[fast, slow], above, &[]);
    let profiles = format!("--profiles={}", scratch.path().display());
    let ready_on = |hosts: &str, path: &str, more: &[&str]| {
        let arguments = ["ready", "log", path, &profiles, "--runtime=5s", "--json"];
        let mut command = over(&server, &scratch, hosts, &arguments);
        command.args(more);
        start(command).finish()
    };
    let both = format!("{fast},{slow}");
    let ready = |path: &str, more: &[&str]| ready_on(&both, path, more);
    let disks = format!("{}/${{FATHOM_HOST}}/device", above.display());
    let code_of = |host: &str| {
        let refused = ready_on(host, &disks, &[]).expect(2);
        let mut words = refused.err.split_whitespace().map(str::to_owned);
        let code = words.find(|word| word.starts_with("--destroy="));
        code.unwrap_or_else(|| panic!("{}", refused.err))
    };
    let codes = [fast, slow].map(code_of);
    let codes = codes.each_ref().map(String::as_str);
    let ran = ready(&disks, &codes).expect(1);
    let answer = ran.json().0;
    let hosts: Vec<(&str, &str)> = answer["hosts"]
        .as_array()
        .expect("hosts")
        .iter()
        .map(|host| {
            let text = |key: &str| host[key].as_str().expect("text");
            (text("name"), text("verdict"))
        })
        .collect();
    assert_eq!(hosts, [(fast, "pass"), (slow, "fail")], "{}", ran.out);
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with(&format!("{slow}: commits: p99")),
        "{reason}"
    );
    let value = answer["checks"][1]["value"].as_f64().expect("a value");
    // A percentile has the resolution of its histogram, 0.8 %.
    assert!(value >= 700e6 / 1.008, "{value}");
    // In a directory each host has files of its own, until the end.
    let data = scratch.join("data");
    fs::create_dir(&data).expect("a directory");
    let dry = ready(&format!("{}/", data.display()), &["--dry-run"]).expect(0);
    assert!(
        dry.out.contains("fathom-ready.log-${FATHOM_HOST}"),
        "{}",
        dry.out
    );
    let ran = ready(&format!("{}/", data.display()), &[]);
    let answer = ran.json().0;
    assert_eq!(
        answer["hosts"].as_array().map(Vec::len),
        Some(2),
        "{answer:#}"
    );
    let files = fs::read_dir(&data).expect("a directory").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with("fathom-ready")
    });
    assert_eq!(files.count(), 0);
}
