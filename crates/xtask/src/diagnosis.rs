//! `cargo xtask diagnosis`: how often the diagnosis names the right cause, on simulated machines.
//!
//! A scene is a machine, a load and what disturbs it, drawn at random; nothing in it knows the rules of the diagnosis. Its true cause is
//! counterfactual: the run is repeated without each part of the scene that could be the cause (with twice the depth, twice the servers,
//! without the limit, without the other program, ...), and the part whose absence gains most throughput or mean response time is the
//! first cause. Below 5 % it is none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A part of a scene that gains less than this share when it is absent is no cause.
const MIN_EFFECT: f64 = 0.05;
/// A second cause of at least this share of the effect of the first one is as good an answer.
const EQUAL_EFFECT_SHARE: f64 = 0.8;
/// Twice the depth gains less than this share at the knee, and up to 1 where the depth alone is the limit.
const MAX_EFFECT_AT_KNEE: f64 = 0.7;
/// Scenes that are run unless `--scenes` sets their number.
const DEFAULT_SCENES: u64 = 200;
/// Time of each load, seconds.
const RUN_TIME_S: u64 = 10;

/// What can be the cause in a scene. The names are those of `limit.cause` in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    QueueDepth,
    Target,
    Ceiling,
    ControlGroup,
    PlannedRate,
    ThinkTime,
    Neighbour,
    HostCpu,
    Stall,
    None,
}

impl Cause {
    const fn name(self) -> &'static str {
        match self {
            Cause::QueueDepth => "queue_depth",
            Cause::Target => "target",
            Cause::Ceiling => "ceiling",
            Cause::ControlGroup => "control_group",
            Cause::PlannedRate => "planned_rate",
            Cause::ThinkTime => "think_time",
            Cause::Neighbour => "neighbour",
            Cause::HostCpu => "host_cpu",
            Cause::Stall => "target_stall",
            Cause::None => "none",
        }
    }
}

