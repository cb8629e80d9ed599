//! The cost of `fathom observe`: the same load with and without it, in alternating pairs.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::agreement::SIZE;
use crate::context::Context;
use crate::pairs::options;
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

/// Until the trace records.
const START: Duration = Duration::from_millis(500);

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let file = context.directory.file("disk", SIZE)?;
    let job = [
        options(&format!(
            "rw=randread bs=4k ioengine=libaio iodepth=32 direct=1 filename={} size={SIZE}m",
            file.display()
        )),
        Context::timed(context.seconds),
    ]
    .concat();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for n in 0..context.pairs {
        // ABBA, as everywhere.
        for observed in [n % 2 == 0, n % 2 == 1] {
            let observer = match observed {
                true => Some(Observer::start(context)?),
                false => None,
            };
            let busy = busy_us()?;
            let run = context
                .tools
                .run(Tool::Fathom, context.directory.path(), &job)?;
            let busy = busy_us()? - busy;
            drop(observer);
            let sample = Sample::of(&run)?;
            let to = if observed { &mut with } else { &mut without };
            to.push((sample.iops, busy / sample.ios.max(1.0)));
        }
    }
    let iops = |samples: &[(f64, f64)]| samples.iter().map(|one| one.0).collect::<Vec<_>>();
    let added: Vec<f64> = with
        .iter()
        .zip(&without)
        .map(|(with, without)| with.1 - without.1)
        .collect();
    let what = "4k random read of a disk, depth 32, observed";
    Ok(vec![
        Row::new(
            what,
            "IOPS",
            (iops(&with), iops(&without)),
            Goal::RatioAtLeast(0.97),
        )
        .peer("not observed"),
        Row::new(
            format!("{what}: added CPU of the whole machine"),
            "us per I/O",
            (added, Vec::new()),
            Goal::OursAtMost(0.3),
        )
        .peer("")
        .note("busy time of all CPUs (/proc/stat): recording in the kernel, reading and analysis"),
    ])
}

/// A running `fathom observe`, ended with its guard.
struct Observer(Child);

impl Observer {
    fn start(context: &Context) -> Result<Self, String> {
        let child = Command::new(&context.tools.fathom)
            .arg("observe")
            .arg(context.directory.path())
            .args(["--no-store", "--quiet", "--runtime=1h"])
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("fathom observe: {error}"))?;
        std::thread::sleep(START);
        Ok(Self(child))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .args(["-INT", &self.0.id().to_string()])
            .status();
        let _ = self.0.wait();
    }
}

/// Time in which the CPUs of the machine worked, microseconds: user, nice, system, irq and softirq of `/proc/stat`.
fn busy_us() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/stat").map_err(|error| error.to_string())?;
    let fields: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // Ticks of 10 ms.
    let ticks: f64 = [0, 1, 2, 5, 6]
        .into_iter()
        .filter_map(|index: usize| fields.get(index))
        .sum();
    Ok(ticks * 1e4)
}
