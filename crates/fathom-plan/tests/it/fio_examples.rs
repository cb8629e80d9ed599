//! fio's example job files, where a copy is available: every one must be accepted by the parser.
//!
//! `FIO_EXAMPLES` names the directory; the files belong to fio and are not part of this repository.

#![allow(clippy::print_stderr, reason = "skipped tests are reported")]

use std::path::PathBuf;

use crate::support::{Machine, shown};
use fathom_model::Personality;
use fathom_plan::{Diagnostic, FileReader, parse_args, plan, read_job_files};

struct Directory(PathBuf);

impl FileReader for Directory {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.0.join(path))
    }
}

#[test]
fn fio_examples_are_accepted_by_the_parser() {
    let Some(directory) = std::env::var_os("FIO_EXAMPLES").map(PathBuf::from) else {
        fathom_testkit::skip("FIO_EXAMPLES does not name a directory with fio's example job files");
        return;
    };
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .expect("the directory can be read")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".fio"))
        .collect();
    names.sort();
    let machine = Machine::default();
    let includes = Directory(directory);
    let mut refused = 0;
    for name in &names {
        let invocation = parse_args(&["--parse-only".into(), name.clone()], Personality::Fathom)
            .expect("a file name");
        read_job_files(&invocation, &machine, &includes)
            .unwrap_or_else(|problems| panic!("{}", shown(&problems)));
        if let Err(problems) = plan(&invocation, &machine, &includes) {
            refused += 1;
            let errors: Vec<Diagnostic> =
                problems.into_iter().filter(Diagnostic::is_error).collect();
            eprint!("{}", shown(&errors));
            assert!(
                errors
                    .iter()
                    .all(|error| !error.problem.contains("unknown option")
                        || error.problem.contains("ioengine=")),
                "{name}"
            );
        }
    }
    eprintln!("{} files, {refused} refused", names.len());
}
