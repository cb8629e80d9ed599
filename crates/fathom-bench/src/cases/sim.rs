//! The simulator: simulated I/Os per second of one core, a minute of a fast device, memory, and a
//! sweep with its report.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_sim::{Library, SimDevice, SimOp, SimRequest, closed_loop};
use nix::sys::resource::{UsageWho, getrusage};

use crate::context::Context;
use crate::row::{Goal, Row};
use crate::tool::time;

/// I/Os of each measurement.
const COUNT: u64 = 2_000_000;
/// Random requests are drawn from these blocks.
const BLOCK: u64 = 4096;
/// The environment variable that names the program of MQSim.
const MQSIM: &str = "FATHOM_MQSIM";
/// Requests of the two runs of MQSim. The rate is that of their difference: its start is left out.
const MQSIM_COUNTS: [u64; 2] = [50_000, 150_000];

/// A device and a load.
struct Simulation {
    what: &'static str,
    device: &'static str,
    op: SimOp,
    depth: usize,
    /// Simulated I/Os per second.
    goal: f64,
    /// Whether MQSim can do the same, or why not.
    mqsim: Result<(), &'static str>,
}

const SIMULATIONS: [Simulation; 5] = [
    Simulation {
        what: "flash, reads",
        device: "samsung-970-evo-plus-1tb(garbage_collection=off)",
        op: SimOp::Read,
        depth: 32,
        goal: 3e6,
        mqsim: Ok(()),
    },
    Simulation {
        what: "flash, writes, garbage collection off",
        device: "samsung-970-evo-plus-1tb(garbage_collection=off)",
        op: SimOp::Write,
        depth: 32,
        goal: 3e6,
        mqsim: Ok(()),
    },
    Simulation {
        what: "flash, writes, garbage collection on",
        device: "samsung-970-evo-plus-1tb",
        op: SimOp::Write,
        depth: 32,
        goal: 1e6,
        mqsim: Err(
            "MQSim collects garbage only after it has filled its device, which takes minutes and 5 GB of memory",
        ),
    },
    Simulation {
        what: "RAID 5 of 8 disks with their mechanics, reads",
        device: "raid5(8 x hdd-7200, chunk=64k)",
        op: SimOp::Read,
        depth: 64,
        goal: 2e6,
        mqsim: Err("MQSim has no disks"),
    },
    Simulation {
        what: "RAID 5 of 8 disks of measured service times, writes",
        device: "raid5(8 x measured-disk(service=14ms, variation=0.31, queue_gain=0.08), chunk=64k)",
        op: SimOp::Write,
        depth: 64,
        goal: 2e6,
        mqsim: Err("MQSim has no disks"),
    },
];

/// I/Os of a minute at 100,000 per second.
const MINUTE: f64 = 6e6;
/// The device of that minute does a little more than 100,000 I/Os per second at this depth.
const MINUTE_JOB: &str = "[minute]\nfilename=/dev/simulated\nrw=randread\nbs=4k\niodepth=16\nruntime=60\ntime_based\nioengine=io_uring\ndirect=1\n";

/// A flash device of 1 GiB, and one that is larger; both are written completely.
const SMALL_GIB: u64 = 1;
const LARGE_GIB: u64 = 64;

/// 8 depths x 5 block sizes x 5 patterns.
const CELLS: u32 = 200;
const SWEEP_JOB: &str =
    "[sweep]\nfilename=/dev/simulated\nioengine=libaio\ndirect=1\nruntime=20\ntime_based\n";
const AXES: [&str; 3] = [
    "iodepth=1,2,4,8,16,32,64,128",
    "bs=4k,16k,64k,256k,1m",
    "rw=read,write,randread,randwrite,randrw",
];
const ARRAY: &str = "raid5(8 x hdd-7200, chunk=64k)";

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for simulation in SIMULATIONS {
        rows.push(rates(context, &simulation)?);
    }
    rows.push(minute(context)?);
    rows.push(memory()?);
    rows.push(sweep(context)?);
    Ok(rows)
}

