//! What is checked when data is read back.

use std::path::PathBuf;

use fathom_model::{Direction, Pattern, Verify, VerifyKind};

use super::job::View;
use super::payload::pattern;
use super::report::Report;
use crate::diagnostic::Diagnostic;
use crate::values::Value;

/// Bytes of the header in front of verified data.
const HEADER: u32 = 40;

/// The method asked for: `verify`, or a pattern alone.
pub(crate) fn kind(view: &View<'_>) -> Option<VerifyKind> {
    if !view.settings.is_set("verify") {
        let unnamed = || asks_without_naming(view).then_some(VerifyKind::Fathom);
        return view
            .settings
            .is_set("verify_pattern")
            .then_some(VerifyKind::Pattern)
            .or_else(unnamed);
    }
    Some(match view.settings.choice("verify", "0").0 {
        "md5" => VerifyKind::Md5,
        "crc64" => VerifyKind::Crc64,
        "crc32c" => VerifyKind::Crc32c,
        "crc32c-intel" => VerifyKind::Crc32cIntel,
        "crc32" => VerifyKind::Crc32,
        "crc16" => VerifyKind::Crc16,
        "crc7" => VerifyKind::Crc7,
        "xxhash" => VerifyKind::Xxhash,
        "sha1" => VerifyKind::Sha1,
        "sha256" => VerifyKind::Sha256,
        "sha512" => VerifyKind::Sha512,
        "sha3-224" => VerifyKind::Sha3_224,
        "sha3-256" => VerifyKind::Sha3_256,
        "sha3-384" => VerifyKind::Sha3_384,
        "sha3-512" => VerifyKind::Sha3_512,
        "meta" => VerifyKind::Meta,
        "pattern" => VerifyKind::Pattern,
        "pattern_hdr" => VerifyKind::PatternHeader,
        "null" => VerifyKind::Null,
        "fathom" => VerifyKind::Fathom,
        _ => return None,
    })
}

/// `fathom run` chooses the method where the job asks for a check and names none; fio does nothing then.
fn asks_without_naming(view: &View<'_>) -> bool {
    let settings = view.settings;
    let on = |name| settings.is_set(name) && settings.switch(name);
    !view.is_fio()
        && (on("do_verify")
            || on("verify_only")
            || on("verify_fatal")
            || settings.number("verify_backlog", 0) > 0)
}

/// Resolves the check; `None` when nothing is checked.
pub(crate) fn resolve(view: &View<'_>, io: &Pattern, report: &mut Report) -> Option<Verify> {
    let kind = kind(view)?;
    let settings = view.settings;
    let interval = interval(view, io);
    let header_offset = settings.small("verify_offset", 0);
    if kind == VerifyKind::Fathom {
        check_sectors(view, io, report);
    } else {
        check_header(view, kind, header_offset, interval, report);
    }
    let pattern = Some(pattern(view, "verify_pattern"))
        .filter(|parts| !parts.is_empty())
        .unwrap_or_else(|| pattern(view, "buffer_pattern"));
    if matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHeader) && pattern.is_empty() {
        report.push(
            view.error("verify", "has no pattern to compare with")
                .advise("set verify_pattern"),
        );
    }
    let backlog = settings.number("verify_backlog", 0);
    let only = settings.switch("verify_only");
    let verify = Verify {
        kind,
        after_writes: settings.switch("do_verify"),
        fatal: settings.switch("verify_fatal"),
        pattern,
        pattern_interval: settings.small("verify_pattern_interval", 0),
        interval,
        header_offset,
        dump: settings.switch("verify_dump"),
        only,
        backlog,
        backlog_batch: Some(settings.number("verify_backlog_batch", 0))
            .filter(|n| *n > 0)
            .unwrap_or(backlog),
        threads: settings.small("verify_async", 0),
        thread_cpus: thread_cpus(view),
        write_sequence: checked(view, "verify_write_sequence", only || unordered(view, io)),
        header_seed: checked(
            view,
            "verify_header_seed",
            only || !writes(io) || backlog > 0 || !io.without_replacement,
        ),
        // A file beside the results is left only where asked for, save in fio's place.
        state_save: settings.switch("verify_state_save")
            && (view.is_fio() || settings.is_set("verify_state_save")),
        // The plan fills in the name once it knows the job's number.
        state_load: settings.switch("verify_state_load").then(PathBuf::new),
        only_fsynced: settings.choice("verify_policy", "completed").0 == "fsynced",
    };
    report.extend(doubts(view, &verify, io));
    Some(verify)
}

