//! `fathom ready --hosts`: the load runs on all hosts at the same time, each host judges its own figures, and the worst decides.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_analyse::{ReadyPace, ReadySession, ready_on_hosts, ready_result, ready_sentence};
use fathom_cli::ReadyArgs;
use fathom_linux::interrupts;
use fathom_model::{
    Nanos, Plan, ReadyCheck, ReadyCheckResult, ReadyEstimate, ReadyFigure, ReadyLimit, ReadyMetric,
    ReadyResult, ReadyVerdict, Recording,
};
use fathom_plan::{HostInfo as _, PlannedCell, Profile, ProfilePlace, ProfileStep, profile_place};
use serde_json::{Value, json};

use super::{
    background, begin_step, durability_fault, fallbacks, flush_fault, io_fault, nanos, pace_of,
    print_answer, ramp_of,
};
use crate::hosts::{self, Fleet, HOST_VARIABLE};
use crate::outcome::Outcome;
use crate::print::{note_line, print};
use crate::session::Session;

/// Stands for the name of the host where job files are made, which contain no variables.
const HOST_MARK: &str = "@FATHOM-HOST@";
/// The job file of a step in messages.
const JOB_FILE: &str = "ready.fio";

/// What the agents judge: the checks without the texts for people.
fn order(checks: &[ReadyCheck], pace: ReadyPace, checks_of_profile: usize) -> Value {
    let check = |check: &ReadyCheck| {
        let percentile = match check.limit {
            ReadyLimit::AtMost {
                figure: ReadyFigure::Percentile(percent),
                ..
            } => Some(percent),
            _ => None,
        };
        json!({
            "job": check.job,
            "metric": check.metric.name(),
            "percentile": percentile,
            "hard": check.limit.hard(),
            "soft": check.limit.soft(),
        })
    };
    json!({
        "seconds": pace.seconds,
        "least": pace.least,
        "checks_of_profile": checks_of_profile,
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
    })
}

/// The checks of an order at an agent.
pub struct Judge {
    session: ReadySession,
    pace: ReadyPace,
    next: Nanos,
}

impl Judge {
    /// # Errors
    /// When the order is malformed.
    pub fn new(order: &Value) -> Result<Judge, String> {
        Judge::of(order).ok_or_else(|| "malformed checks of `fathom ready`".to_owned())
    }

    fn of(order: &Value) -> Option<Judge> {
        let pace = ReadyPace {
            seconds: order["seconds"].as_f64().filter(|time| *time > 0.0)?,
            least: order["least"].as_f64()?,
        };
        let checks = order["checks"].as_array()?.iter().map(check_of);
        let checks = checks.collect::<Option<Vec<_>>>()?;
        let all = order["checks_of_profile"].as_u64()?.max(1) as usize;
        Some(Judge {
            session: ReadySession::new(&checks, pace, all),
            pace,
            next: Nanos::ZERO,
        })
    }

    /// Whether the state of the load is needed now.
    pub fn is_due(&mut self, elapsed: Nanos) -> bool {
        let is_due = elapsed >= self.next;
        if is_due {
            self.next = elapsed.saturating_add(Nanos::new((self.pace.block() * 1e9) as u64));
        }
        is_due
    }

    /// Takes the state of the load.
    pub fn observe(&mut self, state: &Recording) {
        self.session.observe(state);
    }

    /// The figures of all checks, and whether the targets make them meaningless.
    pub fn answer(mut self, session: &Session, recording: &Recording) -> Vec<u8> {
        self.session.finish(recording);
        let figures = |one: ReadyCheckResult| {
            json!({
                "value": one.estimate.value,
                "low": one.estimate.low,
                "high": one.estimate.high,
                "confidence": one.confidence,
                "samples": one.samples,
                "effective_samples": one.effective_samples,
                "seconds": one.seconds,
                "rate": one.rate,
                "verdict": one.verdict.name(),
                "reason": one.reason,
            })
        };
        let paths = recording.plan.jobs.iter().flat_map(|job| &job.files.paths);
        let fault = paths
            .into_iter()
            .find_map(|path| durability_fault(session, path));
        let figures: Vec<Value> = self.session.results("").into_iter().map(figures).collect();
        json!({"fault": fault, "figures": figures})
            .to_string()
            .into_bytes()
    }
}

fn check_of(value: &Value) -> Option<ReadyCheck> {
    let metric = ReadyMetric::from_name(value["metric"].as_str()?)?;
    let (hard, soft) = (value["hard"].as_f64()?, value["soft"].as_f64());
    let time = |ns: f64| Nanos::new(ns as u64);
    let limit = if metric == ReadyMetric::Rate {
        ReadyLimit::AtLeast { hard, soft }
    } else {
        let percentile = value["percentile"].as_f64();
        ReadyLimit::AtMost {
            figure: percentile.map_or(ReadyFigure::Mean, ReadyFigure::Percentile),
            hard: time(hard),
            soft: soft.map(time),
        }
    };
    Some(ReadyCheck {
        title: String::new(),
        job: value["job"].as_str()?.to_owned(),
        metric,
        limit,
        advice: None,
        source: None,
    })
}

