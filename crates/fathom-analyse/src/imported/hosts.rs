//! Results of several hosts: a sum without one of them is not what was measured.

use fathom_model::{Finding, ImportedHosts, Weight};

use crate::explain::id_of;

/// Whether hosts are missing from a result.
#[must_use]
pub fn judge_hosts(hosts: &ImportedHosts) -> Option<Finding> {
    let there = hosts.present.len();
    let missing = (hosts.expected.unwrap_or(0) as usize)
        .saturating_sub(there)
        .max(hosts.lost.len());
    if missing == 0 {
        return None;
    }
    let told: Vec<String> = hosts
        .lost
        .iter()
        .take(8)
        .map(|(host, words)| format!("{host} ({words})"))
        .collect();
    let told = if told.is_empty() {
        "the result does not say which".to_owned()
    } else {
        format!("lost: {}", told.join(", "))
    };
    let evidence = format!(
        "{missing} of {} host{} gave no figures; {told}. Sums and percentiles are those of the other {there}.",
        missing + there,
        if missing + there == 1 { "" } else { "s" },
    );
    let advice = "Mend the host or its network and run again; until then state the figures with the number of hosts they are of.";
    let code = "HOST_LOST";
    Some(Finding {
        id: id_of(code),
        code,
        weight: Weight::Degrades,
        about: None,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_named_or_counted_is_missed() {
        let lost = vec![("b".to_owned(), "disconnected".to_owned())];
        let mut hosts = ImportedHosts {
            present: vec!["a".to_owned()],
            lost,
            expected: None,
        };
        let found = judge_hosts(&hosts).expect("it is missing");
        assert_eq!(
            (found.code, found.evidence.as_str()),
            (
                "HOST_LOST",
                "1 of 2 hosts gave no figures; lost: b (disconnected). Sums and percentiles are those of the other 1."
            )
        );
        hosts.lost.clear();
        assert_eq!(judge_hosts(&hosts), None);
        hosts.expected = Some(3);
        assert!(
            judge_hosts(&hosts).is_some_and(|found| found.evidence.starts_with("2 of 3 hosts"))
        );
        hosts.expected = Some(1);
        assert_eq!(judge_hosts(&hosts), None);
    }
}
