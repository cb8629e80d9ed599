//! `/metrics`: OpenMetrics 1.0 for Prometheus. See <https://github.com/prometheus/OpenMetrics>.

use std::collections::HashSet;

use fathom_store::ListFilter;

use crate::answer::{Answer, Problem};
use crate::pages::{device_of, fact};
use crate::request::Request;
use crate::workers::Site;

const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The newest runs that are searched for the newest of each name, host and device.
const NEWEST: u32 = 500;

/// A value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

pub(crate) fn metrics(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    let count = site.count()?;
    let runs = site.library.store().list(&ListFilter {
        limit: NEWEST,
        ..ListFilter::default()
    })?;
    let running = runs
        .iter()
        .filter(|run| {
            run.run.state == fathom_model::RunState::Running && !site.library.is_dead(&run.run)
        })
        .count();
    let mut text = format!(
        "# TYPE fathom_store_runs gauge\n# HELP fathom_store_runs Runs in the store.\nfathom_store_runs {count}\n\
         # TYPE fathom_store_running_runs gauge\n# HELP fathom_store_running_runs Runs that are being measured.\nfathom_store_running_runs {running}\n"
    );
    let mut figures = String::new();
    let mut verdicts = String::new();
    let mut times = String::new();
    let mut seen = HashSet::new();
    for listed in &runs {
        let (run, facts) = (&listed.run, &listed.run.experiment.facts);
        let (host, device) = (fact(facts, "host"), device_of(facts));
        if listed.figures.is_empty() || !seen.insert((&run.experiment.name, host, device.clone())) {
            continue;
        }
        // Without the number of the run: a label that changes with each run would make a new series of each.
        let labels = format!(
            "name=\"{}\",kind=\"{}\",host=\"{}\",device=\"{}\"",
            label(&run.experiment.name),
            label(&run.experiment.kind),
            label(host),
            label(&device)
        );
        for (name, value) in listed.figures.iter().filter(|(_, value)| value.is_finite()) {
            figures += &format!(
                "fathom_newest_figure{{{labels},figure=\"{}\"}} {value}\n",
                label(name)
            );
        }
        for verdict in ["valid", "degraded", "invalid"] {
            verdicts += &format!(
                "fathom_newest_verdict{{{labels},fathom_newest_verdict=\"{verdict}\"}} {}\n",
                u8::from(listed.verdict == verdict)
            );
        }
        times += &format!("fathom_newest_run_number{{{labels}}} {}\n", run.id.get());
    }
    for (name, kind, help, samples) in [
        (
            "fathom_newest_figure",
            "gauge",
            "Figures of the newest run of each name, host and device, in SI units without prefix.",
            figures,
        ),
        (
            "fathom_newest_verdict",
            "stateset",
            "Verdict of the newest run of each name, host and device.",
            verdicts,
        ),
        (
            "fathom_newest_run_number",
            "gauge",
            "Number of that run: 12 is r12.",
            times,
        ),
    ] {
        if !samples.is_empty() {
            text += &format!("# TYPE {name} {kind}\n# HELP {name} {help}\n{samples}");
        }
    }
    Ok(Answer::new(KIND, text + "# EOF\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn labels_are_escaped() {
        assert_eq!(super::label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