/// The results of a step on one host; `None` if its answer is malformed.
fn results_of(answer: &Value, step: &ProfileStep) -> Option<Vec<ReadyCheckResult>> {
    let figures = answer["figures"].as_array()?;
    if figures.len() != step.checks.len() {
        return None;
    }
    let result = |(check, one): (&ReadyCheck, &Value)| {
        let number = |key: &str| one[key].as_f64();
        let verdicts = [
            ReadyVerdict::Pass,
            ReadyVerdict::Warn,
            ReadyVerdict::Undecided,
            ReadyVerdict::Fail,
        ];
        Some(ReadyCheckResult {
            check: check.clone(),
            step: step.name.clone(),
            estimate: ReadyEstimate {
                value: number("value"),
                low: number("low"),
                high: number("high"),
            },
            confidence: number("confidence")?,
            samples: one["samples"].as_u64()?,
            effective_samples: number("effective_samples").unwrap_or_default(),
            seconds: number("seconds")?,
            rate: number("rate"),
            verdict: verdicts
                .into_iter()
                .find(|verdict| one["verdict"] == verdict.name())?,
            reason: one["reason"].as_str().map(str::to_owned),
        })
    };
    step.checks.iter().zip(figures).map(result).collect()
}

/// What one host has answered to all steps until now.
#[derive(Default)]
struct HostAnswer {
    checks: Vec<ReadyCheckResult>,
    fault: Option<String>,
    notes: Vec<String>,
}

/// A profile on paths of the agents.
struct ReadyHosts<'a> {
    session: &'a Session,
    args: &'a ReadyArgs,
    profile: Profile,
    place: ProfilePlace,
    path: PathBuf,
}

