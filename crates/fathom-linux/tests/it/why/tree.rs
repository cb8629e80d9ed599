//! Trees with the files of /proc and /sys of a scene. A scene is a text of sections:
//!
//! * `-- all/PATH --`, `-- before/PATH --`, `-- N/PATH --`, `-- after/PATH --`: a file of all readings, or of one of them;
//! * `-- all/PATH -> TARGET --`: a symbolic link;
//! * `-- before/processes --`: processes, each as a line of values from which their files are made;
//! * `-- requests --`: I/Os of a trace: start and distance in us, count, process, direction, wait and service time in us.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_testkit::Scratch;
use fathom_trace::{
    BlockEvent, BlockEventKind, DeviceNumber, IoFlags, Processes, RequestCollector, TraceConsumer,
    TracedRequests,
};

/// The files that all machines of scenes have.
const MACHINE: &str = include_str!("scenes/machine.txt");
/// Clock ticks of no interest in /proc/PID/stat.
const ZEROS: &str = "0 0 0 0 0 0 0 0";

/// The trees of a scene, in order of time.
pub struct Trees {
    scratch: Scratch,
    pub names: Vec<String>,
    pub requests: Option<TracedRequests>,
}

impl Trees {
    /// Writes the trees of a text.
    pub fn of(text: &str) -> Trees {
        let scratch = Scratch::new().expect("a directory");
        let sections: Vec<(&str, &str)> = sections(MACHINE)
            .into_iter()
            .chain(sections(text))
            .collect();
        let moments: BTreeSet<&str> = sections
            .iter()
            .filter_map(|(name, _)| Some(name.split_once('/')?.0))
            .filter(|name| name.parse::<u32>().is_ok())
            .collect();
        let mut names = vec!["before".to_owned()];
        names.extend(moments.into_iter().map(str::to_owned));
        names.push("after".to_owned());
        let mut trees = Trees {
            scratch,
            names,
            requests: None,
        };
        for (name, body) in &sections {
            if *name == "requests" {
                continue;
            }
            let (moment, path) = name.split_once('/').expect("a moment and a path");
            for tree in trees
                .names
                .iter()
                .filter(|tree| moment == "all" || *tree == moment)
            {
                put(&trees.root(tree), path, body);
            }
        }
        let requests = sections.iter().find(|(name, _)| *name == "requests");
        trees.requests = requests.map(|(_, body)| traced(body, &trees.root("after").join("proc")));
        trees
    }

    /// The root of one reading.
    pub fn root(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }
}

fn sections(text: &str) -> Vec<(&str, &str)> {
    let text = text.strip_prefix("-- ").expect("a section first");
    text.split("\n-- ")
        .map(|section| section.split_once(" --\n").expect("the end of a heading"))
        .collect()
}

fn put(root: &Path, path: &str, body: &str) {
    let (name, target) = match path.split_once(" -> ") {
        Some((name, target)) => (name, Some(target)),
        None => (path, None),
    };
    if name == "processes" {
        body.lines()
            .for_each(|line| process(&root.join("proc"), line));
        return;
    }
    let file = root.join(name);
    fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    match target {
        Some(target) => std::os::unix::fs::symlink(target, file).expect("a link"),
        None => fs::write(file, format!("{body}\n")).expect("a file"),
    }
}

