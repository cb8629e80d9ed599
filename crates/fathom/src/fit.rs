//! `fathom fit`: a device model from results.

use std::collections::BTreeSet;
use std::path::Path;

use fathom_analyse::jobs_of;
use fathom_cli::{FitArgs, StoreSource};
use fathom_fit::{FittedModel, Provenance, fit_model};
use fathom_linux::{OutputName, Outputs};
use fathom_model::ReportSource;

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{note_line, print};
use crate::results::{note_mixture, read_results_with_logs};

/// Fits what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: FitArgs| {
        let model = fitted(&args.results, &args.store)?;
        let mut text = model.text();
        for load in &args.predict {
            text += &model.predictions(f64::from(*load))?;
        }
        let printed = print(&text);
        if let Some(file) = &args.output {
            Outputs::default()
                .write(file, OutputName::Explicit, model.toml().as_bytes())
                .map_err(|error| error.to_string())?;
            note_line!("fathom fit: wrote {}", file.display());
        }
        Ok(printed)
    })
}

/// The model of the device that these results are of.
///
/// # Errors
/// When they cannot be read, are of several devices, or have too few loads.
fn fitted(paths: &[String], store: &StoreSource) -> Result<FittedModel, String> {
    let mut results = Vec::new();
    for path in paths {
        let found = read_results_with_logs(&|_| false, std::slice::from_ref(path), store)?;
        refuse_several(path, &found)?;
        results.extend(found);
    }
    note_mixture("fathom fit", &results);
    let texts = |of: fn(&ReportSource) -> &String| -> Vec<String> {
        let all: BTreeSet<&String> = results.iter().map(of).collect();
        all.into_iter()
            .filter(|text| !text.is_empty())
            .cloned()
            .collect()
    };
    let devices = texts(|result| &result.subject.device);
    let provenance = Provenance {
        device: match devices.as_slice() {
            [one] => one.clone(),
            _ => String::new(),
        },
        results: paths.to_vec(),
        dates: texts(|result| &result.subject.date),
        program: format!("fathom {}", env!("CARGO_PKG_VERSION")),
    };
    let mut cells = jobs_of(&results);
    // All results are of one device, whatever their files are called.
    for cell in &mut cells {
        cell.source.clear();
    }
    fit_model(&cells, provenance)
}

/// Curves of several devices are not one model.
fn refuse_several(path: &str, found: &[ReportSource]) -> Result<(), String> {
    let names: BTreeSet<&str> = found.iter().map(|result| result.source.as_str()).collect();
    if Path::new(path).is_dir() && names.len() > 1 {
        let names: Vec<&str> = names.into_iter().collect();
        return Err(format!(
            "{path} has results of several devices ({}); fit the directory of one device at a time",
            names.join(", ")
        ));
    }
    Ok(())
}