/// Checks the path on all hosts at the same time. In a directory each host gets files of its own, because it may be shared.
///
/// # Errors
/// When the load cannot be planned, a host refuses it, or none answers.
pub fn check(
    session: &Session,
    args: &ReadyArgs,
    mut profile: Profile,
    path: &Path,
) -> Result<Outcome, String> {
    let is_directory =
        path.as_os_str().as_encoded_bytes().ends_with(b"/") || session.is_directory(path);
    let absolute =
        std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let marked = absolute
        .display()
        .to_string()
        .replace(HOST_VARIABLE, HOST_MARK);
    let place = profile_place(Path::new(&marked), is_directory);
    if is_directory {
        for job in profile.steps.iter_mut().flat_map(|step| &mut step.jobs) {
            job.file = format!("{}-{HOST_MARK}", job.file);
        }
    }
    let ready = ReadyHosts {
        session,
        args,
        profile,
        place,
        path: path.to_owned(),
    };
    if args.dry_run {
        let texts = ready.profile.steps.iter();
        let texts: Result<Vec<String>, String> = texts
            .map(|step| ready.job_file(step, args.runtime))
            .collect();
        return Ok(print(&texts?.join("\n")));
    }
    interrupts();
    let Some(fleet) = Fleet::find(session, "ready", &args.hosts)? else {
        return Err("no hosts".to_owned());
    };
    let outcome = ready.run(&fleet);
    if is_directory && !args.keep {
        let files = ready.profile.files();
        let files: Vec<PathBuf> = files
            .iter()
            .map(|(name, _)| ready.place.file(name).display().to_string())
            .map(|file| file.replace(HOST_MARK, HOST_VARIABLE).into())
            .collect();
        fleet.remove(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    }
    outcome
}

impl ReadyHosts<'_> {
    fn job_file(&self, step: &ProfileStep, time: Duration) -> Result<String, String> {
        let ramp = ramp_of(time);
        self.profile
            .job_file(step, &self.place, nanos(ramp), nanos(time - ramp))
            .map(|text| text.replace(HOST_MARK, HOST_VARIABLE))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn run(&self, fleet: &Fleet) -> Result<Outcome, String> {
        let mut answers: Vec<(String, HostAnswer)> = Vec::new();
        let mut left = self.args.runtime;
        let all = self.profile.steps.len() as u32;
        for (number, step) in (0_u32..).zip(&self.profile.steps) {
            let time = (left / (all - number)).max(Duration::from_secs(1));
            let started = self.session.now();
            self.step(step, time, fleet, &mut answers)?;
            left = left.saturating_sub(self.session.elapsed(started).min(time));
            if interrupts().load(Relaxed) > 0 {
                note_line!("fathom ready: interrupted; no verdict");
                return Ok(Outcome::Interrupted);
            }
        }
        let target = self.path.display().to_string();
        let answers = answers.into_iter().map(|(name, answer)| {
            let names = (
                self.profile.name.as_str(),
                self.profile.title.as_str(),
                target.as_str(),
            );
            let mut one = ready_result(names, answer.checks, answer.fault);
            one.notes = answer.notes;
            (name, one)
        });
        let mut result: ReadyResult = ready_on_hosts(answers.collect())?;
        result.background = background(&self.profile);
        result.sources.clone_from(&self.profile.sources);
        Ok(print_answer(self.args, &result))
    }

    /// Measures one step on all hosts for the whole time, and stores it as a run: a host that were decided earlier and stopped
    /// would make the storage faster for the others.
    fn step(
        &self,
        step: &ProfileStep,
        time: Duration,
        fleet: &Fleet,
        answers: &mut Vec<(String, HostAnswer)>,
    ) -> Result<(), String> {
        let text = self.job_file(step, time)?;
        let cell = PlannedCell {
            source: JOB_FILE.to_owned(),
            job_file: text.clone(),
            ..PlannedCell::default()
        };
        let (plan, _): (Plan, _) = hosts::plan_cell(self.session, &cell)?;
        let pace = pace_of(step, time);
        let writer = begin_step(
            self.session,
            (&self.profile, step),
            &self.path,
            self.args,
            text,
        );
        // As many checks as all hosts judge: the more there are, the more of them are beyond their interval by chance.
        let checks = self.profile.checks() * fleet.len() as usize;
        let order = order(&step.checks, pace, checks);
        let judged = fleet.judge(&plan, &cell, &self.args.destroy, &order);
        let (mut recording, hosts) = match judged {
            Ok(judged) => judged,
            Err(error) => {
                writer.remove();
                return Err(error.to_string());
            }
        };
        let mut sentences = Vec::new();
        let mut own = recording.of_hosts().into_iter();
        let received: Vec<Option<Recording>> = recording
            .hosts
            .iter()
            .map(|part| {
                if part.lost.is_none() {
                    own.next()
                } else {
                    None
                }
            })
            .collect();
        for ((host, answer), own) in hosts.into_iter().zip(received) {
            let place = answers.iter().position(|(known, _)| *known == host);
            let place = place.unwrap_or_else(|| {
                answers.push((host.clone(), HostAnswer::default()));
                answers.len() - 1
            });
            let all = &mut answers[place].1;
            let results = answer
                .as_ref()
                .ok()
                .and_then(|answer| results_of(answer, step));
            let fault = match (&answer, &results) {
                (Err(why), _) => Some(why.clone()),
                (Ok(_), None) => Some("its answer cannot be read".to_owned()),
                (Ok(answer), _) => answer["fault"].as_str().map(str::to_owned),
            };
            let fault = fault
                .or_else(|| io_fault(own.as_ref()?))
                .or_else(|| flush_fault(own.as_ref()?));
            let results = results.unwrap_or_default();
            let named = |text: String| format!("{host}: {text}");
            sentences.extend(fault.clone().map(named));
            sentences.extend(results.iter().map(ready_sentence).map(named));
            all.fault = all.fault.take().or(fault);
            all.checks.extend(results);
            for note in own.iter().flat_map(fallbacks) {
                if !all.notes.contains(&note) {
                    all.notes.push(note);
                }
            }
        }
        let findings = fathom_analyse::findings(&recording);
        let answer = format!("{}: {}", self.profile.name, sentences.join("; "));
        recording.messages.push(format!("fathom ready: {answer}"));
        writer.finish(recording, &findings, vec![("answer".to_owned(), answer)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An order and its answer arrive as they were sent.
    #[test]
    fn checks_travel_without_their_texts() {
        let limits = [
            ReadyLimit::AtMost {
                figure: ReadyFigure::Percentile(99.9),
                hard: Nanos::new(10_000_000),
                soft: Some(Nanos::new(5_000_000)),
            },
            ReadyLimit::AtMost {
                figure: ReadyFigure::Mean,
                hard: Nanos::new(1),
                soft: None,
            },
            ReadyLimit::AtLeast {
                hard: 500.5,
                soft: None,
            },
        ];
        let metrics = [ReadyMetric::Sync, ReadyMetric::Read, ReadyMetric::Rate];
        let checks: Vec<ReadyCheck> = limits
            .into_iter()
            .zip(metrics)
            .map(|(limit, metric)| ReadyCheck {
                title: String::new(),
                job: "log".to_owned(),
                metric,
                limit,
                advice: None,
                source: None,
            })
            .collect();
        let pace = ReadyPace {
            seconds: 5.0,
            least: 1.0,
        };
        let order = order(&checks, pace, 6).to_string();
        let order: Value = serde_json::from_str(&order).expect("JSON");
        let read: Option<Vec<ReadyCheck>> = order["checks"]
            .as_array()
            .and_then(|checks| checks.iter().map(check_of).collect());
        assert_eq!(read, Some(checks));
        assert!(Judge::new(&order).is_ok());
        for wrong in [json!({}), json!({"seconds": 0, "least": 0, "checks": []})] {
            assert!(Judge::new(&wrong).is_err(), "{wrong}");
        }
    }
}
