//! `cargo xtask diagnosis`: how often the diagnosis names the right cause, on simulated machines.
//!
//! A scene is a machine, a load and what disturbs it, drawn at random; nothing in it knows the rules of the diagnosis. Its true cause is
//! counterfactual: the run is repeated without each part of the scene that could be the cause (with twice the depth, twice the servers,
//! without the limit, without the other program, ...), and the part whose absence gains most throughput or mean response time is the
//! first cause. Below 5 % it is none: the load is balanced, or several limits hold it at the same rate, which is tried with each alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use fathom_testkit::numbers_without_value;
use serde_json::Value;

/// A part of a scene that gains less than this share when it is absent is no cause.
const MIN_EFFECT: f64 = 0.05;
/// A second cause of at least this share of the effect of the first one is as good an answer.
const EQUAL_EFFECT_SHARE: f64 = 0.8;
/// Twice the depth gains less than this share at the knee, and up to 1 where the depth alone is the limit.
const MAX_EFFECT_AT_KNEE: f64 = 0.7;
/// Scenes that are run unless `--scenes` sets their number.
const DEFAULT_SCENES: u64 = 200;
/// Threads that run scenes.
const SCENE_THREADS: usize = 2;
/// Rounding of the shares of the mean response, which add up to 1.
const MAX_ERROR_OF_SHARES: f64 = 1e-5;
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
    Program,
    Stall,
    Flush,
    Link,
    RaidWritePenalty,
    GarbageCollection,
    Heat,
    SlowMember,
    Splitting,
    /// No part gains anything alone, and at least one set limit holds the rate by itself: several limits at the same rate.
    EqualLimits,
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
            Cause::Program => "program",
            Cause::Stall => "target_stall",
            Cause::Flush => "flush",
            Cause::Link => "link",
            Cause::RaidWritePenalty => "raid_write_penalty",
            Cause::GarbageCollection => "garbage_collection",
            Cause::Heat => "heat",
            Cause::SlowMember => "slow_member",
            Cause::Splitting => "splitting",
            Cause::EqualLimits => "limits at one rate",
            Cause::None => "none",
        }
    }

    /// Whether it holds the load at a rate that somebody set.
    const fn is_set_limit(self) -> bool {
        matches!(
            self,
            Cause::Ceiling | Cause::ControlGroup | Cause::PlannedRate | Cause::Link
        )
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

/// Syncs between writes.
#[derive(Clone, Copy)]
struct Syncs {
    /// Writes for each.
    every: u32,
    /// Microseconds of each.
    us: u32,
}

/// An array with parity, or without.
#[derive(Clone, Copy)]
struct Array {
    level: &'static str,
    members: u32,
    /// How many times as long the last member takes.
    slowness: u32,
}

/// A flash drive.
#[derive(Clone, Copy)]
struct Drive {
    dies: u32,
    mebibytes: u32,
    /// What it holds at the start.
    precondition: &'static str,
    collects_garbage: bool,
}

/// A device that is hot and slows itself down.
#[derive(Clone, Copy)]
struct Heat {
    /// When that begins, and how long it lasts, seconds.
    from_s: u32,
    lasts_s: u32,
    /// The speed of the device while it is hot, percent of its full speed.
    speed_percent: u32,
}

/// A machine, a load, and what disturbs it.
#[derive(Clone)]
struct Scene {
    servers: u32,
    service_us: u32,
    is_exponential: bool,
    /// Time that the bytes of an I/O take at a server, as a share of the service time.
    bytes_share: f64,
    /// An array of such servers.
    array: Option<Array>,
    /// A flash drive in place of the servers.
    drive: Option<Drive>,
    /// Bytes of an I/O, KiB.
    block_kib: u32,
    writes: bool,
    /// IOPS of the volume.
    ceiling: Option<u32>,
    /// Bytes per second of the volume, thousands.
    byte_ceiling: Option<u32>,
    /// Bytes per second of the link, thousands.
    link: Option<u32>,
    /// The largest request, KiB.
    largest_kib: Option<u32>,
    syncs: Option<Syncs>,
    depth: u32,
    /// Jobs of a synchronous engine, whose number is the depth.
    is_synchronous: bool,
    rate: Option<u32>,
    think_us: Option<u32>,
    group_iops: Option<u32>,
    neighbour: Option<Neighbour>,
    /// Nanoseconds of CPU time for each I/O.
    cpu_ns: Option<u32>,
    /// What happens to the CPU from 2 s on: the key of the event with its value.
    cpu_event: Option<(&'static str, &'static str)>,
    /// Tasks wait for memory, and the load does not.
    has_memory_pressure: bool,
    /// Milliseconds in which the load generator does not run.
    stop_ms: Option<u32>,
    /// Milliseconds in which the device serves nothing.
    stall_ms: Option<u32>,
    heat: Option<Heat>,
}

impl Scene {
    /// Microseconds of an I/O at a server.
    fn time_us(&self) -> f64 {
        f64::from(self.service_us) * (1.0 + self.bytes_share)
    }

    /// The rate that the idle device can do, per second, without limits.
    fn capacity(&self) -> f64 {
        let members = self.array.map_or(1, |array| array.members);
        f64::from(self.servers * members) * 1e6 / self.time_us()
    }

    /// The rate of the closed loop on the idle device, per second.
    fn closed_rate(&self) -> f64 {
        let by_depth = f64::from(self.depth) * 1e6 / self.time_us();
        let ceiling = self.ceiling.map_or(f64::INFINITY, f64::from);
        by_depth.min(self.capacity()).min(ceiling)
    }

    fn draw(random: &mut Random) -> Scene {
        let servers = random.choose(&[1, 1, 2, 4, 8, 16, 32, 64]);
        // At most 20,000 I/Os per second, so that a scene takes a fraction of a second.
        let shortest_us = (servers * 1_000_000 / 20_000).max(100);
        // In six scenes of eight as many I/Os are in flight as there are servers: neither the depth nor the target gains anything alone.
        let is_balanced = random.next() % 8 < 6;
        let depths = [1, 2, 4, 8, 16, 32, 64];
        let mut scene = Scene {
            servers,
            service_us: shortest_us * random.choose(&[1, 1, 2, 5]),
            is_exponential: random.choose(&[false, false, true]),
            bytes_share: 0.0,
            array: None,
            drive: None,
            block_kib: 4,
            writes: random.next().is_multiple_of(4),
            ceiling: None,
            byte_ceiling: None,
            link: None,
            largest_kib: None,
            syncs: None,
            depth: if is_balanced {
                servers
            } else {
                random.choose(&depths)
            },
            is_synchronous: false,
            rate: None,
            think_us: None,
            group_iops: None,
            neighbour: None,
            cpu_ns: None,
            cpu_event: None,
            has_memory_pressure: false,
            stop_ms: None,
            stall_ms: None,
            heat: None,
        };
        scene.add_part(random);
        // One scene in three has two.
        if random.next().is_multiple_of(3) {
            scene.add_part(random);
        }
        scene
    }

    /// Adds what may limit or disturb the load, or nothing.
    fn add_part(&mut self, random: &mut Random) {
        match random.next() % 62 {
            0..=2 => self.ceiling = Some(self.part(random, 0.1, 1.3)),
            3..=5 => self.group_iops = Some(self.part(random, 0.1, 1.3)),
            6 | 7 => self.rate = Some(self.part(random, 0.1, 1.3)),
            8 | 9 => {
                self.think_us = Some(self.service_us * random.choose(&[1, 2, 10]));
            }
            // A drive that holds nothing answers reads at once: a program that waits for them would read without end.
            10..=13 if self.drive.is_some() => {}
            10..=12 => {
                let depth = f64::from(self.depth) * random.choose(&[0.5, 1.0, 2.0, 4.0, 8.0]);
                self.neighbour = Some(Neighbour::Depth((depth as u32).clamp(1, 256)));
            }
            13 => self.neighbour = Some(Neighbour::Iops(self.part(random, 0.01, 0.8))),
            14..=16 => self.stop_ms = Some(random.choose(&[30, 200, 1500, 4000])),
            17..=20 => self.stall_ms = Some(random.choose(&[30, 200, 1500, 4000])),
            21..=23 => self.add_syncs(random),
            24..=26 => self.add_link(random),
            27..=29 => self.add_splitting(random),
            30..=32 => self.add_array(random),
            33..=35 => self.add_drive(random),
            36..=38 => self.add_cpu(random),
            39 => self.is_synchronous = self.think_us.is_none() && self.cpu_ns.is_none(),
            40 => self.has_memory_pressure = true,
            41..=44 => self.add_heat(random),
            45..=47 => self.add_slow_member(random),
            // So that the causes that seldom are the first one are, in twenty scenes of a thousand.
            48 => self.rate = Some(self.part(random, 0.1, 1.0)),
            49 | 50 => self.add_cpu(random),
            _ => {}
        }
    }

    /// A part of the rate of the closed loop.
    fn part(&self, random: &mut Random, from: f64, to: f64) -> u32 {
        ((self.closed_rate() * random.share(from, to)) as u32).max(20)
    }

    fn add_syncs(&mut self, random: &mut Random) {
        self.writes = true;
        // A sync of a synchronous engine holds up one job, and of others one place of the queue.
        self.is_synchronous = random.choose(&[true, false]) && self.cpu_ns.is_none();
        self.syncs = Some(Syncs {
            every: random.choose(&[1, 1, 4, 16]),
            us: self.service_us * random.choose(&[1, 4, 10]),
        });
    }

    fn add_link(&mut self, random: &mut Random) {
        self.block_kib = self.block_kib.max(random.choose(&[16, 64, 128]));
        let rate = Some(self.part(random, 0.1, 1.3) * self.block_kib * 1024 / 1000);
        match random.next() % 4 {
            0 => self.byte_ceiling = rate,
            _ => self.link = rate,
        }
    }

    fn add_splitting(&mut self, random: &mut Random) {
        self.block_kib = self.block_kib.max(random.choose(&[64, 128]));
        self.largest_kib = Some(random.choose(&[8, 16, 32]));
        // So that the requests of the pieces are not many more than 20,000 per second.
        self.service_us *= 4;
        self.bytes_share = random.choose(&[0.0, 0.3, 3.0]);
    }

    fn add_array(&mut self, random: &mut Random) {
        if self.drive.is_some() {
            return;
        }
        self.writes = random.next().is_multiple_of(4) || !self.writes;
        self.servers = self.servers.min(8);
        self.service_us *= 2;
        self.array = Some(Array {
            level: random.choose(&["raid0", "raid5", "raid5", "raid6"]),
            members: random.choose(&[4, 6]),
            slowness: 1,
        });
    }

    fn add_slow_member(&mut self, random: &mut Random) {
        if self.array.is_none() {
            self.add_array(random);
        }
        if let Some(array) = &mut self.array {
            array.slowness = random.choose(&[2, 3, 5, 10]);
        }
    }

    fn add_drive(&mut self, random: &mut Random) {
        if self.array.is_some() || self.neighbour.is_some() {
            return;
        }
        self.writes = true;
        self.drive = Some(Drive {
            dies: random.choose(&[4, 8]),
            mebibytes: random.choose(&[64, 128, 256]),
            precondition: random.choose(&["empty", "filled", "random"]),
            collects_garbage: true,
        });
    }

    fn add_cpu(&mut self, random: &mut Random) {
        self.is_synchronous = false;
        let each_ns = 1e9 / self.closed_rate();
        self.cpu_ns = Some((each_ns * random.choose(&[0.1, 0.5, 1.5, 3.0])) as u32);
        self.cpu_event = random.choose(&[
            None,
            Some(("steal_cpu", "50%")),
            Some(("slow_cpu", "40%")),
            Some(("slow_cpu", "90%")),
        ]);
    }

    fn add_heat(&mut self, random: &mut Random) {
        self.heat = Some(Heat {
            from_s: random.choose(&[2, 4]),
            // Over before the end of the run, or not.
            lasts_s: random.choose(&[3, 100]),
            speed_percent: random.choose(&[20, 40, 60, 80]),
        });
    }

    /// Servers that take so long for each I/O.
    fn servers_model(&self, service_us: u32) -> String {
        let mut options = format!("count={}, service={service_us}us", self.servers);
        if self.is_exponential {
            options += ", distribution=exponential";
        }
        if let Some(syncs) = self.syncs {
            options += &format!(", flush={}us", syncs.us);
        }
        if self.bytes_share > 0.0 {
            let ns = f64::from(self.service_us) * 1e3 * self.bytes_share;
            let rate = f64::from(self.block_kib) * 1024.0 / ns * 1e9;
            options += &format!(", rate={}kB/s", (rate / 1e3).round());
        }
        format!("servers({options})")
    }

    fn array_model(&self, array: Array) -> String {
        let Array {
            level,
            members,
            slowness,
        } = array;
        let member = self.servers_model(self.service_us);
        match slowness {
            1 => format!("{level}({members} x {member}, chunk=256k)"),
            _ => {
                let slow = self.servers_model(self.service_us * slowness);
                format!("{level}({} x {member}, {slow}, chunk=256k)", members - 1)
            }
        }
    }

    fn model(&self) -> String {
        let mut model = match self.array {
            Some(array) => self.array_model(array),
            None => self.servers_model(self.service_us),
        };
        if let Some(drive) = self.drive {
            model = drive.model();
        }
        if let Some(iops) = self.ceiling {
            model = format!("limit({model}, iops={iops})");
        }
        if let Some(rate) = self.byte_ceiling {
            model = format!("limit({model}, bandwidth={rate}kB/s)");
        }
        if let Some(rate) = self.link {
            model = format!("link({model}, rate={rate}kB/s)");
        }
        if let Some(kib) = self.largest_kib {
            model = format!("split({model}, max_bytes={kib}k)");
        }
        model
    }

    fn machine(&self) -> String {
        let cpu = self
            .cpu_ns
            .map_or(String::new(), |ns| format!("cpu_per_io = \"{ns}ns\"\n"));
        let mut text = format!(
            "{cpu}[[device]]\npath = \"/dev/a\"\nmodel = \"{}\"\nscratch = true\n",
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
                "at = \"0s\"\nforeign_reads = \"/dev/a\"\nlasts = \"100s\"\nsize = \"{}k\"\n{load}",
                self.block_kib
            ));
        }
        if let Some((key, share)) = self.cpu_event {
            event(format!(
                "at = \"2s\"\n{key} = \"{share}\"\nlasts = \"100s\""
            ));
        }
        if self.has_memory_pressure {
            event("at = \"0s\"\nmemory_pressure = \"20%\"\nlasts = \"100s\"".to_owned());
        }
        if let Some(ms) = self.stop_ms {
            event(format!("at = \"3s\"\nstop_generator = \"{ms}ms\""));
        }
        if let Some(ms) = self.stall_ms {
            event(format!(
                "at = \"3s\"\nstall_device = \"/dev/a\"\nlasts = \"{ms}ms\""
            ));
        }
        if let Some(heat) = self.heat {
            event(format!(
                "at = \"{}s\"\noverheat_device = \"/dev/a\"\nlasts = \"{}s\"\nspeed = \"{}%\"",
                heat.from_s, heat.lasts_s, heat.speed_percent
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
        load.push(format!("--bs={}k", self.block_kib));
        load.push(format!("--rw=rand{}", self.direction()));
        load.extend(
            self.rate
                .map(|rate| format!("--rate_iops={}", (rate / jobs).max(1))),
        );
        load.extend(self.think_us.map(|us| format!("--thinktime={us}us")));
        load.extend(self.syncs.map(|syncs| format!("--fsync={}", syncs.every)));
        load
    }

    /// The key of its figures in results.
    fn direction(&self) -> &'static str {
        if self.writes { "write" } else { "read" }
    }

    /// Each part that could be the cause, with what takes it away.
    fn parts(&self) -> Vec<(Cause, fn(&mut Scene))> {
        let mut all = Vec::new();
        let mut add = |is_there: bool, cause, change: fn(&mut Scene)| {
            if is_there {
                all.push((cause, change));
            }
        };
        add(true, Cause::QueueDepth, |scene| scene.depth *= 2);
        add(true, Cause::Target, Scene::double_target);
        let is_limited = self.ceiling.is_some() || self.byte_ceiling.is_some();
        add(is_limited, Cause::Ceiling, |scene| {
            (scene.ceiling, scene.byte_ceiling) = (None, None);
        });
        add(self.group_iops.is_some(), Cause::ControlGroup, |scene| {
            scene.group_iops = None;
        });
        add(self.rate.is_some(), Cause::PlannedRate, |scene| {
            scene.rate = None;
        });
        add(self.think_us.is_some(), Cause::ThinkTime, |scene| {
            scene.think_us = None;
        });
        add(self.neighbour.is_some(), Cause::Neighbour, |scene| {
            scene.neighbour = None;
        });
        let is_host_slow = self.stop_ms.is_some() || self.cpu_event.is_some();
        add(is_host_slow, Cause::HostCpu, |scene| {
            (scene.stop_ms, scene.cpu_event) = (None, None);
        });
        // As twice the servers are of the target.
        add(self.cpu_ns.is_some(), Cause::Program, |scene| {
            scene.cpu_ns = scene.cpu_ns.map(|ns| ns / 2);
        });
        add(self.stall_ms.is_some(), Cause::Stall, |scene| {
            scene.stall_ms = None;
        });
        add(self.heat.is_some(), Cause::Heat, |scene| scene.heat = None);
        add(self.syncs.is_some(), Cause::Flush, |scene| {
            scene.syncs = None;
        });
        add(self.link.is_some(), Cause::Link, |scene| scene.link = None);
        add(self.largest_kib.is_some(), Cause::Splitting, |scene| {
            scene.largest_kib = None;
        });
        let has_parity = self.array.is_some_and(|array| array.level != "raid0");
        add(has_parity, Cause::RaidWritePenalty, |scene| {
            if let Some(array) = &mut scene.array {
                array.level = "raid0";
            }
        });
        let has_slow_member = self.array.is_some_and(|array| array.slowness > 1);
        add(has_slow_member, Cause::SlowMember, |scene| {
            if let Some(array) = &mut scene.array {
                array.slowness = 1;
            }
        });
        add(self.drive.is_some(), Cause::GarbageCollection, |scene| {
            if let Some(drive) = &mut scene.drive {
                drive.collects_garbage = false;
            }
        });
        all
    }

    /// The scene without each part that could be the cause.
    fn counterfactuals(&self) -> Vec<(Cause, Scene)> {
        let without = |(cause, take_away): (Cause, fn(&mut Scene))| {
            let mut scene = self.clone();
            take_away(&mut scene);
            (cause, scene)
        };
        self.parts().into_iter().map(without).collect()
    }

    /// For each limit that is set: the scene with it and without all others that could be the cause.
    fn with_one_limit_each(&self) -> Vec<(Cause, Scene)> {
        let parts = self.parts();
        let limits = parts.iter().filter(|(cause, _)| cause.is_set_limit());
        let with_one = |limit: Cause| {
            let mut scene = self.clone();
            let others = parts.iter().filter(|(cause, _)| *cause != limit);
            others.for_each(|(_, take_away)| take_away(&mut scene));
            (limit, scene)
        };
        limits.map(|(limit, _)| with_one(*limit)).collect()
    }

    /// Twice the servers, or dies.
    fn double_target(&mut self) {
        match &mut self.drive {
            Some(drive) => drive.dies *= 2,
            None => self.servers *= 2,
        }
    }
}

impl Drive {
    /// A small drive, so that 10 s of writes fill it.
    fn model(self) -> String {
        let Drive {
            dies,
            mebibytes,
            precondition,
            collects_garbage,
        } = self;
        let collection = if collects_garbage { "on" } else { "off" };
        format!(
            "flash(capacity={mebibytes}m, channels={dies}, chips_per_channel=1, dies_per_chip=1, planes=1, page=4k, \
             pages_per_block=64, read_time=60us, program_time=600us, erase_time=3ms, channel_rate=400MB/s, buffer_time=5us, \
             buffer=256k, power_loss_protection=on, over_provisioning=0.1, precondition={precondition}, \
             garbage_collection={collection})"
        )
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
    /// The sum of the shares that it gives the parts of the mean response, if it gives any.
    shares: Option<f64>,
    /// Whether another depth was measured with I/Os enough to count.
    is_probed: bool,
    /// Numbers of the sentence that are none of the figures of the result.
    unknown_numbers: Vec<String>,
}

impl Answer {
    /// Whether the shares that it states add up to 1, or it states none.
    fn has_whole_shares(&self) -> bool {
        self.shares
            .is_none_or(|sum| (sum - 1.0).abs() < MAX_ERROR_OF_SHARES)
    }

    /// Whether its shares and the numbers of its sentence are those of its figures.
    fn is_consistent(&self) -> bool {
        self.has_whole_shares() && self.unknown_numbers.is_empty()
    }
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
            let load = scene.load().join(" ");
            io::Error::other(format!("{error}: {text}\n{load}\n{}", scene.machine()))
        })?;
        let entry = &json["fathom"]["entries"][0];
        let of_job = &json["jobs"][0][scene.direction()];
        let response = &entry[scene.direction()]["response_ns"]["mean"];
        let response = if response.is_number() {
            response
        } else {
            &of_job["clat_ns"]["mean"]
        };
        let shares = entry["limit"]["shares"].as_array();
        let shares = shares.map(|all| all.iter().filter_map(|one| one["share"].as_f64()).sum());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let figures = entry["limit"]["figures"].as_array().into_iter().flatten();
        let figures: Vec<f64> = figures.filter_map(|one| one["value"].as_f64()).collect();
        // The plan says the load that it offers.
        let sentence = text(&entry["limit"]["text"]);
        let said = sentence.replace(&text(&entry["offered_load"]), "");
        Ok(Answer {
            unknown_numbers: numbers_without_value(&said, &figures),
            iops: of_job["iops"].as_f64().unwrap_or_default(),
            shares: shares.filter(|sum| *sum != 0.0),
            mean_ns: response.as_f64().unwrap_or_default(),
            cause: text(&entry["limit"]["cause"]),
            certainty: text(&entry["limit"]["certainty"]),
            sentence,
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

    /// The set limits that hold a load at its rate alone, without anything else that could be the cause.
    fn equal_limits(&self, scene: &Scene, with: &Answer) -> io::Result<Vec<Cause>> {
        let mut all = Vec::new();
        for (cause, other) in scene.with_one_limit_each() {
            let alone = self.run(&other, false)?;
            if alone.iops < (1.0 + MIN_EFFECT) * with.iops {
                all.push(cause);
            }
        }
        Ok(all)
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

/// Judges an answer by the true causes of its scene; where there is none, by the limits that hold its rate alone.
fn judge(
    scene: &Scene,
    answer: &Answer,
    causes: &[(Cause, f64)],
    equal_limits: &[Cause],
) -> Judgement {
    let first = causes.first().map_or(0.0, |(_, effect)| *effect);
    let accepted = causes
        .iter()
        .filter(|(_, effect)| *effect >= EQUAL_EFFECT_SHARE * first);
    let mut accepted: Vec<&str> = accepted.map(|(cause, _)| cause.name()).collect();
    // As many I/Os in flight as servers: more of one without more of the other gain nothing, and more in flight only wait.
    if causes.is_empty() {
        accepted.push(Cause::Target.name());
        accepted.extend(equal_limits.iter().map(|cause| cause.name()));
    }
    // A drive that was full before the run began shows nothing of how fast it is otherwise.
    let was_full = scene
        .drive
        .is_some_and(|drive| drive.precondition == "random");
    if was_full && accepted.contains(&Cause::GarbageCollection.name()) {
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
    let program = target.join("debug/fathom").canonicalize()?;
    let outcomes = run_scenes(&program, &directory, &options);
    fs::remove_dir_all(&directory)?;
    let outcomes = outcomes?;
    if options.is_verbose {
        let all = outcomes.iter().enumerate();
        all.filter(|(_, one)| one.judgement != Judgement::Right || !one.answer.is_consistent())
            .for_each(|(number, outcome)| outcome.print(number));
    }
    let text = table(&outcomes, &options);
    if let Some(path) = &options.markdown {
        fs::write(path, &text)?;
    }
    Ok(text)
}

/// A scene with its answer and its true causes.
struct Outcome {
    scene: Scene,
    answer: Answer,
    causes: Vec<(Cause, f64)>,
    /// Where there is no cause: the limits that hold the rate alone.
    equal_limits: Vec<Cause>,
    judgement: Judgement,
}

impl Outcome {
    fn of(runner: &Runner, scene: &Scene) -> io::Result<Outcome> {
        let answer = runner.run(scene, true)?;
        let causes = runner.true_causes(scene, &answer)?;
        let equal_limits = match causes.is_empty() {
            true => runner.equal_limits(scene, &answer)?,
            false => Vec::new(),
        };
        Ok(Outcome {
            scene: scene.clone(),
            judgement: judge(scene, &answer, &causes, &equal_limits),
            answer,
            causes,
            equal_limits,
        })
    }

    fn print(&self, number: usize) {
        let effects = self.causes.iter();
        let effects =
            effects.map(|(cause, effect)| format!("{} {:.0} %", cause.name(), 100.0 * effect));
        let equal = self
            .equal_limits
            .iter()
            .map(|cause| format!("{} at the same rate", cause.name()));
        let causes: Vec<String> = effects.chain(equal).collect();
        println!(
            "{number}: {} | {} | {}\n   said {} ({}) {:?} {:?}: {}",
            causes.join(", "),
            self.scene.load().join(" "),
            self.scene.machine().replace('\n', " "),
            self.answer.cause,
            self.answer.certainty,
            self.answer.shares,
            self.answer.unknown_numbers,
            self.answer.sentence
        );
    }
}

/// Runs the scenes on a few threads; the outcomes are in the order of the scenes.
fn run_scenes(program: &Path, directory: &Path, options: &Options) -> io::Result<Vec<Outcome>> {
    let mut random = Random(options.seed);
    let scenes: Vec<Scene> = (0..options.scenes)
        .map(|_| Scene::draw(&mut random))
        .collect();
    let next = AtomicUsize::new(0);
    let run_some = |thread: usize| -> io::Result<Vec<(usize, Outcome)>> {
        let directory = directory.join(thread.to_string());
        fs::create_dir_all(&directory)?;
        let runner = Runner {
            program: program.to_owned(),
            directory,
        };
        let mut some = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(scene) = scenes.get(number) else {
                return Ok(some);
            };
            some.push((number, Outcome::of(&runner, scene)?));
        }
    };
    let run_some = &run_some;
    let parts: io::Result<Vec<Vec<(usize, Outcome)>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..SCENE_THREADS)
            .map(|thread| scope.spawn(move || run_some(thread)))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            let failed = || io::Error::other("a thread ended early");
            thread.join().map_err(|_| failed())?
        });
        joined.collect()
    });
    let mut all: Vec<(usize, Outcome)> = parts?.into_iter().flatten().collect();
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

