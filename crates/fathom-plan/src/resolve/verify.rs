//! How data is verified when it is read back.

use std::path::PathBuf;

use fathom_model::{Direction, Pattern, Verify, VerifyKind};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use super::payload::pattern;
use crate::diagnostic::Diagnostic;
use crate::options::table as opt;
use crate::options::{JobOption, Switch};

/// Bytes of the header in front of verified data.
const HEADER: u32 = 40;

/// The requested method: `verify`, or a pattern alone.
pub(crate) fn kind(view: &JobView<'_>) -> Option<VerifyKind> {
    if !view.settings.is_set(opt::VERIFY) {
        let unnamed = || verifies_without_method(view).then_some(VerifyKind::Fathom);
        return view
            .settings
            .is_set(opt::VERIFY_PATTERN)
            .then_some(VerifyKind::Pattern)
            .or_else(unnamed);
    }
    Some(match view.settings.get(opt::VERIFY) {
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

/// `fathom run` chooses the method where the job verifies but names none; fio does not verify then.
fn verifies_without_method(view: &JobView<'_>) -> bool {
    let settings = view.settings;
    let on = |option| settings.given(option) == Some(true);
    !view.is_fio()
        && (on(opt::DO_VERIFY)
            || on(opt::VERIFY_ONLY)
            || on(opt::VERIFY_FATAL)
            || settings.get(opt::VERIFY_BACKLOG) > 0)
}

/// Resolves verification; `None` when nothing is verified.
pub(crate) fn resolve(
    view: &JobView<'_>,
    io: &Pattern,
    diagnostics: &mut Diagnostics,
) -> Option<Verify> {
    let kind = kind(view)?;
    let settings = view.settings;
    let interval = interval(view, io);
    let header_offset = settings.get_u32(opt::VERIFY_OFFSET);
    if kind == VerifyKind::Fathom {
        check_sectors(view, io, diagnostics);
    } else {
        check_header(view, kind, header_offset, interval, diagnostics);
    }
    let pattern = Some(pattern(view, opt::VERIFY_PATTERN))
        .filter(|parts| !parts.is_empty())
        .unwrap_or_else(|| pattern(view, opt::BUFFER_PATTERN));
    if matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHeader) && pattern.is_empty() {
        diagnostics.push(
            view.error(opt::VERIFY, "needs a pattern")
                .advise("set verify_pattern"),
        );
    }
    let backlog = settings.get(opt::VERIFY_BACKLOG);
    let only = settings.get(opt::VERIFY_ONLY);
    let verify = Verify {
        kind,
        after_writes: settings.get(opt::DO_VERIFY),
        fatal: settings.get(opt::VERIFY_FATAL),
        pattern,
        pattern_interval: settings.get_u32(opt::VERIFY_PATTERN_INTERVAL),
        interval,
        header_offset,
        dump: settings.get(opt::VERIFY_DUMP),
        only,
        backlog,
        backlog_batch: Some(settings.get(opt::VERIFY_BACKLOG_BATCH))
            .filter(|n| *n > 0)
            .unwrap_or(backlog),
        threads: settings.get_u32(opt::VERIFY_ASYNC),
        thread_cpus: thread_cpus(view),
        write_sequence: checked(view, opt::VERIFY_WRITE_SEQUENCE, only),
        header_seed: checked(view, opt::VERIFY_HEADER_SEED, only || !writes(io)),
        // A state file is saved only where requested, except in the fio personality.
        state_save: settings.get(opt::VERIFY_STATE_SAVE)
            && (view.is_fio() || settings.is_set(opt::VERIFY_STATE_SAVE)),
        // The name is filled in when the number of the job is known.
        state_load: settings.get(opt::VERIFY_STATE_LOAD).then(PathBuf::new),
        only_fsynced: settings.get(opt::VERIFY_POLICY) == "fsynced",
    };
    diagnostics.extend(warnings(view, &verify, io));
    Some(verify)
}

/// CPUs of the verification threads.
fn thread_cpus(view: &JobView<'_>) -> Vec<u32> {
    let cpus = view.settings.given(opt::VERIFY_ASYNC_CPUS);
    cpus.unwrap_or_default().to_vec()
}

fn writes(io: &Pattern) -> bool {
    io.traffic.uses(Direction::Write)
}

/// A check that is on by default unless the load makes it impossible.
fn checked(view: &JobView<'_>, option: JobOption<Switch>, impossible: bool) -> bool {
    view.settings.given(option).unwrap_or(!impossible)
}

/// The interval as fio adjusts it: at most the smallest write, and a divisor of the smallest and the largest.
fn interval(view: &JobView<'_>, io: &Pattern) -> u32 {
    let sizes = &io.block_size[Direction::Write];
    let (min, max) = (sizes.min(), sizes.max());
    let wanted = view.settings.get_u32(opt::VERIFY_INTERVAL);
    let interval = if wanted == 0 && min != max {
        min
    } else {
        wanted.min(min)
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
    view: &JobView<'_>,
    kind: VerifyKind,
    offset: u32,
    interval: u32,
    diagnostics: &mut Diagnostics,
) {
    if kind == VerifyKind::Pattern
        || kind == VerifyKind::Null
        || u64::from(offset) + u64::from(HEADER) <= u64::from(interval)
    {
        return;
    }
    let problem = format!(
        "the header of {HEADER} bytes at offset {offset} does not fit into an interval of {interval} bytes"
    );
    let option = if view.settings.is_set(opt::VERIFY_OFFSET) {
        opt::VERIFY_OFFSET.name()
    } else {
        opt::VERIFY.name()
    };
    diagnostics.push(
        view.error(option, problem)
            .advise("use larger blocks, or a smaller verify_offset"),
    );
}

/// The stamps of verify=fathom have a fixed location: one in each sector.
fn check_sectors(view: &JobView<'_>, io: &Pattern, diagnostics: &mut Diagnostics) {
    for option in [opt::VERIFY_INTERVAL, opt::VERIFY_OFFSET] {
        if view.settings.is_set(option) {
            let problem =
                "belongs to the methods of fio; verify=fathom stamps each sector of 512 bytes";
            diagnostics.push(
                view.error(option, problem)
                    .advise("leave it out, or use a method of fio, such as verify=crc32c"),
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
        let problem = "verify=fathom needs blocks of whole 512-byte sectors";
        let option = if io.unaligned {
            opt::BS_UNALIGNED.name()
        } else {
            opt::BS.name()
        };
        diagnostics.push(
            view.error(option, problem)
                .advise("use a multiple of 512, or a method of fio, such as verify=crc32c"),
        );
    }
    let largest = Direction::ALL
        .into_iter()
        .map(|direction| io.block_size[direction].max())
        .max()
        .unwrap_or(0);
    if largest > 512 * u32::from(u16::MAX) {
        diagnostics.push(
            view.error(opt::BS, "verify=fathom supports blocks below 32 MiB")
                .advise("use smaller blocks"),
        );
    }
}

fn warnings(view: &JobView<'_>, verify: &Verify, io: &Pattern) -> Vec<Diagnostic> {
    let settings = view.settings;
    let mut warnings = Vec::new();
    let shared = settings.is_set(opt::FILENAME);
    if writes(io) && verify.after_writes && settings.get(opt::NUMJOBS) > 1 && shared {
        let problem =
            "several clones write the same file and may overwrite what another one verifies";
        warnings.push(
            view.warning(opt::VERIFY, problem)
                .advise("leave filename out, or use offset_increment"),
        );
    }
    warnings
}
