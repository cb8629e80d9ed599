//! Latency limits, verdicts and answers as JUnit XML, which CI systems show as test cases.

use fathom_model::format::{duration, rate};
use fathom_model::{Findings, Grid, GridRow, SuiteResult, Verdict};

/// One test case: its name, and why it passed or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// Name of the case, such as `p99<=1ms`.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// The figures, in a sentence.
    pub sentence: String,
}

/// A test case for the verdict of one measurement.
#[must_use]
pub fn verdict_case(name: &str, findings: &Findings) -> TestCase {
    let codes: Vec<&str> = findings.findings.iter().map(|one| one.code).collect();
    TestCase {
        name: name.to_owned(),
        passed: findings.verdict != Verdict::Invalid,
        sentence: with_codes(findings.verdict, &codes),
    }
}

/// A test case for the verdict of each cell of a sweep.
#[must_use]
pub fn grid_cases(grid: &Grid) -> Vec<TestCase> {
    step_cases("", grid)
}

/// A test case for the verdict of each cell of a suite, for the steady state of each step that needs one, and for the answer.
#[must_use]
pub fn suite_cases(suite: &SuiteResult) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for step in &suite.steps {
        cases.extend(step_cases(&step.name, &step.grid));
        cases.extend(step.rounds.as_ref().map(|rounds| TestCase {
            name: case_name(&step.name, "steady state"),
            passed: rounds.steady.is_some(),
            sentence: rounds.sentences.join(" "),
        }));
    }
    cases.extend(suite.answer.as_ref().map(|answer| TestCase {
        name: "answer".to_owned(),
        passed: true,
        sentence: answer.clone(),
    }));
    cases
}

fn step_cases(step: &str, grid: &Grid) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = grid
        .rows
        .iter()
        .map(|row| {
            let axes = grid.axes.iter().zip(&row.values);
            let cell: Vec<String> = axes
                .map(|(axis, value)| format!("{axis}={value}"))
                .collect();
            row_case(case_name(step, &cell.join(", ")), row)
        })
        .collect();
    if grid.left_out > 0 {
        cases.push(TestCase {
            name: case_name(step, "all cells measured"),
            passed: false,
            sentence: format!("{} not measured", counted_cells(grid.left_out)),
        });
    }
    cases
}

fn counted_cells(count: u32) -> String {
    fathom_model::format::counted(count.into(), "cell")
}

fn case_name(step: &str, rest: &str) -> String {
    match (step, rest) {
        ("", "") => "cell".to_owned(),
        ("", one) | (one, "") => one.to_owned(),
        (step, rest) => format!("{step}: {rest}"),
    }
}

fn row_case(name: String, row: &GridRow) -> TestCase {
    let figures = &row.figures;
    if let Some(reason) = &row.failed {
        return TestCase {
            name,
            passed: false,
            sentence: reason.clone(),
        };
    }
    let codes: Vec<&str> = figures.codes.iter().map(String::as_str).collect();
    TestCase {
        name,
        passed: figures.verdict != Verdict::Invalid && figures.error == 0,
        sentence: format!(
            "{}; {} IOPS, p99 {}",
            with_codes(figures.verdict, &codes),
            rate(row.iops.mean),
            duration(figures.latency.p99)
        ),
    }
}

/// The verdict and each code once, with the number of jobs that it was found in.
fn with_codes(verdict: Verdict, codes: &[&str]) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for code in codes {
        match counts.iter_mut().find(|(seen, _)| seen == code) {
            Some((_, count)) => *count += 1,
            None => counts.push((code, 1)),
        }
    }
    let codes: Vec<String> = counts
        .iter()
        .map(|(code, count)| match count {
            1 => (*code).to_owned(),
            _ => format!("{code} ({count} times)"),
        })
        .collect();
    if codes.is_empty() {
        verdict.name().to_owned()
    } else {
        format!("{}: {}", verdict.name(), codes.join(", "))
    }
}