/// `812 dd D parent=1 read=0 write=0 own=0 delay=0 faults=0 switches=1 group=/a memory=/b place=io_schedule call=read file=/data`; a value that is left out
/// is 0, and the file of a word that is left out does not exist. The formats are those of proc_pid_stat(5) and its neighbours.
fn process(proc: &Path, line: &str) {
    let mut words = line.split_whitespace();
    let (pid, name, state) = (
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap(),
    );
    let words: Vec<(&str, &str)> = words
        .map(|word| word.split_once('=').expect("a value"))
        .collect();
    let word = |name: &str| {
        words
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    let number = |name: &str| word(name).unwrap_or("0");
    let directory = proc.join(pid);
    fs::create_dir_all(directory.join("fd")).expect("a directory");
    let put = |file: &str, text: String| fs::write(directory.join(file), text).expect("a file");
    let parent = word("parent").unwrap_or("1");
    // A thread of the kernel has `PF_KTHREAD` of `include/linux/sched.h`.
    let flags = if parent == "2" { 0x20_0000 } else { 0x40_0000 };
    let mut stat = format!(
        "{pid} ({name}) {state} {parent} {pid} {pid} 0 -1 {flags} 100 0 {} 0 ",
        number("faults")
    );
    // Fields 14 to 19, the number of threads, then fields 21 to 41.
    let _ = write!(
        stat,
        "5 5 0 0 20 0 1 0 {ZEROS} {ZEROS} 0 0 0 0 {} 0 0",
        number("delay")
    );
    put("stat", stat + "\n");
    put("comm", format!("{name}\n"));
    let switches = number("switches");
    put(
        "status",
        format!(
            "Name:\t{name}\nTgid:\t{pid}\nPPid:\t{parent}\nvoluntary_ctxt_switches:\t{switches}\n"
        ),
    );
    let group = word("group").unwrap_or("/");
    let blkio = word("blkio").map_or(String::new(), |group| format!("7:blkio:{group}\n"));
    let memory = word("memory").map_or(String::new(), |group| format!("6:memory:{group}\n"));
    put("cgroup", format!("{blkio}{memory}0::{group}\n"));
    if word("io") != Some("hidden") {
        let io = [
            ("rchar", "0"),
            ("wchar", "0"),
            ("syscr", "0"),
            ("syscw", "0"),
        ];
        let device = [
            ("read_bytes", number("read")),
            ("write_bytes", number("write")),
        ];
        let lines = io
            .iter()
            .chain(&device)
            .map(|(name, value)| format!("{name}: {value}\n"));
        put("io", lines.collect());
        if let Some(own) = word("own") {
            let own = format!("read_bytes: 0\nwrite_bytes: {own}\n");
            let task = directory.join("task").join(pid);
            fs::create_dir_all(&task).expect("a directory");
            fs::write(task.join("io"), own).expect("a file");
        }
    }
    if let Some(place) = word("place") {
        put("wchan", place.to_owned());
    }
    if let Some(call) = word("call") {
        let number = match call {
            "read" => libc::SYS_read,
            "write" => libc::SYS_write,
            "fdatasync" => libc::SYS_fdatasync,
            "pread64" => libc::SYS_pread64,
            other => panic!("add the number of {other}"),
        };
        put(
            "syscall",
            format!("{number} 0x3 0x7ffe 0x1000 0x0 0x0 0x0 0x7ffd 0x7ffc\n"),
        );
    }
    if let Some(file) = word("file") {
        std::os::unix::fs::symlink(file, directory.join("fd/3")).expect("a link");
    }
}

/// The requests as events, in order of time, through the consumer of the real trace.
fn traced(body: &str, proc: &Path) -> TracedRequests {
    let mut events: Vec<BlockEvent> = Vec::new();
    let mut sector = 0;
    for line in body.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = |index: usize| words[index].parse::<u64>().expect("a number");
        let sectors = words
            .get(7)
            .map_or(8, |word| word.parse().expect("sectors"));
        for index in 0..at(2) {
            sector += 10_000;
            let start = at(0) + index * at(1);
            let times = [start, start + at(5), start + at(5) + at(6)];
            let kinds = [
                BlockEventKind::BioQueue,
                BlockEventKind::Issue,
                BlockEventKind::Complete { error: 0 },
            ];
            events.extend(times.into_iter().zip(kinds).map(|(time, kind)| BlockEvent {
                time_ns: time * 1_000,
                cpu: 0,
                thread: at(3) as u32,
                device: DeviceNumber::new(8, 0),
                sector,
                sectors,
                flags: IoFlags::parse(words[4]),
                kind,
            }));
        }
    }
    events.sort_by_key(|event| event.time_ns);
    let mut collector = RequestCollector::new(Processes::of_tree(proc));
    for event in &events {
        collector.event(event);
    }
    collector.finish()
}
