//! `fathom devices`: lists block devices: connection, limits, content, and the code that allows writing.

use std::io::IsTerminal;
use std::path::Path;

use fathom_cli::DevicesArgs;
use fathom_device::{Target, TargetFacts, concerns, description, device_safety};
use fathom_linux::{
    examine, examine_without_samples, inspect_target, inspect_target_with_ioctls,
    list_block_devices,
};
use fathom_model::{TargetOverview, TargetRecording};
use fathom_report::{Style, device_cards, device_document, device_table};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print_to};
use crate::scratch_devices;
use crate::screen;
use crate::specs::library;
use crate::timeout::{Query, SAMPLING_TIMEOUT, TIMEOUT, start_query, start_query_for};

/// The kernel's list of block devices.
const SYSFS_BLOCK: &str = "/sys/class/block";
/// Width where no terminal limits it.
const WIDTH_OF_FILES: usize = 160;

/// Describes the targets given, or all block devices.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: DevicesArgs| match args.scratch {
        None if args.paths.is_empty() && !Path::new(SYSFS_BLOCK).is_dir() => Err(format!(
            "block devices are listed from {SYSFS_BLOCK}, which does not exist here: mount sysfs at /sys"
        )),
        None => Ok(devices(&args)),
        Some(_)
            if args.result.is_json() || args.result.output.is_some() || !args.specs.is_empty() =>
        {
            Err("--scratch prints text, and takes neither --json, --output nor --specs".to_owned())
        }
        Some(action) => {
            scratch_devices::command(action, &args.paths, args.destroy.as_deref(), args.system)
        }
    })
}

fn devices(args: &DevicesArgs) -> Outcome {
    let (mut cards, outcome) = if args.paths.is_empty() {
        (all_devices(), Outcome::Good)
    } else {
        named_devices(&args.paths)
    };
    name_sheets(&mut cards, &args.specs);
    match print_to(args.result.output.as_deref(), &format_cards(args, &cards)) {
        Outcome::Good => outcome,
        error => error,
    }
}

fn format_cards(args: &DevicesArgs, cards: &[TargetOverview]) -> String {
    if args.result.is_json() {
        let mut bytes = Vec::new();
        device_document(cards, &mut bytes).expect("memory takes everything");
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let terminal = args.result.output.is_none() && std::io::stdout().is_terminal();
    let style = screen::style(terminal, "");
    match (args.paths.is_empty(), terminal) {
        (true, false) => device_table(
            cards,
            &Style {
                width: WIDTH_OF_FILES,
                ..style
            },
        ),
        (true, true) => device_table(cards, &style),
        (false, _) => device_cards(cards, &style),
    }
}

/// Names the sheet that fits each device of each chain.
fn name_sheets(cards: &mut [TargetOverview], directories: &[String]) {
    let library = library(directories);
    for error in library.errors() {
        eprint_line!("fathom devices: skipped: {error}");
    }
    for card in cards {
        let fitting = card
            .target
            .devices
            .iter()
            .filter_map(|device| library.for_device(&device.before));
        card.sheets = fitting
            .map(|sheet| {
                format!(
                    "{}: {} {}, {} figures",
                    sheet.id,
                    sheet.maker,
                    sheet.product,
                    sheet.figures.len()
                )
            })
            .collect();
        card.sheets.dedup();
    }
}

fn all_devices() -> Vec<TargetOverview> {
    let listed = list_block_devices(TIMEOUT, inspect_target);
    listed
        .into_iter()
        .map(|(facts, target)| {
            card(
                &facts,
                target.unwrap_or_else(|| unanswered_recording(&facts)),
            )
        })
        .collect()
}

fn unanswered_recording(facts: &TargetFacts) -> TargetRecording {
    let troubles = vec![format!("no answer within {} s", TIMEOUT.as_secs())];
    TargetRecording {
        path: facts.named.clone(),
        problems: troubles,
        ..TargetRecording::default()
    }
}

/// The card of a path, or why there is none.
type CardResult = Result<TargetOverview, String>;

/// Queries all paths at the same time, so that several hanging devices cost no more time than one.
fn named_devices(paths: &[String]) -> (Vec<TargetOverview>, Outcome) {
    let queries: Vec<Inspection> = paths.iter().map(|path| Inspection::start(path)).collect();
    let (mut cards, mut outcome) = (Vec::new(), Outcome::Good);
    for (path, query) in paths.iter().zip(queries) {
        match query
            .answer()
            .unwrap_or_else(|| Err(no_answer_message(path)))
        {
            Ok(card) => cards.push(card),
            Err(problem) => {
                eprint_line!("fathom devices: {problem}");
                outcome = Outcome::Refused;
            }
        }
    }
    (cards, outcome)
}

fn no_answer_message(path: &str) -> String {
    let (path, timeout) = (path.escape_debug(), TIMEOUT.as_secs());
    format!(
        "{path} did not answer within {timeout} s: the device or file system behind it hangs; the kernel log may say why"
    )
}

/// The inspection of one path: whether it answers at all, and then what it is. Reading the samples for its code takes a slow
/// device several seconds.
struct Inspection {
    first_answer: Query<()>,
    card: Query<CardResult>,
}

impl Inspection {
    fn start(path: &str) -> Inspection {
        let (path, named) = (path.to_owned(), path.to_owned());
        Inspection {
            first_answer: start_query(move || {
                drop(examine_without_samples(Path::new(&path)));
            }),
            card: inspect(&named),
        }
    }

    fn answer(self) -> Option<CardResult> {
        self.first_answer.answer()?;
        self.card.answer()
    }
}

fn inspect(path: &str) -> Query<CardResult> {
    let path = path.to_owned();
    start_query_for(SAMPLING_TIMEOUT, move || {
        let examined = examine(Path::new(&path)).map_err(|error| error.to_string())?;
        if matches!(examined.facts().target, Target::NewFile(_)) {
            let path = path.escape_debug();
            return Err(format!(
                "{path} does not exist; `fathom devices` lists the block devices"
            ));
        }
        Ok(card(
            examined.facts(),
            inspect_target_with_ioctls(Path::new(&path)),
        ))
    })
}

fn card(facts: &TargetFacts, target: TargetRecording) -> TargetOverview {
    let (headline, lines) = description(facts);
    TargetOverview {
        headline,
        lines,
        safety: device_safety(facts),
        concerns: concerns(&target),
        sheets: Vec::new(),
        target,
    }
}
