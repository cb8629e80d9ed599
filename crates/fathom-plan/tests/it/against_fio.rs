//! The fio personality compared with an installed fio: accepted options, the output of `--showcmd`,
//! and the options and groups of jobs.

#![allow(clippy::print_stderr, reason = "skipped tests are reported")]

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::{Machine, shown};
use fathom_model::Personality::{Fathom, Fio};
use fathom_plan::{parse_args, show_commands};

/// A temporary directory of this test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("fathom-plan-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory below the temporary directory");
        Directory(path)
    }
    /// Runs fio on a job file with this text.
    fn fio(&self, text: &str, arguments: &[&str]) -> Output {
        std::fs::write(self.0.join("job.fio"), text).expect("a job file");
        Command::new("fio")
            .current_dir(&self.0)
            .arg("job.fio")
            .args(arguments)
            .output()
            .expect("fio starts")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn no_fio() -> bool {
    let missing = Command::new("fio").arg("--version").output().is_err();
    if missing {
        fathom_testkit::skip("fio is not installed");
    }
    missing
}

/// Option lines below `[j]` with the null engine. fio itself decides whether they are valid.
const LINES: &[&str] = &[
    "bs=4k",
    "bs=4KiB",
    "bs=1.5m",
    "bs=4k-16k",
    "bs=4k:8k",
    "bs=4k,8k,16k",
    "bs=,8k",
    "bs=8k,",
    "bs=0x1000",
    "bs=0",
    "bs=x",
    "bs=",
    "size=10%",
    "size=0",
    "size=-1",
    "size=1g-2g",
    "io_size=50%",
    "io_size=101%",
    "iodepth=0",
    "iodepth=1-4",
    "iodepth=32",
    "iodepth=x",
    "numjobs=2",
    "runtime=1sec",
    "runtime=1",
    "runtime=x",
    "time_based",
    "time_based=0",
    "time_based=1",
    "time_based=true",
    "direct=true",
    "direct=1",
    "direct=yes",
    "direct",
    "direct=2",
    "randrepeat=0x1",
    "thread=4",
    "thread",
    "threads=1",
    "group_reporting",
    "stonewall",
    "rw=read",
    "rw=readx",
    "rw = read",
    "rw=read:8k",
    "rw=randread:0",
    "rw=randread:8",
    "rw=randread:x",
    "rw=",
    "bsrange=4k-16k",
    "bsrange=4k",
    "bsrange=1k:2k,4k-8k",
    "bssplit=4k/60:8k/40",
    "bssplit=4k/80:8k/80",
    "bssplit=4k/50:8k:16k",
    "bssplit=x/10",
    "random_distribution=zipf:1.2",
    "random_distribution=zipf:1.0",
    "random_distribution=pareto:0.2",
    "random_distribution=pareto:1",
    "random_distribution=normal:101",
    "random_distribution=zoned:60/10:40/90",
    "random_distribution=zoned:60/10",
    "random_distribution=foo",
    "random_distribution=zipf:1.2:0.5",
    "random_distribution=zipf:1.2:3",
    "percentile_list=50:99",
    "percentile_list=50,99",
    "percentile_list=101",
    "percentile_list=x",
    "buffer_pattern=0xdeadbeef",
    "buffer_pattern=\"abcd\"-12",
    "buffer_pattern=xyz",
    "verify_pattern=%o",
    "buffer_pattern=%o",
    "verify=crc32c",
    "verify=crc32x",
    "rwmixread=70",
    "rwmixread=101",
    "rwmixread=70%",
    "percentage_random=50,60",
    "percentage_random=101",
    "ioengine=null",
    "fallocate=none",
    "fallocate=x",
    "file_service_type=random:4",
    "file_service_type=zipf:1.2",
    "file_service_type=foo",
    "write_bw_log",
    "write_bw_log=x",
    "write_lat_log=",
    "exitall",
    "exit_what=all",
    "exit_what=foo",
    "continue_on_error=all",
    "continue_on_error=foo",
    "ignore_error=EIO:5,ENOSPC",
    "ignore_error=EFOO",
    "log_hist_coarseness=7",
    "log_hist_coarseness=6",
    "nice=-5",
    "nice=20",
    "cgroup_weight=99",
    "startdelay=1-2",
    "startdelay=1",
    "filesize=1m-2m",
    "filesize=1m",
    "offset=10%",
    "offset_increment=1g",
    "number_ios=5",
    "rate=1m,500k",
    "rate=1m,",
    "rate_iops=100",
    "thinktime=5ms",
    "loops=2",
    "zonemode=none",
    "zonemode=strided",
    "kb_base=1000",
    "kb_base=1025",
    "unified_rw_reporting=both",
    "unified_rw_reporting=3",
    "log_window_value=max",
    "gtod_reduce=1",
    "description=a b",
    "nonsense=1",
    "nonsense",
    "readwrite=write",
    "blocksize=8k",
    "timeout=5",
    "wait_for_previous",
    "wait_for=nobody",
    "size=5z",
    "bs=5z",
    "iodepth=5z",
    "clocksource=cpu",
    "mem=malloc",
    "mem=mmap",
    "mem=foo",
    "sync=dsync",
    "sync=2",
    "fsync=32",
    "verify_interval=4k",
    "name=",
    "name=foo",
    "rwmixcycle=5",
    "percentage_sequential=5",
    "flow_watermark=1",
    "latency_percentile=99.9",
    "latency_percentile=101",
    "max_latency=10ms",
    "unit_base=8",
    "unit_base=7",
    "significant_figures=11",
    "significant_figures=3",
];

/// Differences from fio 3.33, with the reason.
const KNOWN: &[(&str, &str)] = &[
    (
        "bs=0",
        "the smallest block is 1 byte; fio takes 0 and stops at run time",
    ),
    ("size=-1", "a size is not negative; fio lets it wrap around"),
    ("name=", "a name is not empty"),
    (
        "rw=randread:0",
        "with --parse-only fio does not parse the part after the colon",
    ),
    (
        "rw=randread:x",
        "with --parse-only fio does not parse the part after the colon",
    ),
    (
        "ignore_error=EFOO",
        "with --parse-only fio does not check the names",
    ),
    (
        "wait_for=nobody",
        "with --parse-only fio does not check combinations of options",
    ),
    (
        "size=5z",
        "zones are refused, since zoned devices are not supported",
    ),
    (
        "rwmixread=70%",
        "fio parses it as a negative number and mixes wrongly",
    ),
    ("log_hist_coarseness=7", "the limit was added after 3.33"),
    ("log_window_value=max", "the option was added after 3.33"),
];

#[test]
fn the_same_lines_are_accepted() {
    if no_fio() {
        return;
    }
    let directory = Directory::new("accept");
    let section = |line: &str| format!("[j]\nioengine=null\n{line}\n");
    let ours = |line: &str| {
        Machine::default()
            .with_file("job.fio", &section(line))
            .plan(Fio, &["--parse-only", "job.fio"])
    };
    let accepts = |text: &str| directory.fio(text, &["--parse-only"]).status.success();
    let lines = LINES
        .iter()
        .filter(|line| !KNOWN.iter().any(|(known, _)| known == *line));
    let (accepted, mut unclear): (Vec<&str>, Vec<&str>) =
        lines.copied().partition(|line| ours(line).is_ok());
    // fio starts in a sixth of a second: one start tells that it accepts all of these.
    if !accepts(&accepted.iter().copied().map(section).collect::<String>()) {
        unclear.extend(accepted);
    }
    let mut different = Vec::new();
    for line in unclear {
        let (theirs, ours) = (accepts(&section(line)), ours(line));
        if theirs != ours.is_ok() {
            different.push(format!(
                "{line}: fio {theirs}, here {}",
                ours.err()
                    .map_or("true".into(), |problems| shown(&problems))
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Regression 0550: --parse-only refused a job file because of the CPUs or the memory of the machine that checks it.
#[test]
fn parse_only_does_not_check_the_machine() {
    if no_fio() {
        return;
    }
    let directory = Directory::new("machine");
    for lines in [
        "cpus_allowed=0-4095",
        "cpumask=0xf0000000",
        "verify_async=2\nverify_async_cpus=4000",
        "bs=1m\niodepth=16384\nioengine=libaio\nnumjobs=8",
    ] {
        let text = format!("[j]\nfilename=x\nsize=1m\n{lines}\n");
        let theirs = directory.fio(&text, &["--parse-only"]);
        assert!(theirs.status.success(), "fio refuses {lines}");
        let machine = Machine::default().with_file("job.fio", &text);
        for personality in [Fio, Fathom] {
            let ours = machine.plan(personality, &["--parse-only", "job.fio"]);
            assert!(ours.is_ok(), "{lines}: {}", shown(&ours.err().unwrap()));
        }
        let runs = machine.plan(Fio, &["job.fio"]);
        assert!(runs.is_err(), "the machine cannot run {lines}");
    }
}

/// Regression 0555: with --parse-only fio does not check combinations of options, which it refuses at the start; `fathom fio`
/// refused them.
#[test]
fn parse_only_leaves_combinations_as_fio_does() {
    if no_fio() {
        return;
    }
    let directory = Directory::new("combinations");
    for lines in [
        "zonesize=64k\nzoneskip=64k",
        "zonemode=strided",
        "zonemode=none\nzonesize=64k",
        "ioengine=mmap\natomic=1\nrw=write",
        "ioengine=cpuio",
    ] {
        let text = format!("[j]\nfilename=x\nsize=1m\n{lines}\n");
        let theirs = directory.fio(&text, &["--parse-only"]);
        assert!(theirs.status.success(), "fio refuses {lines}");
        let machine = Machine::default().with_file("job.fio", &text);
        let checked = machine.plan(Fio, &["--parse-only", "job.fio"]);
        assert!(
            checked.is_ok(),
            "{lines}: {}",
            shown(&checked.err().unwrap())
        );
        assert!(machine.plan(Fio, &["job.fio"]).is_err(), "{lines} runs");
    }
}

const FILES: &[&str] = &[
    "[global]\nioengine=null\nsize=4k\ndescription=a b\n[j 1]\nthread\nfilename=x\nbs=4k\n[k]\nstonewall\nrw=write\n",
    "[global]\nioengine=null\nsize=8k\n[a]\nblocksize=4k\n[global]\nreadwrite=randread\n[b]\nnew_group\n[b]\nnumjobs=2\n[c]\nstonewall\nname=other\n",
    "[one]\nioengine=null\nsize=4k ; comment\nnumjobs=3\n[globalish]\niodepth=4\n[two]\nioengine=null\nsize=8k\r\nstonewall\nfilename=f\nkb_base=1000\n",
    "[a]\nioengine=null\nsize=4k\nnew_group\n[b]\nioengine=null\nsize=4k\nstonewall\nnew_group\nnumjobs=2\n[c]\nioengine=null\nsize=4k\n",
];

#[test]
fn showcmd_prints_the_same_line() {
    if no_fio() {
        return;
    }
    let directory = Directory::new("showcmd");
    for text in FILES {
        let theirs = String::from_utf8(directory.fio(text, &["--showcmd"]).stdout).expect("text");
        let machine = Machine::default().with_file("job.fio", text);
        let invocation =
            parse_args(&["--showcmd".into(), "job.fio".into()], Fio).expect("a command line");
        assert_eq!(
            show_commands("fio", &invocation, &machine, &machine).expect("a plan"),
            theirs
        );
    }
}

/// Name, group and options of each job, from fio's JSON and from the plan. fio 3.33 leaves bare
/// flags out.
#[test]
fn jobs_have_the_same_names_groups_and_options() {
    if no_fio() {
        return;
    }
    let directory = Directory::new("jobs");
    for text in FILES {
        let output =
            String::from_utf8(directory.fio(text, &["--output-format=json"]).stdout).expect("text");
        let json = output.find("{\n").map_or("", |at| &output[at..]);
        let json: serde_json::Value =
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {output}"));
        let theirs: Vec<JobSummary> = json["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(their_job)
            .collect();
        let planned = Machine::default()
            .with_file("job.fio", text)
            .plan(Fio, &["job.fio"])
            .unwrap_or_else(|problems| panic!("{}", shown(&problems)));
        let ours: Vec<_> = planned.plan.jobs.iter().map(our_job).collect();
        assert_eq!(ours, theirs, "{text}");
    }
}

/// Name, group, and options by name.
type JobSummary = (String, u64, Vec<(String, String)>);

fn their_job(job: &serde_json::Value) -> JobSummary {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    let options = job["job options"].as_object().map(|all| {
        all.iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect()
    });
    let mut options: Vec<(String, String)> = options.unwrap_or_default();
    options.sort();
    (
        text(&job["jobname"]),
        job["groupid"].as_u64().unwrap_or(0),
        options,
    )
}

fn our_job(job: &fathom_model::Job) -> JobSummary {
    let mut options: Vec<(String, String)> = job
        .options
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
        .collect();
    options.sort();
    (job.name.clone(), u64::from(job.group), options)
}

/// Names at the start of the lines of fio's answer.
fn named(arguments: &[&str]) -> Vec<String> {
    let output = Command::new("fio")
        .args(arguments)
        .output()
        .expect("fio starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| {
        Some(line.split_once(':')?.0.trim().to_owned())
            .filter(|name| !name.contains(' ') && !name.is_empty())
    };
    text.lines().filter_map(name).collect()
}

/// The engines that the installed fio can load.
fn engines() -> Vec<String> {
    let output = Command::new("fio")
        .arg("--enghelp")
        .output()
        .expect("fio starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Every option of the installed fio, those of its engines included, has a row in the table.
#[test]
fn no_option_of_fio_is_unknown() {
    if no_fio() {
        return;
    }
    let general = named(&["--cmdhelp=all"]);
    assert!(general.len() > 200, "{general:?}");
    let engines = engines();
    assert!(engines.iter().any(|name| name == "libaio"), "{engines:?}");
    let private = engines
        .iter()
        .flat_map(|engine| named(&[&format!("--enghelp={engine}")]));
    let unknown: Vec<String> = general
        .into_iter()
        .chain(private)
        .filter(|name| fathom_plan::find(name).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A meaningful value for options whose kind does not define one.
const VALUES: &[(&str, &str)] = &[
    ("sync_file_range", "wait_before,write:4"),
    ("name", "j"),
    ("description", "text"),
    ("wait_for", ""),
    ("bs", "8k,16k"),
    ("ba", "8k"),
    ("rw", "randrw:4"),
    ("ignore_error", "EIO:5,ENOSPC"),
    ("prioclass", "2"),
    ("cpumask", "1"),
    ("cpus_allowed", "0"),
    ("verify_async_cpus", "0"),
    ("log_compression_cpus", "0"),
    ("numa_cpu_nodes", "0"),
    ("numa_mem_policy", "bind:0"),
    ("filename", "x"),
    ("directory", "/tmp"),
    ("filename_format", "$jobname.$filenum"),
    ("opendir", "/tmp"),
    ("file_service_type", "random:2"),
    ("bsrange", "4k-8k"),
    ("bssplit", "4k/50:8k/50"),
    ("random_distribution", "zipf:1.2"),
    ("percentile_list", "50:99.9"),
    ("replay_skip", "read,trim"),
    ("replay_align", "4k"),
    ("read_iolog", ""),
    ("buffer_pattern", "0xdeadbeef"),
    ("verify_pattern", "0xdeadbeef"),
    ("steadystate", "iops:10%"),
    ("steadystate_duration", "10"),
    ("cmdprio_bssplit", "4k/50:8k/50"),
    ("write_lat_log", "prefix"),
    ("ioscheduler", "none"),
    ("exec_prerun", "true"),
    ("exec_postrun", "true"),
    ("comm", "name"),
    ("write_iolog", "trace"),
    ("replay_redirect", "x"),
    ("program", "/bin/true"),
    ("arguments", "a b"),
    ("kb_base", "1000"),
    ("offset", "4k"),
    ("size", "64k"),
    ("verify_interval", "512"),
    ("verify_offset", "64"),
    ("cpuload", "50"),
    ("cpumode", "noop"),
];

/// Other options that a job with this option needs.
const COMPANY: &[(&str, &str)] = &[
    // fio parses it alone, and refuses to run it.
    ("zonesize", "zonemode=strided\n"),
    ("verify_only", "verify=crc32c\n"),
    (
        "verify_pattern_interval",
        "verify=pattern\nverify_pattern=%o\n",
    ),
    ("rate_min", "rate=1m\n"),
    ("rate_iops_min", "rate_iops=100\n"),
    ("steadystate_ramp_time", "ss=iops:10%\nss_dur=10\n"),
    ("steadystate_duration", "ss=iops:10%\n"),
    ("steadystate", "ss_dur=10\n"),
    (
        "latency_percentile",
        "latency_target=10ms\nlatency_window=1s\n",
    ),
    ("flow_sleep", "flow=1\n"),
    ("atomic", "direct=1\n"),
    ("cpumode", "cpuload=50\n"),
    ("pool", "rbdname=i\n"),
    ("rbdname", "pool=p\n"),
    ("clustername", "pool=p\nrbdname=i\n"),
    ("clientname", "pool=p\nrbdname=i\n"),
    ("busy_poll", "pool=p\nrbdname=i\n"),
    ("cpuchunks", "cpuload=50\n"),
    ("exit_on_io_done", "cpuload=50\n"),
    ("arguments", "program=/bin/true\n"),
    ("grace_time", "program=/bin/true\n"),
    ("std_redirect", "program=/bin/true\n"),
];

/// A value for the option, as in a job file.
fn value_of(row: &fathom_plan::OptionRow) -> String {
    use fathom_plan::Kind;
    if let Some((_, value)) = VALUES.iter().find(|(name, _)| *name == row.name) {
        return (*value).to_owned();
    }
    match row.kind {
        Kind::Bool | Kind::Flag => "1".to_owned(),
        Kind::Choice(choices) | Kind::ChoiceWith(choices) => choices[0].to_owned(),
        Kind::One(_) | Kind::Three(_) | Kind::Extent | Kind::Pair(_) => row
            .min
            .filter(|min| *min > 0)
            .map_or("1".to_owned(), |min| min.to_string()),
        Kind::Floats(_) => "0.5".to_owned(),
        _ => "1".to_owned(),
    }
}

/// A section that sets one option, with the options it needs; `None` for those that need another
/// job or a file.
fn section_of(row: &fathom_plan::OptionRow) -> Option<String> {
    let value = Some(value_of(row)).filter(|value| !value.is_empty() && row.name != "ioengine")?;
    let built_in = [
        "libaio", "io_uring", "pvsync2", "cpuio", "exec", "filestat", "rbd",
    ];
    let engine = row
        .engines
        .iter()
        .find(|engine| built_in.contains(*engine))
        .unwrap_or(&"psync");
    let company = COMPANY
        .iter()
        .find(|(name, _)| *name == row.name)
        .map_or("", |(_, company)| company);
    Some(format!(
        "[of {}]\nioengine={engine}\nsize=64k\n{company}{}={value}\n",
        row.name, row.name
    ))
}

/// Every honoured option in its own section: values that fio accepts are accepted.
#[test]
fn every_honoured_option_is_accepted_by_both() {
    if no_fio() {
        return;
    }
    let private = engines();
    let private = private
        .iter()
        .flat_map(|engine| named(&[&format!("--enghelp={engine}")]));
    let theirs: std::collections::HashSet<String> = named(&["--cmdhelp=all"])
        .into_iter()
        .chain(private)
        .collect();
    let directory = Directory::new("each");
    let honoured = fathom_plan::options()
        .filter(|row| row.support == fathom_plan::Support::Honoured && theirs.contains(row.name));
    let sections: Vec<String> = honoured.filter_map(section_of).collect();
    assert!(sections.len() > 170, "{}", sections.len());
    // One start of fio for all of them; only when it refuses the file, each is tested separately.
    if !directory
        .fio(&sections.concat(), &["--parse-only"])
        .status
        .success()
    {
        let refused = sections
            .iter()
            .filter(|text| !directory.fio(text, &["--parse-only"]).status.success());
        panic!(
            "fio does not take, so that nothing is compared: {}",
            refused.cloned().collect::<String>()
        );
    }
    let ours = |text: &String| {
        Machine::default()
            .with_file("job.fio", text)
            .plan(Fio, &["--parse-only", "job.fio"])
            .err()
    };
    let apart: Vec<String> = sections
        .iter()
        .filter_map(|text| Some(format!("{text}{}", shown(&ours(text)?))))
        .collect();
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}
