//! The modules of this crate depend on each other in one direction only.

use std::path::Path;

use fathom_testkit::ModuleGraph;

#[test]
fn modules_form_no_cycle() {
    let graph = ModuleGraph::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        graph.uses("text").contains("names"),
        "no edges found: {graph:?}"
    );
    assert_eq!(graph.cycle(), None, "modules that use each other");
}
