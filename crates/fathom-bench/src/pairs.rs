//! Alternating pairs: a slow machine affects both programs.

use crate::context::Context;
use crate::sample::Sample;
use crate::tool::Tool;

/// Number of runs without I/O that measure the CPU time of start and end.
const IDLE_RUNS: usize = 5;
/// Minimum seconds of a run whose CPU time is compared: the kernel counts it in ticks, too coarse
/// for a program that uses 2 % of a core.
const FOR_CPU_TIME: u64 = 4;

/// Samples of both programs, in pairs.
pub struct Pairs {
    pub ours: Vec<Sample>,
    pub theirs: Vec<Sample>,
    /// A run of one I/O of each: the cost of start and end; zeros if CPU time is not compared.
    pub idle: [Sample; 2],
}

impl Pairs {
    /// A figure of both, pair by pair.
    pub fn figures(&self, figure: impl Fn(&Sample, &Sample) -> f64) -> (Vec<f64>, Vec<f64>) {
        let of = |samples: &[Sample], idle: &Sample| {
            samples.iter().map(|sample| figure(sample, idle)).collect()
        };
        (
            of(&self.ours, &self.idle[0]),
            of(&self.theirs, &self.idle[1]),
        )
    }
}

/// The order in pair `n`: ABBA.
pub fn order(n: usize) -> [Tool; 2] {
    if n.is_multiple_of(2) {
        [Tool::Fathom, Tool::Fio]
    } else {
        [Tool::Fio, Tool::Fathom]
    }
}

/// Runs `one` for both programs in alternating pairs.
pub fn alternate<T>(
    pairs: usize,
    mut one: impl FnMut(Tool) -> Result<T, String>,
) -> Result<(Vec<T>, Vec<T>), String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..pairs {
        for tool in order(n) {
            let to = if tool == Tool::Fathom {
                &mut ours
            } else {
                &mut theirs
            };
            to.push(one(tool)?);
        }
    }
    Ok((ours, theirs))
}

/// Runs one job on both for the usual time. `common` are the options of both, `extra` those of one
/// program.
pub fn timed(
    context: &Context,
    common: &[String],
    extra: &dyn Fn(Tool) -> Vec<String>,
) -> Result<Pairs, String> {
    timed_for(context, context.seconds, common, extra)
}

fn timed_for(
    context: &Context,
    seconds: u64,
    common: &[String],
    extra: &dyn Fn(Tool) -> Vec<String>,
) -> Result<Pairs, String> {
    let run = |tool| {
        once(
            context,
            &[common, &extra(tool), &Context::timed(seconds)].concat(),
            tool,
        )
    };
    let (ours, theirs) = alternate(context.pairs, run)?;
    Ok(Pairs {
        ours,
        theirs,
        idle: Default::default(),
    })
}

/// The same, with the CPU time of start and end.
pub fn timed_with_idle(context: &Context, common: &[String]) -> Result<Pairs, String> {
    let job = [common, &["--number_ios=1".to_owned()]].concat();
    let idle = |tool| {
        (0..IDLE_RUNS)
            .map(|_| once(context, &job, tool))
            .collect::<Result<Vec<_>, _>>()
            .map(median_of)
    };
    let idle = [idle(Tool::Fathom)?, idle(Tool::Fio)?];
    Ok(Pairs {
        idle,
        ..timed_for(context, context.seconds.max(FOR_CPU_TIME), common, &|_| {
            Vec::new()
        })?
    })
}

fn once(context: &Context, job: &[String], tool: Tool) -> Result<Sample, String> {
    Sample::of(&context.tools.run(tool, context.directory.path(), job)?)
}

/// The sample with the median CPU time.
fn median_of(mut samples: Vec<Sample>) -> Sample {
    samples.sort_by(|a, b| a.cpu_us.total_cmp(&b.cpu_us));
    let middle = samples.len() / 2;
    samples.swap_remove(middle)
}

/// Options from a line of text.
pub fn options(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|option| format!("--{option}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_program_always_goes_first() {
        let mut seen = Vec::new();
        let (ours, theirs) = alternate(4, |tool| {
            seen.push(tool == Tool::Fathom);
            Ok(seen.len())
        })
        .expect("no run fails");
        assert_eq!(seen, [true, false, false, true, true, false, false, true]);
        assert_eq!((ours, theirs), (vec![1, 4, 5, 8], vec![2, 3, 6, 7]));
    }
}
