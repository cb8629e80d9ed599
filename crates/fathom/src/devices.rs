//! `fathom devices`: what is there, how it is joined, what limits it, and what it would take to write to it.

use std::io::IsTerminal;
use std::path::Path;

use fathom_device::{Target, TargetFacts, concerns, description, standing};
use fathom_linux::{examine, inspect_target, inspect_target_with_ioctls, list_block_devices};
use fathom_model::{DeviceCard, TargetRecording};
use fathom_report::{Style, device_cards, device_document, device_table};

use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::screen;
use crate::specs::library;
use crate::timeout::{Answer, PATIENCE, ask};

/// Where nobody's terminal sets a limit.
const WIDE: usize = 160;

/// What was asked for.
struct Request<'a> {
    json: bool,
    /// `--specs=DIR`, each time it was given.
    folders: Vec<&'a str>,
    paths: Vec<&'a str>,
}

/// Describes the targets given, or all block devices.
pub fn command(arguments: &[String]) -> Outcome {
    let request = match read(arguments) {
        Ok(request) => request,
        Err(problem) => {
            eprint_line!("fathom devices: {problem}");
            return Outcome::Refused;
        }
    };
    let (mut cards, outcome) = if request.paths.is_empty() {
        (every_device(), Outcome::Good)
    } else {
        some(&request.paths)
    };
    name_sheets(&mut cards, &request.folders);
    match print(&shown(&request, &cards)) {
        Outcome::Good => outcome,
        trouble => trouble,
    }
}

fn read(arguments: &[String]) -> Result<Request<'_>, String> {
    let mut request = Request {
        json: false,
        folders: Vec::new(),
        paths: Vec::new(),
    };
    let mut only_paths = false;
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--" if !only_paths => only_paths = true,
            "--json" if !only_paths => request.json = true,
            "--specs" if !only_paths => request
                .folders
                .push(arguments.next().ok_or("--specs needs a folder")?),
            option if option.starts_with("--specs=") && !only_paths => {
                request.folders.push(&option["--specs=".len()..])
            }
            option if option.starts_with('-') && !only_paths => {
                let option = option.escape_debug();
                return Err(format!(
                    "there is no option '{option}': give paths, --json, --specs=DIR, or nothing for all block devices"
                ));
            }
            path => request.paths.push(path),
        }
    }
    Ok(request)
}

fn shown(request: &Request<'_>, cards: &[DeviceCard]) -> String {
    if request.json {
        let mut bytes = Vec::new();
        device_document(cards, &mut bytes).expect("memory takes everything");
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let terminal = std::io::stdout().is_terminal();
    let style = screen::style(terminal, "");
    match (request.paths.is_empty(), terminal) {
        (true, false) => device_table(
            cards,
            &Style {
                width: WIDE,
                ..style
            },
        ),
        (true, true) => device_table(cards, &style),
        (false, _) => device_cards(cards, &style),
    }
}

/// Names the sheet that fits each device of each chain.
fn name_sheets(cards: &mut [DeviceCard], folders: &[&str]) {
    let library = library(folders);
    for trouble in library.troubles() {
        eprint_line!("fathom devices: passed over: {trouble}");
    }
    for card in cards {
        let fitting = card
            .target
            .devices
            .iter()
            .filter_map(|device| library.fitting(&device.before));
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

fn every_device() -> Vec<DeviceCard> {
    let listed = list_block_devices(PATIENCE, inspect_target);
    listed
        .into_iter()
        .map(|(facts, target)| card(&facts, target.unwrap_or_else(|| silent(&facts))))
        .collect()
}

fn silent(facts: &TargetFacts) -> TargetRecording {
    let troubles = vec![format!("it did not answer within {} s", PATIENCE.as_secs())];
    TargetRecording {
        path: facts.named.clone(),
        troubles,
        ..TargetRecording::default()
    }
}

/// What becomes of one path: a card, or why there is none.
type Seen = Result<DeviceCard, String>;

/// All are asked at the same time, so that several that hang cost no more than one.
fn some(paths: &[&str]) -> (Vec<DeviceCard>, Outcome) {
    let asked: Vec<Answer<Seen>> = paths.iter().map(|path| look(path)).collect();
    let (mut cards, mut outcome) = (Vec::new(), Outcome::Good);
    for (path, asked) in paths.iter().zip(asked) {
        match asked.answer().unwrap_or_else(|| Err(unanswered(path))) {
            Ok(card) => cards.push(card),
            Err(problem) => {
                eprint_line!("fathom devices: {problem}");
                outcome = Outcome::Refused;
            }
        }
    }
    (cards, outcome)
}

fn unanswered(path: &str) -> String {
    let (path, timeout) = (path.escape_debug(), PATIENCE.as_secs());
    format!(
        "{path} did not answer within {timeout} s: the device or file system behind it hangs; the kernel log may say why"
    )
}

fn look(path: &str) -> Answer<Seen> {
    let path = path.to_owned();
    ask(move || {
        let examined = examine(Path::new(&path)).map_err(|error| error.to_string())?;
        if matches!(examined.facts().target, Target::NewFile(_)) {
            let path = path.escape_debug();
            return Err(format!(
                "there is no {path}; `fathom devices` lists the block devices"
            ));
        }
        Ok(card(
            examined.facts(),
            inspect_target_with_ioctls(Path::new(&path)),
        ))
    })
}

fn card(facts: &TargetFacts, target: TargetRecording) -> DeviceCard {
    let (headline, lines) = description(facts);
    DeviceCard {
        headline,
        lines,
        standing: standing(facts),
        concerns: concerns(&target),
        sheets: Vec::new(),
        target,
    }
}
