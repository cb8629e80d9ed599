//! The option table compared with the option names of fio's development version, as lists in
//! `fixtures/`.

use std::collections::BTreeSet;

use fathom_plan::{Kind, Support, find, option_help, options};

fn list(text: &'static str) -> BTreeSet<&'static str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_core_option_of_fio_has_one_row() {
    let expected = list(include_str!("../fixtures/core_options.txt"));
    let ours: Vec<&str> = options()
        .filter(|row| row.engines.is_empty())
        .map(|row| row.name)
        .collect();
    assert_eq!(expected.len(), 251);
    assert_eq!(ours.len(), 251, "a name has two rows");
    assert_eq!(ours.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn every_private_option_of_fio_has_one_row() {
    // `size` of the tiobench profile has the row of the core option.
    let expected: BTreeSet<&str> = list(include_str!("../fixtures/engine_options.txt"))
        .into_iter()
        .filter(|name| *name != "size")
        .collect();
    let ours: Vec<&str> = options()
        .filter(|row| !row.engines.is_empty())
        .map(|row| row.name)
        .collect();
    assert_eq!(ours.len(), expected.len(), "a name has two rows");
    assert_eq!(ours.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn every_alias_of_fio_leads_to_its_option() {
    for line in list(include_str!("../fixtures/aliases.txt")) {
        let (alias, name) = line.split_once('=').expect("alias=name");
        assert_eq!(find(alias).map(|row| row.name), Some(name), "{alias}");
    }
}

#[test]
fn rows_are_complete() {
    for row in options() {
        assert!(
            !row.help.is_empty() && !row.help.ends_with('.'),
            "{}",
            row.name
        );
        match row.support {
            Support::NoEffect { why } => assert!(!why.is_empty(), "{}", row.name),
            Support::Refused { instead } => assert!(!instead.is_empty(), "{}", row.name),
            Support::Honoured => {}
        }
        if let Kind::Choice(choices) | Kind::ChoiceWith(choices) = row.kind {
            assert!(!choices.is_empty(), "{}", row.name);
        }
        assert!(option_help(row).contains(row.name));
    }
}

/// The default of each row is a valid value of the row.
#[test]
fn defaults_are_valid() {
    for row in options() {
        let Some(default) = row.default else { continue };
        let mut reading = fathom_plan::ParseContext::new(fathom_model::Personality::Fathom, 4);
        let value = fathom_plan::read_value(row, Some(default), &mut reading);
        assert!(
            value.is_ok() || row.min.is_some_and(|min| min > 0),
            "{}={default}: {value:?}",
            row.name
        );
    }
}

/// The options that make up 90 % of the job files in public repositories.
#[test]
fn the_common_options_are_honoured_or_harmless() {
    let common = "rw bs bsrange bssplit ba size io_size filesize offset offset_increment loops rwmixread rwmixwrite random_distribution \
        percentage_random randrepeat randseed allrandrepeat norandommap random_generator filename directory filename_format nrfiles openfiles \
        file_service_type create_on_open create_serialize overwrite unlink fallocate fadvise_hint invalidate ioengine iodepth iodepth_batch \
        iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low direct buffered sync fsync fdatasync end_fsync fsync_on_close numjobs \
        thread stonewall wait_for new_group group_reporting exitall exit_what startdelay cpus_allowed cpus_allowed_policy clocksource \
        gtod_reduce disable_lat disable_clat disable_slat name description kb_base runtime time_based ramp_time rate rate_iops rate_process \
        thinktime thinktime_blocks refill_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk verify do_verify verify_fatal \
        verify_pattern verify_dump write_bw_log write_iops_log write_lat_log log_avg_msec per_job_logs log_window_value write_hist_log \
        log_hist_msec percentile_list";
    for name in common.split_whitespace() {
        let row = find(name).unwrap_or_else(|| panic!("{name} has no row"));
        assert!(!matches!(row.support, Support::Refused { .. }), "{name}");
    }
}

/// Feature probes of scripts: `--cmdhelp=zonemode | grep zbd`, `--enghelp | grep -w libaio`,
/// `--help | grep json+`.
#[test]
fn help_supports_the_feature_probes_of_scripts() {
    assert!(fathom_plan::command_help(Some("zonemode")).is_ok_and(|text| text.contains("zbd")));
    assert!(
        fathom_plan::engine_help(None)
            .is_ok_and(|text| text.lines().any(|line| line.trim() == "libaio"))
    );
    assert!(
        fathom_plan::engine_help(Some("io_uring,hipri")).is_ok_and(|text| text.contains("Polled"))
    );
    assert!(fathom_plan::help_text("fio", fathom_model::Personality::Fio).contains("json+"));
    // Scripts that write to devices need it in both.
    assert!(fathom_plan::help_text("fio", fathom_model::Personality::Fio).contains("--destroy"));
    assert_eq!(
        fathom_plan::command_help(None)
            .expect("a list")
            .lines()
            .count(),
        251
    );
    assert!(
        fathom_plan::command_help(Some("iodpeth"))
            .is_err_and(|problem| problem.to_string().contains("iodepth"))
    );
    assert!(fathom_plan::engine_help(Some("nbd")).is_err());
}

#[test]
fn the_compatibility_document_is_current() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/fio-compatibility.md"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, fathom_plan::compatibility()).expect("the document can be written");
    }
    let written = std::fs::read_to_string(path).expect("the document can be read");
    assert!(
        written == fathom_plan::compatibility(),
        "the option table has changed: run this test with UPDATE_GOLDEN=1"
    );
}