/// A random number generator (SplitMix64, Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn choose<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() % values.len() as u64) as usize]
    }

    fn share(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Another program that reads the device.
#[derive(Clone, Copy)]
enum Neighbour {
    Depth(u32),
    Iops(u32),
}

/// A machine, a load, and what disturbs it.
#[derive(Clone)]
struct Scene {
    servers: u32,
    service_us: u32,
    is_exponential: bool,
    /// IOPS of the volume.
    ceiling: Option<u32>,
    depth: u32,
    /// Jobs of a synchronous engine, whose number is the depth.
    is_synchronous: bool,
    rate: Option<u32>,
    think_us: Option<u32>,
    group_iops: Option<u32>,
    neighbour: Option<Neighbour>,
    /// Milliseconds in which the load generator does not run.
    stop_ms: Option<u32>,
    /// Milliseconds in which the device serves nothing.
    stall_ms: Option<u32>,
}

impl Scene {
    /// The rate that the device can do, per second.
    fn capacity(&self) -> f64 {
        f64::from(self.servers) * 1e6 / f64::from(self.service_us)
    }

    /// The rate of the closed loop on the idle device, per second.
    fn closed_rate(&self) -> f64 {
        let by_depth = f64::from(self.depth) * 1e6 / f64::from(self.service_us);
        let ceiling = self.ceiling.map_or(f64::INFINITY, f64::from);
        by_depth.min(self.capacity()).min(ceiling)
    }

    fn draw(random: &mut Random) -> Scene {
        let servers = random.choose(&[1, 1, 2, 4, 8, 16, 32, 64]);
        // At most 20,000 I/Os per second, so that a scene takes a fraction of a second.
        let shortest_us = (servers * 1_000_000 / 20_000).max(100);
        let mut scene = Scene {
            servers,
            service_us: shortest_us * random.choose(&[1, 1, 2, 5]),
            is_exponential: random.choose(&[false, false, true]),
            ceiling: None,
            // As many as servers in one scene of six: there, neither the depth nor the target gains anything alone.
            depth: match random.next() % 6 {
                0 => servers,
                _ => random.choose(&[1, 2, 4, 8, 16, 32, 64]),
            },
            is_synchronous: false,
            rate: None,
            think_us: None,
            group_iops: None,
            neighbour: None,
            stop_ms: None,
            stall_ms: None,
        };
        scene.add_disturbance(random);
        // One scene in three has two.
        if random.next().is_multiple_of(3) {
            scene.add_disturbance(random);
        }
        scene
    }

    fn add_disturbance(&mut self, random: &mut Random) {
        let rate = self.closed_rate();
        let part = |random: &mut Random, from, to| ((rate * random.share(from, to)) as u32).max(20);
        match random.next() % 14 {
            0 => self.ceiling = Some(part(random, 0.1, 1.3)),
            1 => self.group_iops = Some(part(random, 0.1, 1.3)),
            2 => self.rate = Some(part(random, 0.1, 1.3)),
            3 => {
                let each = self.service_us * random.choose(&[1, 2, 10]);
                self.think_us = Some(each);
            }
            4 => self.neighbour = Some(Neighbour::Depth(random.choose(&[1, 2, 4, 8]))),
            5 => self.neighbour = Some(Neighbour::Iops(part(random, 0.01, 0.8))),
            6 | 7 => self.stop_ms = Some(random.choose(&[30, 200, 1500, 4000])),
            8 | 9 => self.stall_ms = Some(random.choose(&[30, 200, 1500, 4000])),
            10 => self.is_synchronous = self.think_us.is_none(),
            _ => {}
        }
    }

    fn model(&self) -> String {
        let distribution = if self.is_exponential {
            ", distribution=exponential"
        } else {
            ""
        };
        let servers = format!(
            "servers(count={}, service={}us{distribution})",
            self.servers, self.service_us
        );
        match self.ceiling {
            Some(iops) => format!("limit({servers}, iops={iops})"),
            None => servers,
        }
    }

    fn machine(&self) -> String {
        let mut text = format!(
            "[[device]]\npath = \"/dev/a\"\nmodel = \"{}\"\nscratch = true\n",
            self.model()
        );
        let mut event = |line: String| text += &format!("\n[[event]]\n{line}\n");
        if let Some(iops) = self.group_iops {
            event(format!(
                "at = \"0s\"\nlimit_io = \"/dev/a\"\nlasts = \"100s\"\niops = {iops}"
            ));
        }
        if let Some(neighbour) = self.neighbour {
            let load = match neighbour {
                Neighbour::Depth(depth) => format!("depth = {depth}"),
                Neighbour::Iops(iops) => format!("iops = {iops}"),
            };
            event(format!(
                "at = \"0s\"\nforeign_reads = \"/dev/a\"\nlasts = \"100s\"\n{load}"
            ));
        }
        if let Some(ms) = self.stop_ms {
            event(format!("at = \"3s\"\nstop_generator = \"{ms}ms\""));
        }
        if let Some(ms) = self.stall_ms {
            event(format!(
                "at = \"3s\"\nstall_device = \"/dev/a\"\nlasts = \"{ms}ms\""
            ));
        }
        text
    }

    fn load(&self) -> Vec<String> {
        let mut load = match self.is_synchronous {
            true => vec![
                "--ioengine=psync".to_owned(),
                format!("--numjobs={}", self.depth),
                "--group_reporting".to_owned(),
            ],
            false => vec![
                "--ioengine=libaio".to_owned(),
                format!("--iodepth={}", self.depth),
            ],
        };
        let jobs = if self.is_synchronous { self.depth } else { 1 };
        load.extend(
            self.rate
                .map(|rate| format!("--rate_iops={}", (rate / jobs).max(1))),
        );
        load.extend(self.think_us.map(|us| format!("--thinktime={us}us")));
        load
    }

    /// The scene without each part that could be the cause.
    fn counterfactuals(&self) -> Vec<(Cause, Scene)> {
        let mut all = Vec::new();
        let mut add = |cause, change: &dyn Fn(&mut Scene)| {
            let mut scene = self.clone();
            change(&mut scene);
            all.push((cause, scene));
        };
        add(Cause::QueueDepth, &|scene| scene.depth *= 2);
        add(Cause::Target, &|scene| scene.servers *= 2);
        if self.ceiling.is_some() {
            add(Cause::Ceiling, &|scene| scene.ceiling = None);
        }
        if self.group_iops.is_some() {
            add(Cause::ControlGroup, &|scene| scene.group_iops = None);
        }
        if self.rate.is_some() {
            add(Cause::PlannedRate, &|scene| scene.rate = None);
        }
        if self.think_us.is_some() {
            add(Cause::ThinkTime, &|scene| scene.think_us = None);
        }
        if self.neighbour.is_some() {
            add(Cause::Neighbour, &|scene| scene.neighbour = None);
        }
        if self.stop_ms.is_some() {
            add(Cause::HostCpu, &|scene| scene.stop_ms = None);
        }
        if self.stall_ms.is_some() {
            add(Cause::Stall, &|scene| scene.stall_ms = None);
        }
        all
    }
}

/// What a run of a scene did, and what it says of its cause.
struct Answer {
    iops: f64,
    /// Mean response time, nanoseconds.
    mean_ns: f64,
    cause: String,
    certainty: String,
    sentence: String,
    /// Whether another depth was measured with I/Os enough to count.
    is_probed: bool,
}

/// Runs scenes with one program in one directory.
struct Runner {
    program: PathBuf,
    directory: PathBuf,
}

impl Runner {
    fn run(&self, scene: &Scene, is_probed: bool) -> io::Result<Answer> {
        fs::write(self.directory.join("machine.toml"), scene.machine())?;
        let mut command = Command::new(&self.program);
        command.current_dir(&self.directory).args([
            "run",
            "--name=x",
            "--filename=/dev/a",
            "--direct=1",
            "--bs=4k",
            "--rw=randread",
            "--norandommap",
            "--time_based",
            "--json",
            "--no-store",
            "--quiet",
            "--machine=machine.toml",
        ]);
        command.arg(format!("--runtime={RUN_TIME_S}"));
        command.args(scene.load());
        if !is_probed {
            command.arg("--no-probe");
        }
        let output = command.output()?;
        let json: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            io::Error::other(format!("{error}: {text}\n{}", scene.machine()))
        })?;
        let entry = &json["fathom"]["entries"][0];
        let read = &entry["read"];
        let response = if read["response_ns"]["mean"].is_number() {
            &read["response_ns"]["mean"]
        } else {
            &json["jobs"][0]["read"]["clat_ns"]["mean"]
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Answer {
            iops: json["jobs"][0]["read"]["iops"].as_f64().unwrap_or_default(),
            mean_ns: response.as_f64().unwrap_or_default(),
            cause: text(&entry["limit"]["cause"]),
            certainty: text(&entry["limit"]["certainty"]),
            sentence: text(&entry["limit"]["text"]),
            is_probed: entry["limit"]["evidence_for"]
                .as_array()
                .is_some_and(|evidence| !evidence.is_empty()),
        })
    }

    /// The causes of a scene with what their absence gains, the greatest first.
    fn true_causes(&self, scene: &Scene, with: &Answer) -> io::Result<Vec<(Cause, f64)>> {
        let mut effects = Vec::new();
        for (cause, other) in scene.counterfactuals() {
            let without = self.run(&other, false)?;
            let gain = |better: f64, worse: f64| {
                if worse > 0.0 {
                    better / worse - 1.0
                } else {
                    0.0
                }
            };
            let throughput = gain(without.iops, with.iops);
            // Less waiting because less is done is no gain, and without a rate no I/O is due, so that none waits.
            let response = if throughput > -MIN_EFFECT && cause != Cause::PlannedRate {
                gain(with.mean_ns, without.mean_ns)
            } else {
                0.0
            };
            effects.push((cause, throughput.max(response)));
        }
        effects.retain(|(_, effect)| *effect >= MIN_EFFECT);
        effects.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(effects)
    }
}

