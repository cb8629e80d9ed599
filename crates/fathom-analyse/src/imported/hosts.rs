//! Checks that results of several hosts are complete.

use fathom_model::{Finding, ImportedHosts, Weight};

use super::CheckInput;

/// Whether hosts are missing from a result.
pub(crate) fn lost(input: &CheckInput) -> Vec<Finding> {
    lost_hosts(&input.hosts).into_iter().collect()
}

fn lost_hosts(hosts: &ImportedHosts) -> Option<Finding> {
    let there = hosts.present.len();
    let missing = (hosts.expected.unwrap_or(0) as usize)
        .saturating_sub(there)
        .max(hosts.lost.len());
    if missing == 0 {
        return None;
    }
    let lost: Vec<String> = hosts
        .lost
        .iter()
        .take(8)
        .map(|(host, reason)| format!("{host} ({reason})"))
        .collect();
    let lost = if lost.is_empty() {
        "the result does not say which".to_owned()
    } else {
        format!("lost: {}", lost.join(", "))
    };
    let evidence = format!(
        "{missing} of {} host{} returned no figures; {lost}. Sums and percentiles cover the other {there}.",
        missing + there,
        if missing + there == 1 { "" } else { "s" },
    );
    let advice = "Fix the host or its network and run again; until then report the number of hosts with the figures.";
    Some(Finding {
        id: "",
        code: "",
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
    use crate::imported::judge;

    #[test]
    fn a_missing_host_is_found_by_name_or_by_count() {
        let lost = vec![("b".to_owned(), "disconnected".to_owned())];
        let mut hosts = ImportedHosts {
            present: vec!["a".to_owned()],
            lost,
            expected: None,
        };
        let found = lost_hosts(&hosts).expect("a host is missing");
        let input = CheckInput {
            hosts: hosts.clone(),
            ..CheckInput::default()
        };
        assert_eq!(
            (judge(&input)[0].code, found.evidence.as_str()),
            (
                "HOST_LOST",
                "1 of 2 hosts returned no figures; lost: b (disconnected). Sums and percentiles cover the other 1."
            )
        );
        hosts.lost.clear();
        assert_eq!(lost_hosts(&hosts), None);
        hosts.expected = Some(3);
        assert!(lost_hosts(&hosts).is_some_and(|found| found.evidence.starts_with("2 of 3 hosts")));
        hosts.expected = Some(1);
        assert_eq!(lost_hosts(&hosts), None);
    }
}