/// Simulated I/Os per second, beside those of MQSim where it is installed and has such a device.
fn rates(context: &Context, simulation: &Simulation) -> Result<Row, String> {
    let program = std::env::var_os(MQSIM).filter(|name| !name.is_empty());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..context.pairs.max(1) {
        ours.push(rate(simulation.device, simulation.op, simulation.depth)?);
        if let (Some(program), Ok(())) = (&program, simulation.mqsim) {
            theirs.push(mqsim(context, Path::new(program), simulation)?);
        }
    }
    let note = match (&program, simulation.mqsim) {
        (_, Err(why)) => format!("4 KiB at random, CPU time of this program; {why}"),
        (None, Ok(())) => "4 KiB at random, CPU time of this program; MQSim was not measured: FATHOM_MQSIM names no program (it publishes no such figure)".to_owned(),
        (Some(_), Ok(())) => "4 KiB at random, CPU time of both programs; MQSim with the device of its sources, empty at the start".to_owned(),
    };
    Ok(Row::new(
        simulation.what,
        "simulated I/Os per second",
        (ours, theirs),
        Goal::OursAtLeast(simulation.goal),
    )
    .peer("MQSim")
    .note(note))
}

/// The file of a device in the sources of MQSim, where its `make` leaves the program too. That device is empty at the start.
fn mqsim_device(program: &Path) -> Result<PathBuf, String> {
    let device = program.with_file_name("ssdconfig.xml");
    match device.canonicalize() {
        Ok(device) => Ok(device),
        Err(error) => Err(format!(
            "{}: {error}; {MQSIM} is MQSim in the directory of its sources",
            device.display()
        )),
    }
}

/// Simulated I/Os per second of CPU time of MQSim, with the device of its sources.
fn mqsim(context: &Context, program: &Path, simulation: &Simulation) -> Result<f64, String> {
    let directory = context.directory.path();
    let config = mqsim_device(program)?;
    let mut cpu = [0.0; 2];
    for (count, cpu) in MQSIM_COUNTS.iter().zip(&mut cpu) {
        let workload = directory.join("mqsim-load.xml");
        let reads = if simulation.op == SimOp::Read { 100 } else { 0 };
        let text = mqsim_load(reads, simulation.depth, *count);
        std::fs::write(&workload, text)
            .map_err(|error| format!("{}: {error}", workload.display()))?;
        let mut command = Command::new(program);
        command.arg("-i").arg(&config).arg("-w").arg(&workload);
        command
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let run = time(command)?;
        let result = directory.join("mqsim-load_scenario_1.xml");
        let served = std::fs::read_to_string(&result)
            .ok()
            .and_then(|text| tag(&text, "Request_Count"))
            .ok_or_else(|| format!("{}: no result of MQSim", result.display()))?;
        let _ = std::fs::remove_file(&result);
        if served < *count as f64 * 0.99 {
            return Err(format!("MQSim served {served} of {count} requests"));
        }
        *cpu = (run.user_us + run.system_us) / 1e6;
    }
    let more = (MQSIM_COUNTS[1] - MQSIM_COUNTS[0]) as f64;
    Ok(more / (cpu[1] - cpu[0]).max(1e-9))
}

/// The number in the first element with this name.
fn tag(text: &str, name: &str) -> Option<f64> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split('<').next()?.trim().parse().ok()
}