/// How an answer compares with the truth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Right,
    /// The evidence does not suffice: no other depth could be measured with 100 I/Os in the time of the probes, and one depth does not
    /// tell, because one I/O at a time never waits for another one, or because the service times vary.
    TooFewIos,
    NotKnown,
    WrongAsLikely,
    WrongAsFact,
}

fn judge(scene: &Scene, answer: &Answer, causes: &[(Cause, f64)]) -> Judgement {
    let first = causes.first().map_or(0.0, |(_, effect)| *effect);
    let accepted = causes
        .iter()
        .filter(|(_, effect)| *effect >= EQUAL_EFFECT_SHARE * first);
    let mut accepted: Vec<&str> = accepted.map(|(cause, _)| cause.name()).collect();
    // As many I/Os in flight as servers: more of one without more of the other gain nothing, and more in flight only wait.
    if causes.is_empty() {
        accepted.push(Cause::Target.name());
    }
    let effect_of_depth = causes.iter().find(|(cause, _)| *cause == Cause::QueueDepth);
    let is_right = match answer.cause.as_str() {
        // At the knee more in flight gain something, and less than they would where the depth alone is the limit.
        "knee" => effect_of_depth.is_some_and(|(_, effect)| *effect < MAX_EFFECT_AT_KNEE),
        "too_deep" => accepted.contains(&"target"),
        cause => accepted.contains(&cause),
    };
    match (is_right, answer.cause.as_str(), answer.certainty.as_str()) {
        (true, ..) => Judgement::Right,
        (false, "not_known" | "", _) if causes.is_empty() => Judgement::Right,
        (false, "not_known" | "", _)
            if !answer.is_probed && (scene.depth == 1 || scene.is_exponential) =>
        {
            Judgement::TooFewIos
        }
        (false, "not_known" | "", _) => Judgement::NotKnown,
        (false, _, "fact") => Judgement::WrongAsFact,
        _ => Judgement::WrongAsLikely,
    }
}

/// Counts of one true cause.
#[derive(Default)]
struct Row {
    scenes: u64,
    right: u64,
    too_few: u64,
    not_known: u64,
    likely: u64,
    fact: u64,
    /// What was answered, and how often.
    answers: BTreeMap<String, u64>,
}

