//! `docs/findings.md` says what the catalogue says, and every scene it names is there.

use std::path::Path;

use fathom_analyse::{CAUSES, Proof, explain, findings_page};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// `FATHOM_WRITE_DOCS=1 cargo test -p fathom-analyse --test page` writes it anew.
#[test]
fn the_page_is_the_catalogue() {
    let path = root().join("docs/findings.md");
    if std::env::var_os("FATHOM_WRITE_DOCS").is_some() {
        std::fs::write(&path, findings_page()).expect("written");
    }
    let there = std::fs::read_to_string(&path).expect("docs/findings.md");
    assert!(
        there == findings_page(),
        "docs/findings.md is behind the catalogue; see this test for how to write it anew"
    );
}

#[test]
fn every_scene_is_a_test_and_every_finding_exists() {
    for cause in CAUSES {
        for name in cause.findings {
            assert!(explain(name).is_some(), "{}: {name}", cause.number);
        }
        let (file, test) = cause.scene;
        let text = std::fs::read_to_string(root().join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let scene = text
            .split_once(&format!("#[test]\nfn {test}()"))
            .unwrap_or_else(|| panic!("{file} has no test {test}"))
            .1;
        let body = scene.split_once("\n}\n").expect("a body").0;
        let told = |name: &&str| {
            body.contains(&format!("\"{name}\"")) || text.contains(&format!("\"{name}\""))
        };
        assert!(
            told(&cause.findings[0]),
            "{test} does not ask for {}",
            cause.findings[0]
        );
    }
}

/// 28 causes; a scene that simulates a part says which.
#[test]
fn every_cause_is_set_off_and_few_with_a_simulated_part() {
    assert_eq!(CAUSES.len(), 28);
    assert!(CAUSES.iter().all(|cause| !cause.findings.is_empty()));
    assert!(
        CAUSES
            .iter()
            .filter(|cause| cause.proof == Proof::Lab)
            .count()
            >= 26
    );
}
