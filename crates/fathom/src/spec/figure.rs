//! One figure of a sheet, measured by a run of its own.

use std::path::Path;

use fathom_cli::SpecArgs;
use fathom_device::spec::{Figure, SheetMeasurement, job};
use fathom_linux::interrupts;
use fathom_model::{DeviceFacts, Personality, RunEnd};
use fathom_plan::{parse_args, plan};

use crate::codes::Codes;
use crate::guard::{self, Backups};
use crate::machine::Contents;
use crate::session::Session;
use crate::spec_compare::measured;
use crate::this_machine::ThisMachine;

/// The result of a run.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Measurement {
    /// Its figures, and the device afterwards.
    Done(SheetMeasurement, Option<DeviceFacts>),
    /// It was interrupted.
    Interrupted,
}

/// Size of a file or device.
///
/// # Errors
/// When it cannot be read or is empty.
pub fn size(session: &Session, path: &Path) -> Result<u64, String> {
    let examined = session
        .examine(path, Contents::Ends)
        .map_err(|error| error.to_string())?;
    let size = match &examined.facts().target {
        fathom_device::Target::File(file) => file.size.get(),
        fathom_device::Target::Block(block) => block.size.get(),
        _ => {
            return Err(format!(
                "{}: only an existing file or device can be measured",
                path.display()
            ));
        }
    };
    if size == 0 {
        Err(format!("{}: the file is empty", path.display()))
    } else {
        Ok(size)
    }
}

/// Runs the job that measures `figure`. The guard judges it like any other.
///
/// # Errors
/// When the job cannot run.
pub fn measure(
    session: &Session,
    figure: &Figure,
    (path, size): (&str, u64),
    args: &SpecArgs,
    (codes, backups): (&mut Codes, &mut Backups),
) -> Result<Measurement, String> {
    let arguments = job(figure, path, size, args.runtime.as_secs() as u32);
    let joined = |problems: Vec<fathom_plan::Diagnostic>| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let invocation = parse_args(&arguments, Personality::Fathom).map_err(joined)?;
    let planned = plan(&invocation, session, &ThisMachine).map_err(joined)?;
    interrupts();
    codes.note(session, &planned.plan);
    let confirmed = guard::Confirmed::codes(codes.all());
    let (load, _) = guard::open_targets(session, &planned.plan, &confirmed, backups)
        .map_err(|all| all.join("; "))?;
    let recorded = crate::measure::measure(load, planned.plan);
    codes.renew(session);
    let (recording, _) = recorded.map_err(|error| error.to_string())?;
    let findings = fathom_analyse::findings(&recording);
    if findings.end != RunEnd::Completed {
        return Ok(Measurement::Interrupted);
    }
    let device = findings
        .targets
        .first()
        .and_then(|target| target.devices.last()?.after.clone());
    let entry = findings.entries.first();
    Ok(Measurement::Done(
        entry.map_or_else(SheetMeasurement::default, |entry| {
            measured(&findings, entry, figure.side, None)
        }),
        device,
    ))
}