/// The table, in Markdown.
fn table(outcomes: &[Outcome], options: &Options) -> String {
    let mut rows: BTreeMap<Cause, Row> = BTreeMap::new();
    for outcome in outcomes {
        let first = match (outcome.causes.first(), outcome.equal_limits.is_empty()) {
            (Some((cause, _)), _) => *cause,
            (None, true) => Cause::None,
            (None, false) => Cause::EqualLimits,
        };
        let row = rows.entry(first).or_default();
        row.add(&outcome.answer, outcome.judgement);
    }
    let mut text = format!(
        "Seed {}, {} scenes.\n\n| true first cause | scenes | right | too few I/Os | not known | wrong, likely | wrong, as fact | answers |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
        options.seed, options.scenes
    );
    let mut all = Row::default();
    for (cause, row) in &rows {
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
    let two = outcomes.iter().filter(|one| one.causes.len() > 1).count();
    let stated = outcomes.iter().filter(|one| one.answer.shares.is_some());
    let whole = stated.clone().filter(|one| one.answer.has_whole_shares());
    let _ = writeln!(
        text,
        "Two or more true causes: {two} scenes. Shares of the mean response: stated in {} scenes, add up to 1 in {}. Sentences of which a \
         number is not among the figures of the result: {}.",
        stated.count(),
        whole.count(),
        outcomes
            .iter()
            .filter(|one| !one.answer.unknown_numbers.is_empty())
            .count()
    );
    text
}
