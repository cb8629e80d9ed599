//! `docs/findings.md` is current, and every test that it names exists.

use std::path::Path;

use crate::causes::{CAUSES, Trigger, findings_page};
use fathom_analyse::explain;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// `FATHOM_WRITE_DOCS=1 cargo test -p fathom-analyse --test it page` regenerates it.
#[test]
fn the_findings_page_is_current() {
    let path = root().join("docs/findings.md");
    if std::env::var_os("FATHOM_WRITE_DOCS").is_some() {
        std::fs::write(&path, findings_page()).expect("written");
    }
    let page = std::fs::read_to_string(&path).expect("docs/findings.md");
    assert!(
        page == findings_page(),
        "docs/findings.md is out of date; see this test for how to regenerate it"
    );
}

#[test]
fn every_test_and_every_finding_exists() {
    for cause in CAUSES {
        for name in cause.findings {
            assert!(explain(name).is_some(), "{}: {name}", cause.number);
        }
        let (file, test) = cause.test;
        let text = std::fs::read_to_string(root().join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        // Scenes of the suite of measurements have no attribute.
        let test_body = text
            .split_once(&format!("\nfn {test}()"))
            .unwrap_or_else(|| panic!("{file} has no test {test}"))
            .1;
        let body = test_body.split_once("\n}\n").expect("a body").0;
        let named = |name: &&str| {
            body.contains(&format!("\"{name}\"")) || text.contains(&format!("\"{name}\""))
        };
        assert!(
            named(&cause.findings[0]),
            "{test} does not mention {}",
            cause.findings[0]
        );
    }
}

/// There are 28 causes; tests that simulate a part name it.
#[test]
fn every_cause_is_triggered_and_few_are_simulated() {
    assert_eq!(CAUSES.len(), 28);
    assert!(CAUSES.iter().all(|cause| !cause.findings.is_empty()));
    assert!(
        CAUSES
            .iter()
            .filter(|cause| cause.trigger == Trigger::Real)
            .count()
            >= 24
    );
}