/// A load file of MQSim: random requests of 8 sectors, `depth` of them at a time.
fn mqsim_load(reads: u32, depth: usize, count: u64) -> String {
    let elements = [
        ("Priority_Class", "HIGH".to_owned()),
        ("Device_Level_Data_Caching_Mode", "WRITE_CACHE".to_owned()),
        ("Channel_IDs", "0,1,2,3,4,5,6,7".to_owned()),
        ("Chip_IDs", "0,1,2,3".to_owned()),
        ("Die_IDs", "0,1".to_owned()),
        ("Plane_IDs", "0,1".to_owned()),
        ("Initial_Occupancy_Percentage", "50".to_owned()),
        ("Working_Set_Percentage", "100".to_owned()),
        ("Synthetic_Generator_Type", "QUEUE_DEPTH".to_owned()),
        ("Read_Percentage", reads.to_string()),
        ("Address_Distribution", "RANDOM_UNIFORM".to_owned()),
        ("Percentage_of_Hot_Region", "0".to_owned()),
        ("Generated_Aligned_Addresses", "true".to_owned()),
        ("Address_Alignment_Unit", "8".to_owned()),
        ("Request_Size_Distribution", "FIXED".to_owned()),
        ("Average_Request_Size", "8".to_owned()),
        ("Variance_Request_Size", "0".to_owned()),
        ("Seed", "1".to_owned()),
        ("Average_No_of_Reqs_in_Queue", depth.to_string()),
        ("Intensity", "32768".to_owned()),
        ("Stop_Time", "0".to_owned()),
        ("Total_Requests_To_Generate", count.to_string()),
    ];
    let elements = elements.map(|(name, value)| format!("<{name}>{value}</{name}>\n"));
    format!(
        "<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n<MQSim_IO_Scenarios>\n<IO_Scenario>\n<IO_Flow_Parameter_Set_Synthetic>\n{}</IO_Flow_Parameter_Set_Synthetic>\n</IO_Scenario>\n</MQSim_IO_Scenarios>\n",
        elements.concat()
    )
}

/// A device with a queue of random requests.
struct Simulated {
    device: Box<dyn SimDevice>,
    state: u64,
}

impl Simulated {
    fn new(device: &str) -> Result<Self, String> {
        let device = Library::new()
            .build_text(device, 1)
            .map_err(|error| error.to_string())?;
        Ok(Simulated { device, state: 1 })
    }

    /// Completes `count` random requests with `depth` in flight.
    fn run(&mut self, op: SimOp, depth: usize, count: u64) {
        let blocks = self.device.capacity() / BLOCK;
        let state = &mut self.state;
        let next = || {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let block = ((u128::from(*state) * u128::from(blocks)) >> 64) as u64;
            request(op, block * BLOCK, BLOCK as u32)
        };
        closed_loop(&mut *self.device, depth, count, next, |_, _| {});
    }
}

fn request(op: SimOp, offset: u64, bytes: u32) -> SimRequest {
    SimRequest {
        id: 0,
        op,
        offset,
        bytes,
        fua: false,
    }
}

/// Simulated I/Os per second of CPU time.
fn rate(device: &str, op: SimOp, depth: usize) -> Result<f64, String> {
    let mut simulated = Simulated::new(device)?;
    let before = cpu_seconds()?;
    simulated.run(op, depth, COUNT);
    Ok(COUNT as f64 / (cpu_seconds()? - before).max(1e-9))
}

fn cpu_seconds() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let time = usage.user_time();
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}

/// `fathom sim` from start to end, scaled to exactly six million I/Os.
fn minute(context: &Context) -> Result<Row, String> {
    let job = write_job(context, "minute.fio", MINUTE_JOB)?;
    let one = || {
        let result = context.directory.path().join("minute.json");
        let _ = std::fs::remove_file(&result);
        let mut command = fathom(context);
        command.args(["sim", &job, "--machine", "nvme-ssd", "--json", "-o"]);
        command.arg(&result).arg("--no-store");
        let wall = seconds(command)?;
        let ios = ios_of(&result)?;
        if ios < MINUTE {
            return Err(format!("the device did only {ios} I/Os in a minute"));
        }
        Ok(wall * MINUTE / ios)
    };
    let times = (0..context.pairs.max(1)).map(|_| one());
    let times = times.collect::<Result<Vec<f64>, String>>()?;
    Ok(Row::new(
        "a minute of a device with 100,000 IOPS",
        "s",
        (times, Vec::new()),
        Goal::OursAtMost(2.0),
    )
    .peer("-")
    .note("`fathom sim` of an NVMe model, from start to end, with its load generator and analysis"))
}

/// I/Os of a JSON result.
fn ios_of(path: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let ios = json.pointer("/jobs/0/read/total_ios");
    ios.and_then(serde_json::Value::as_f64)
        .ok_or_else(|| format!("{}: no I/Os", path.display()))
}

