//! The certificate: verdict, cycles, causes, and what they do not prove.

use serde::Serialize;

use crate::causes::{Cause, diagnose};
use crate::check::{CycleEnd, CycleResult, StreamResult, Unreadable};
use crate::geometry::{FORMAT, Geometry, Method, RunId};

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Every acknowledged commit that was checked is there after every cut.
    #[serde(rename = "pass")]
    Pass,
    /// An acknowledged commit is lost or damaged.
    #[serde(rename = "fail")]
    Fail,
    /// Nothing is damaged, but too little is known.
    #[serde(rename = "undecided")]
    Undecided,
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Where and how the test was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Circumstances {
    /// Directory of the files.
    pub path: String,
    /// Its file system: type, device and options.
    pub file_system: String,
    /// The devices below it, upper before lower.
    pub devices: Vec<String>,
    /// Host and kernel.
    pub host: String,
    /// Address or file of the recorder.
    pub recorder: String,
    /// The recorder is another host.
    pub second_host: bool,
    /// Program and version.
    pub program: String,
    /// Date and time of the check, UTC.
    pub checked: String,
    /// The machine, if nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
}

/// The certificate of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// Name and version of this format.
    pub format: &'static str,
    /// The run.
    pub run: RunId,
    /// The answer.
    pub verdict: Verdict,
    /// Why, one sentence.
    pub reason: String,
    /// Cuts that were checked.
    pub cuts: u64,
    /// Upper limit (95 %) of the share of cuts after which something is lost, if nothing was lost; 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_per_cut_at_most: Option<f64>,
    /// Acknowledged commits of all cycles.
    pub acknowledged: u64,
    /// Of those, checked: the others were replaced by later ones before the cut.
    pub checked: u64,
    /// Bytes of a record.
    pub record_bytes: u32,
    /// Records of a commit.
    pub records_per_commit: u16,
    /// Behaviours that explain what is lost.
    pub causes: Vec<Cause>,
    /// What the test does not prove.
    pub limits: Vec<String>,
    /// Methods that no cut has tested.
    pub untested_methods: Vec<Method>,
    /// Where and how.
    pub circumstances: Circumstances,
    /// Every cycle.
    pub cycles: Vec<CycleResult>,
}

/// The upper limit (95 %) of the probability of an event that did not occur in `trials` independent trials: 1 - 0.05^(1/n)
/// (Clopper and Pearson, Biometrika 26, 1934).
#[must_use]
pub fn loss_bound(trials: u64) -> Option<f64> {
    (trials > 0).then(|| 1.0 - 0.05_f64.powf(1.0 / trials as f64))
}

impl Certificate {
    /// The certificate of a run with this geometry.
    #[must_use]
    pub fn new(
        geometry: &Geometry,
        cycles: Vec<CycleResult>,
        circumstances: Circumstances,
    ) -> Certificate {
        let cuts = cycles.iter().filter(|cycle| is_cut(cycle)).count() as u64;
        let (verdict, reason) = judge(&cycles, cuts);
        let sum = |of: fn(&StreamResult) -> u64| cycles.iter().map(|c| c.sum(of)).sum::<u64>();
        let acknowledged = sum(|s| s.acknowledged);
        let replaced = sum(|s| s.replaced);
        let untested_methods: Vec<Method> = Method::ALL
            .into_iter()
            .filter(|method| {
                let tested = |cycle: &CycleResult| cycle.method == *method && is_cut(cycle);
                !cycles.iter().any(tested)
            })
            .collect();
        let limits = limits(&cycles, &circumstances, &untested_methods);
        Certificate {
            format: FORMAT,
            run: geometry.run,
            verdict,
            reason,
            cuts,
            loss_per_cut_at_most: (verdict == Verdict::Pass)
                .then(|| loss_bound(cuts))
                .flatten(),
            acknowledged,
            checked: acknowledged - replaced,
            record_bytes: geometry.record_bytes,
            records_per_commit: geometry.records_per_commit,
            causes: diagnose(&cycles),
            limits,
            untested_methods,
            circumstances,
            cycles,
        }
    }

    /// The certificate as JSON, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        // Its maps have string keys, so that it can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The certificate as one HTML page without references to other files.
    #[must_use]
    pub fn html(&self) -> String {
        crate::html::page(self)
    }