impl Row {
    fn add(&mut self, answer: &Answer, judgement: Judgement) {
        self.scenes += 1;
        let counter = match judgement {
            Judgement::Right => &mut self.right,
            Judgement::TooFewIos => &mut self.too_few,
            Judgement::NotKnown => &mut self.not_known,
            Judgement::WrongAsLikely => &mut self.likely,
            Judgement::WrongAsFact => &mut self.fact,
        };
        *counter += 1;
        *self.answers.entry(answer.cause.clone()).or_default() += 1;
    }
}

/// Options of the command.
struct Options {
    seed: u64,
    scenes: u64,
    markdown: Option<PathBuf>,
    /// Prints each scene that was not judged right.
    is_verbose: bool,
}

fn parse(options: &[&str]) -> io::Result<Options> {
    let mut parsed = Options {
        seed: 1,
        scenes: DEFAULT_SCENES,
        markdown: None,
        is_verbose: false,
    };
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| io::Error::other(format!("{option} needs a value")))
        };
        let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
        match *option {
            "--seed" => parsed.seed = number(value()?)?,
            "--scenes" => parsed.scenes = number(value()?)?,
            "--markdown" => parsed.markdown = Some(PathBuf::from(value()?)),
            "--verbose" => parsed.is_verbose = true,
            other => return Err(io::Error::other(format!("unknown option {other}"))),
        }
    }
    Ok(parsed)
}

/// Builds the program, runs the scenes, and prints the table.
///
/// # Errors
/// The program cannot be built or run, or an option is wrong.
pub fn run(options: &[&str]) -> io::Result<String> {
    let options = parse(options)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&root)
        .args(["build", "--quiet", "--package", "fathom"])
        .status()?;
    if !status.success() {
        return Err(io::Error::other("the program cannot be built"));
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let directory = std::env::temp_dir().join(format!("fathom-diagnosis-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let runner = Runner {
        program: target.join("debug/fathom").canonicalize()?,
        directory: directory.clone(),
    };
    let rows = run_scenes(&runner, &options);
    fs::remove_dir_all(&directory)?;
    let text = table(&rows?, &options);
    if let Some(path) = &options.markdown {
        fs::write(path, &text)?;
    }
    Ok(text)
}

fn run_scenes(runner: &Runner, options: &Options) -> io::Result<BTreeMap<Cause, Row>> {
    let mut random = Random(options.seed);
    let mut rows: BTreeMap<Cause, Row> = BTreeMap::new();
    for number in 0..options.scenes {
        let scene = Scene::draw(&mut random);
        let answer = runner.run(&scene, true)?;
        let causes = runner.true_causes(&scene, &answer)?;
        let judgement = judge(&scene, &answer, &causes);
        let first = causes.first().map_or(Cause::None, |(cause, _)| *cause);
        rows.entry(first).or_default().add(&answer, judgement);
        if options.is_verbose && judgement != Judgement::Right {
            let text: Vec<String> = causes
                .iter()
                .map(|(cause, effect)| format!("{} {:.0} %", cause.name(), 100.0 * effect))
                .collect();
            println!(
                "{number}: {} | {} | {}\n   said {} ({}): {}",
                text.join(", "),
                scene.load().join(" "),
                scene.machine().replace('\n', " "),
                answer.cause,
                answer.certainty,
                answer.sentence
            );
        }
    }
    Ok(rows)
}

/// The table, in Markdown.
fn table(rows: &BTreeMap<Cause, Row>, options: &Options) -> String {
    let mut text = format!(
        "Seed {}, {} scenes.\n\n| true first cause | scenes | right | too few I/Os | not known | wrong, likely | wrong, as fact | answers |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
        options.seed, options.scenes
    );
    let mut all = Row::default();
    for (cause, row) in rows {
        let answers: Vec<String> = row
            .answers
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            cause.name(),
            row.scenes,
            row.right,
            row.too_few,
            row.not_known,
            row.likely,
            row.fact,
            answers.join(", ")
        );
        all.scenes += row.scenes;
        all.right += row.right;
        all.too_few += row.too_few;
        all.not_known += row.not_known;
        all.likely += row.likely;
        all.fact += row.fact;
    }
    let _ = writeln!(
        text,
        "| all | {} | {} | {} | {} | {} | {} | |",
        all.scenes, all.right, all.too_few, all.not_known, all.likely, all.fact
    );
    let judged = (all.scenes - all.too_few).max(1) as f64;
    let _ = writeln!(
        text,
        "\nOf those with I/Os enough: {:.1} % right, {:.1} % wrong as fact.",
        100.0 * all.right as f64 / judged,
        100.0 * all.fact as f64 / judged
    );
    text
}