/// Memory of the pages above 1 GiB, all of them mapped.
fn memory() -> Result<Row, String> {
    let before = resident()?;
    let small = filled(SMALL_GIB)?;
    let with_small = resident()?;
    let large = filled(LARGE_GIB)?;
    let with_large = resident()?;
    drop((small, large));
    let grown = (with_large - with_small) - (with_small - before);
    let each = grown.max(0.0) / (((LARGE_GIB - SMALL_GIB) << 30) / BLOCK) as f64;
    Ok(Row::new(
        "memory of a simulated flash device, above 1 GiB",
        "bytes per 4 KiB page",
        (vec![each], Vec::new()),
        Goal::OursAtMost(1.0),
    )
    .peer("-")
    .note(
        "64 GiB against 1 GiB, both written completely, then 2 million writes of 4 KiB at random",
    ))
}

/// A device of this size, all of whose pages hold data.
fn filled(gib: u64) -> Result<Simulated, String> {
    const PIECE: u64 = 1 << 20;
    let text = format!("samsung-970-evo-plus-1tb(capacity={gib}G, precondition=empty)");
    let mut simulated = Simulated::new(&text)?;
    let pieces = simulated.device.capacity() / PIECE;
    let mut piece = 0;
    let next = || {
        let offset = (piece % pieces) * PIECE;
        piece += 1;
        request(SimOp::Write, offset, PIECE as u32)
    };
    closed_loop(&mut *simulated.device, 8, pieces, next, |_, _| {});
    simulated.run(SimOp::Write, 32, COUNT);
    Ok(simulated)
}

/// Anonymous memory of this program, bytes.
fn resident() -> Result<f64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .ok_or("the kernel does not say how much memory is used")?;
    let kib: f64 = line
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse()
        .map_err(|_| format!("RssAnon:{line}"))?;
    Ok(kib * 1024.0)
}

/// A sweep of 200 cells into a store of its own, and its report.
fn sweep(context: &Context) -> Result<Row, String> {
    let job = write_job(context, "sweep.fio", SWEEP_JOB)?;
    let one = |number: usize| {
        let store = context.directory.path().join(format!("sweep-{number}.db"));
        let mut command = fathom(context);
        command.args(["sweep", &job, "--machine", ARRAY]);
        for axis in AXES {
            command.args(["--axis", axis]);
        }
        command.arg("--store").arg(&store);
        let measured = seconds(command)?;
        let mut command = fathom(context);
        command.args(["report", "latest", "-o"]);
        command.arg(
            context
                .directory
                .path()
                .join(format!("sweep-{number}.html")),
        );
        command.arg("--store").arg(&store);
        Ok(measured + seconds(command)?)
    };
    let times = (0..context.pairs.max(1)).map(one);
    let times = times.collect::<Result<Vec<f64>, String>>()?;
    Ok(Row::new(
        format!("a simulated sweep of {CELLS} cells with its report"),
        "s",
        (times, Vec::new()),
        Goal::OursAtMost(10.0),
    )
    .peer("-")
    .note("20 s of a RAID 5 of 8 disks in each cell: 8 depths, 5 block sizes, 5 patterns"))
}

fn write_job(context: &Context, name: &str, text: &str) -> Result<String, String> {
    let path = context.directory.path().join(name);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

fn fathom(context: &Context) -> Command {
    let mut command = Command::new(&context.tools.fathom);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Seconds from start to end of a command that has to succeed.
fn seconds(command: Command) -> Result<f64, String> {
    let what = format!("{command:?}");
    let run = time(command)?;
    if run.succeeded {
        Ok(run.wall.as_secs_f64())
    } else {
        Err(format!("failed: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_of_a_result_is_found() {
        let text = "<MQSim_Results>\n<Request_Count>150000</Request_Count>\n</MQSim_Results>";
        assert_eq!(tag(text, "Request_Count"), Some(150_000.0));
        assert_eq!(tag(text, "Other"), None);
    }

    /// The cells of the axes are as many as the row says.
    #[test]
    fn the_axes_have_200_cells() {
        let values = AXES.map(|axis| axis.split(',').count() as u32);
        assert_eq!(values.iter().product::<u32>(), CELLS);
    }
}