    /// The uncertainty of the verdict, one sentence.
    #[must_use]
    pub fn uncertainty(&self) -> Option<String> {
        let bound = self.loss_per_cut_at_most?;
        Some(format!(
            "With {} and no loss, at most {:.1} % of cuts lose acknowledged data (95 % upper limit).",
            counted(self.cuts, "cut"),
            bound * 100.0
        ))
    }

    /// The certificate as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(simulated) = &self.circumstances.simulated {
            text += &format!("Simulated, not measured: {simulated}\n\n");
        }
        text += &wrapped(&format!("{}: {}", self.verdict.name(), self.reason), "");
        if let Some(uncertainty) = self.uncertainty() {
            text += &wrapped(&uncertainty, "");
        }
        for cause in &self.causes {
            let class = cause
                .class
                .map_or_else(String::new, |class| format!(" ({})", class.name()));
            let sentence = format!("{}{class}: {}", cause.cause.name(), cause.evidence);
            text += &format!("\n{}", wrapped(&sentence, ""));
        }
        text += "\nNumbers of commits, one line for each cycle, layout and thread:\n";
        text += &table(&rows(&self.cycles));
        if let Some(error) = self.cycles.iter().find_map(|cycle| cycle.error.as_ref()) {
            text += &format!("\nFirst read error: {error}\n");
        }
        text += "\nThis test does not prove:\n";
        for limit in &self.limits {
            text += &wrapped(&format!("- {limit}"), "  ");
        }
        text
    }
}

/// Whether the power was cut while commits were acknowledged.
fn is_cut(cycle: &CycleResult) -> bool {
    matches!(cycle.end, CycleEnd::PowerCut | CycleEnd::DeviceCut)
        && cycle.sum(|stream| stream.acknowledged) > 0
}

fn judge(cycles: &[CycleResult], cuts: u64) -> (Verdict, String) {
    let sum = |of: fn(&StreamResult) -> u64| cycles.iter().map(|c| c.sum(of)).sum::<u64>();
    let violations = sum(StreamResult::violations);
    let gone = cycles.iter().find_map(|cycle| cycle.unreadable);
    if violations > 0 || gone.is_some() {
        let with: Vec<&CycleResult> = cycles.iter().filter(|c| c.has_violations()).collect();
        let what = match gone {
            Some(Unreadable::Device) => "the device does not respond".to_owned(),
            Some(Unreadable::FileSystem) => "the file system cannot be read".to_owned(),
            None => {
                let parts = [
                    (sum(|s| s.lost), "lost"),
                    (sum(|s| s.torn_512 + s.torn_4k + s.torn_record), "torn"),
                    (sum(|s| s.changed), "changed"),
                    (sum(|s| s.misplaced), "misplaced"),
                ];
                let parts: Vec<String> = parts
                    .into_iter()
                    .filter(|(number, _)| *number > 0)
                    .map(|(number, what)| format!("{} {what}", grouped(number)))
                    .collect();
                format!("acknowledged commits: {};", parts.join(", "))
            }
        };
        return (
            Verdict::Fail,
            format!(
                "{what} in {} of {}.",
                with.len(),
                counted(cycles.len() as u64, "cycle")
            ),
        );
    }
    let undecided = |reason: &str| (Verdict::Undecided, reason.to_owned());
    if sum(|s| s.unreadable) > 0 {
        return undecided(
            "acknowledged commits could not be read: repeat the check, or state with --unreadable=device that the device is dead.",
        );
    }
    if sum(|s| s.acknowledged) == 0 {
        return undecided("the recorder has no acknowledgement.");
    }
    if cuts == 0 {
        let stopped = cycles.iter().all(|cycle| cycle.end == CycleEnd::Stopped);
        return undecided(if stopped {
            "nothing is lost, but the writer stopped before the power was cut; let it write until the cut."
        } else {
            "nothing is lost, but no power cut is known: the machine has not restarted since the cycle began. If the power of the \
             device alone was cut, add --device-cut."
        });
    }
    let checked = cycles
        .iter()
        .filter(|cycle| is_cut(cycle))
        .map(|cycle| cycle.sum(|stream| stream.acknowledged - stream.replaced))
        .sum();
    (
        Verdict::Pass,
        format!(
            "all {} acknowledged commits that were checked are there after {}.",
            grouped(checked),
            counted(cuts, "power cut")
        ),
    )
}