/// JUnit XML: a test case for each limit, verdict or answer.
#[must_use]
pub fn junit(suite: &str, class: &str, cases: &[TestCase]) -> String {
    let failures = cases.iter().filter(|case| !case.passed).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"0\">\n",
        xml(suite),
        cases.len()
    );
    for case in cases {
        let sentence = xml(&case.sentence);
        let result = if case.passed {
            format!("<system-out>{sentence}</system-out>")
        } else {
            format!("<failure message=\"{sentence}\">{sentence}</failure>")
        };
        text += &format!(
            "  <testcase classname=\"{}\" name=\"{}\">{result}</testcase>\n",
            xml(class),
            xml(&case.name)
        );
    }
    text + "</testsuite>\n"
}

/// Text in an element or an attribute.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellFigures, Estimate, SuiteRounds, SuiteStep};

    use super::*;

    /// Regression 0690: a code of ten jobs was written ten times.
    #[test]
    fn each_code_is_written_once() {
        let codes = ["HOST_BUSY", "WORKER_WAITED", "FEW_SAMPLES", "WORKER_WAITED"];
        assert_eq!(
            with_codes(Verdict::Degraded, &codes),
            "degraded: HOST_BUSY, WORKER_WAITED (2 times), FEW_SAMPLES"
        );
        assert_eq!(with_codes(Verdict::Valid, &[]), "valid");
    }

    /// Invalid cells, cells without a result, missing cells and a missing steady state are failures; degraded cells are not.
    #[test]
    fn verdicts_and_answers_are_test_cases() {
        let row = |value: &str, verdict, failed: Option<&str>| GridRow {
            values: vec![value.to_owned()],
            iops: Estimate {
                mean: 1000.0,
                half_width: None,
                n: 1,
            },
            figures: CellFigures {
                verdict,
                codes: vec!["HOST_BUSY".to_owned()],
                ..CellFigures::default()
            },
            failed: failed.map(str::to_owned),
        };
        let suite = SuiteResult {
            steps: vec![SuiteStep {
                name: "reads".to_owned(),
                grid: Grid {
                    axes: vec!["bs".to_owned()],
                    rows: vec![
                        row("4k", Verdict::Degraded, None),
                        row("8k", Verdict::Invalid, None),
                        row("16k", Verdict::Valid, Some("no space")),
                    ],
                    left_out: 2,
                    ..Grid::default()
                },
                rounds: Some(SuiteRounds::default()),
                ..SuiteStep::default()
            }],
            answer: Some("Writes slow reads.".to_owned()),
            ..SuiteResult::default()
        };
        let cases = suite_cases(&suite);
        let short: Vec<(&str, bool)> = cases
            .iter()
            .map(|case| (case.name.as_str(), case.passed))
            .collect();
        assert_eq!(
            short,
            [
                ("reads: bs=4k", true),
                ("reads: bs=8k", false),
                ("reads: bs=16k", false),
                ("reads: all cells measured", false),
                ("reads: steady state", false),
                ("answer", true),
            ]
        );
        assert!(
            cases[0]
                .sentence
                .starts_with("degraded: HOST_BUSY; 1,000 IOPS")
        );
        assert_eq!(cases[2].sentence, "no space");
        assert_eq!(cases[3].sentence, "2 cells not measured");
        assert_eq!(cases[5].sentence, "Writes slow reads.");
    }

    #[test]
    fn a_limit_that_is_exceeded_is_a_failure() {
        let case = |name: &str, passed| TestCase {
            name: name.to_owned(),
            passed,
            sentence: "p99 is \"2 ms\"".to_owned(),
        };
        let text = junit(
            "fathom run",
            "a & b",
            &[case("p99<=1ms", false), case("mean<=9ms", true)],
        );
        assert!(text.contains("tests=\"2\" failures=\"1\" skipped=\"0\""));
        assert!(text.contains(
            "<testcase classname=\"a &amp; b\" name=\"p99&lt;=1ms\"><failure message=\"p99 is &quot;2 ms&quot;\">"
        ));
        assert_eq!(text.matches("</testcase>").count(), 2);
    }
}