/// CPUs of the threads that check.
fn thread_cpus(view: &View<'_>) -> Vec<u32> {
    match view
        .settings
        .last("verify_async_cpus")
        .map(|setting| &setting.value)
    {
        Some(Value::Cpus(cpus)) => cpus.clone(),
        _ => Vec::new(),
    }
}

fn writes(io: &Pattern) -> bool {
    io.traffic.uses(Direction::Write)
}

/// Whether writes may come in another order than their numbers.
fn unordered(view: &View<'_>, io: &Pattern) -> bool {
    view.settings.number("iodepth", 1) > 1 && !io.without_replacement
}

/// A check that is on unless the load makes it impossible; setting it says otherwise.
fn checked(view: &View<'_>, option: &'static str, impossible: bool) -> bool {
    if view.settings.is_set(option) {
        view.settings.switch(option)
    } else {
        !impossible
    }
}

/// As fio adjusts it: at most the smallest write, and a divisor of the smallest and the largest.
fn interval(view: &View<'_>, io: &Pattern) -> u32 {
    let sizes = &io.block_size[Direction::Write];
    let (min, max) = (sizes.min(), sizes.max());
    let asked = view.settings.small("verify_interval", 0);
    let interval = if asked == 0 && min != max {
        min
    } else {
        asked.min(min)
    };
    if interval == 0 || min % interval != 0 || max % interval != 0 {
        gcd(min, max)
    } else {
        interval
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn check_header(
    view: &View<'_>,
    kind: VerifyKind,
    offset: u32,
    interval: u32,
    report: &mut Report,
) {
    if kind == VerifyKind::Pattern
        || kind == VerifyKind::Null
        || u64::from(offset) + u64::from(HEADER) <= u64::from(interval)
    {
        return;
    }
    let problem = format!(
        "the header of {HEADER} bytes at {offset} does not fit into a piece of {interval} bytes"
    );
    let option = if view.settings.is_set("verify_offset") {
        "verify_offset"
    } else {
        "verify"
    };
    report.push(
        view.error(option, problem)
            .advise("use larger blocks, or a smaller verify_offset"),
    );
}

/// Our stamps have their own place: one in each sector.
fn check_sectors(view: &View<'_>, io: &Pattern, report: &mut Report) {
    for option in ["verify_interval", "verify_offset"] {
        if view.settings.is_set(option) {
            let problem = "belongs to fio's formats; verify=fathom stamps each sector of 512 bytes";
            report.push(
                view.error(option, problem)
                    .advise("leave it out, or name one of fio's methods, such as verify=crc32c"),
            );
        }
    }
    let used = Direction::ALL
        .into_iter()
        .filter(|direction| io.traffic.uses(*direction));
    let odd = used
        .map(|direction| io.block_size[direction].min())
        .find(|size| size % 512 != 0);
    if odd.is_some() || io.unaligned {
        let problem = "verify=fathom needs blocks of whole sectors of 512 bytes";
        let option = if io.unaligned { "bs_unaligned" } else { "bs" };
        report.push(
            view.error(option, problem)
                .advise("use a multiple of 512, or one of fio's methods, such as verify=crc32c"),
        );
    }
    let largest = Direction::ALL
        .into_iter()
        .map(|direction| io.block_size[direction].max())
        .max()
        .unwrap_or(0);
    if largest > 512 * u32::from(u16::MAX) {
        report.push(
            view.error("bs", "verify=fathom stamps blocks of less than 32 MiB")
                .advise("use smaller blocks"),
        );
    }
}

fn doubts(view: &View<'_>, verify: &Verify, io: &Pattern) -> Vec<Diagnostic> {
    let settings = view.settings;
    let mut doubts = Vec::new();
    let shared = settings.is_set("filename");
    if writes(io) && verify.after_writes && settings.number("numjobs", 1) > 1 && shared {
        let problem =
            "several clones write the same file and may overwrite what another one checks";
        doubts.push(
            view.warning("verify", problem)
                .advise("leave filename out, or use offset_increment"),
        );
    }
    let never = settings.switch("time_based") && settings.number("runtime", 0) > 0;
    let ends = verify.kind == VerifyKind::Fathom;
    if io.traffic == fathom_model::Traffic::Write
        && verify.after_writes
        && never
        && verify.backlog == 0
        && !ends
    {
        let problem = "nothing is read back: the writes take the whole runtime";
        doubts.push(
            view.warning("verify", problem)
                .advise("leave time_based out, or set verify_backlog"),
        );
    }
    doubts
}