fn limits(
    cycles: &[CycleResult],
    circumstances: &Circumstances,
    untested: &[Method],
) -> Vec<String> {
    let mut limits = Vec::new();
    if !circumstances.second_host {
        limits.push(
            "The recorder was on the same machine and lost power too. Acknowledgements that it had not yet stored are missing, so \
             the last commits before a cut were not checked. If its own disk loses acknowledged data, losses can go unnoticed."
                .to_owned(),
        );
    }
    if cycles.iter().any(|cycle| cycle.end == CycleEnd::DeviceCut) {
        limits.push(
            "That the device lost power is the statement of the user; fathom sees only restarts of the machine.".to_owned(),
        );
    }
    if !untested.is_empty() {
        let names: Vec<&str> = untested.iter().map(|method| method.name()).collect();
        limits.push(format!(
            "Methods that no cut has tested: {}.",
            names.join(", ")
        ));
    }
    limits.push(
        "A loss shows that a layer between write(2) and the media does not keep what it acknowledged: file system, block layer, \
         hypervisor, controller or device. It does not show which one."
            .to_owned(),
    );
    limits.push(
        "Cuts at other loads, fill levels, temperatures and wear can have other results."
            .to_owned(),
    );
    limits
}

/// Text in lines of at most 100 columns where words allow it; later lines begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    const COLUMNS: usize = 100;
    let mut lines = String::new();
    let mut columns = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > COLUMNS {
            lines += "\n";
            lines += indent;
            columns = indent.len();
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines += word;
        columns += length;
    }
    lines.push('\n');
    lines
}

/// `3 cuts`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", grouped(number)),
    }
}

/// A number with a separator for thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The columns of the table of streams.
pub(crate) const COLUMNS: [&str; 15] = [
    "cycle",
    "end",
    "method",
    "layout",
    "thread",
    "acknowledged",
    "checked",
    "there",
    "lost",
    "out of order",
    "torn 512 B",
    "torn 4 KiB",
    "torn record",
    "changed",
    "unreadable",
];

/// The cells of the table of streams.
pub(crate) fn rows(cycles: &[CycleResult]) -> Vec<Vec<String>> {
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    for cycle in cycles {
        let end = match cycle.end {
            CycleEnd::PowerCut => "power cut",
            CycleEnd::DeviceCut => "device cut",
            CycleEnd::NoCut => "no cut",
            CycleEnd::Stopped => "stopped",
        };
        for stream in &cycle.streams {
            rows.push(vec![
                cycle.cycle.to_string(),
                end.to_owned(),
                cycle.method.name().to_owned(),
                stream.layout.name().to_owned(),
                stream.thread.to_string(),
                grouped(stream.acknowledged),
                grouped(stream.acknowledged - stream.replaced),
                grouped(stream.there),
                grouped(stream.lost),
                grouped(stream.out_of_order),
                grouped(stream.torn_512),
                grouped(stream.torn_4k),
                grouped(stream.torn_record),
                grouped(stream.changed + stream.misplaced),
                grouped(stream.unreadable),
            ]);
        }
    }
    rows
}

/// The columns that are shown: not those of violations that are zero in every row, except the lost commits.
pub(crate) fn shown_columns(rows: &[Vec<String>]) -> Vec<usize> {
    const ALWAYS: usize = 9;
    (0..COLUMNS.len())
        .filter(|column| *column < ALWAYS || rows[1..].iter().any(|row| row[*column] != "0"))
        .collect()
}

/// Columns aligned by spaces.
fn table(rows: &[Vec<String>]) -> String {
    let columns = shown_columns(rows);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for column in &columns {
            let width = rows.iter().map(|row| row[*column].len()).max().unwrap_or(0);
            let cell = &row[*column];
            // Names to the left, numbers to the right.
            line += &if (1..4).contains(column) {
                format!("{cell:<width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of three: about 3/n for large n; 1 - 0.05 for one trial.
    #[test]
    fn the_bound_is_that_of_clopper_and_pearson() {
        assert_eq!(loss_bound(0), None);
        assert!((loss_bound(1).expect("a bound") - 0.95).abs() < 1e-12);
        assert!((loss_bound(59).expect("a bound") - 0.0495).abs() < 1e-3);
        assert!((loss_bound(1000).expect("a bound") - 0.003).abs() < 1e-5);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            (counted(1, "cut"), counted(2, "cut")),
            ("1 cut".into(), "2 cuts".into())
        );
    }
}
