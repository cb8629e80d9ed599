//! Invalid inputs and their exact messages, as tables in `bad_inputs/`.
//!
//! A case is `=== title`, then `$ arguments` (one line, split at spaces) or the text of `job.fio`,
//! then `---` and the messages, errors and warnings, one a line. `UPDATE_GOLDEN=1` rewrites the
//! messages; check the difference.

use crate::support::{Machine, shown};
use fathom_model::Personality;

struct Case {
    title: String,
    input: String,
    messages: String,
}

fn cases(table: &str) -> Vec<Case> {
    let blocks = table.split("=== ").skip(1);
    blocks
        .map(|block| {
            let (title, rest) = block
                .split_once('\n')
                .expect("a title has a line of its own");
            let (input, messages) = rest
                .split_once("---\n")
                .expect("messages follow a line of three dashes");
            Case {
                title: title.into(),
                input: input.into(),
                messages: messages.into(),
            }
        })
        .collect()
}

fn machine() -> Machine {
    Machine::default()
        .with_file("loop.inc", "include loop.inc\n")
        .with_file("section.inc", "bs=4k\n[x]\n")
        .with_file("bad.inc", "iodepth=4\niodepth=none\n")
        .with_file("good.fio", "[a]\nsize=1m\n[b]\nsize=1m\nrw=write\n")
        .with_variable("BAD", "4x")
}

fn answer(input: &str) -> String {
    let planned = match input.strip_prefix("$ ") {
        Some(arguments) => machine().plan(
            Personality::Fathom,
            &arguments.split_whitespace().collect::<Vec<_>>(),
        ),
        None => machine()
            .with_file("job.fio", input)
            .plan(Personality::Fathom, &["job.fio"]),
    };
    planned.map_or_else(
        |problems| shown(&problems),
        |planned| shown(&planned.warnings),
    )
}

fn check(name: &str) -> usize {
    let path = format!("{}/tests/bad_inputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(&path).expect("the table can be read");
    let cases = cases(&table);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let render = |case: &Case| {
            format!(
                "=== {}\n{}---\n{}",
                case.title,
                case.input,
                answer(&case.input)
            )
        };
        std::fs::write(&path, cases.iter().map(render).collect::<String>())
            .expect("the table can be written");
        return cases.len();
    }
    for case in &cases {
        assert_eq!(answer(&case.input), case.messages, "{name}: {}", case.title);
    }
    cases.len()
}

#[test]
fn each_bad_input_has_its_message() {
    let count: usize = [
        "grammar.txt",
        "values.txt",
        "meaning.txt",
        "traps.txt",
        "command_line.txt",
    ]
    .into_iter()
    .map(check)
    .sum();
    assert!(count >= 100, "{count} cases");
}
