//! Mounts a fault device and serves it until it is interrupted or unmounted.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_testkit::{COMMANDS, ControlCommand, DeviceOptions, FaultDevice};

const USAGE: &str = "\
usage: fault-device MOUNTPOINT [--size BYTES[K|M|G]] [--read-us N] [--write-us N] [--sync-us N]
                    [--do COMMAND]...

Serves MOUNTPOINT/device until SIGINT, SIGTERM or an unmount. Write commands to
MOUNTPOINT/control, read the counters from it and the operations from MOUNTPOINT/log.
--do runs a command at the start. Commands:
";

fn main() -> ExitCode {
    match serve(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "fault-device: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: Vec<String>) -> Result<(), String> {
    if args.is_empty() || args.iter().any(|a| a == "--help" || a == "-h") {
        return Err(format!("\n{USAGE}{COMMANDS}"));
    }
    let (options, commands) = parse(&args)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(|e| e.to_string())?;
    }
    let device = FaultDevice::mount_after(options, |core| {
        commands
            .iter()
            .try_for_each(|command| command.apply(core))
            .map_err(std::io::Error::other)
    })
    .map_err(|error| error.to_string())?;
    while !stop.load(Ordering::Relaxed) && !device.is_unmounted() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let injected = device.counts().injected();
    device.unmount().map_err(|e| e.to_string())?;
    let _ = writeln!(std::io::stdout(), "injected {injected}");
    Ok(())
}

fn parse(args: &[String]) -> Result<(DeviceOptions, Vec<ControlCommand>), String> {
    let mut options = DeviceOptions::default();
    let mut commands = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--size" => options.size = bytes(value()?)?,
            "--read-us" => options.latency.read_us = number(value()?)?,
            "--write-us" => options.latency.write_us = number(value()?)?,
            "--sync-us" => options.latency.sync_us = number(value()?)?,
            "--do" => commands.push(parse_command(value()?)?),
            _ if arg.starts_with('-') => return Err(format!("unknown option `{arg}`\n{USAGE}")),
            _ => options.mountpoint = Some(arg.into()),
        }
    }
    if options.mountpoint.is_none() {
        return Err(format!("no mount point given\n{USAGE}"));
    }
    Ok((options, commands))
}

fn parse_command(line: &str) -> Result<ControlCommand, String> {
    line.parse()
        .map_err(|error: fathom_testkit::CommandError| error.to_string())
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("invalid number `{text}`"))
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let size: u64 = number(digits)?;
    size.checked_mul(1 << shift)
        .ok_or_else(|| format!("{text} is too large"))
}
