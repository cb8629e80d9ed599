//! The numbers of the findings: an assigned number keeps its code forever, because people use it in
//! scripts, tickets and reports. A new finding goes to the end of this table; no line of it ever
//! changes.

use fathom_analyse::{by_number, explain};

const ASSIGNED: &[(&str, &str)] = &[
    ("F001", "WORKER_DIED"),
    ("F002", "NOT_CONSERVED"),
    ("F003", "SUMMARY_DISAGREES"),
    ("F004", "VERIFY_FAILED"),
    ("F005", "SHORT_IO"),
    ("F006", "IO_ERROR"),
    ("F007", "TIMED_OUT"),
    ("F008", "TARGET_SHRANK"),
    ("F009", "NOTHING_DONE"),
    ("F010", "GENERATOR_STALL"),
    ("F011", "VERIFY_NOTHING"),
    ("F012", "INTERRUPTED"),
    ("F013", "RAN_SHORT"),
    ("F014", "JOB_SKIPPED"),
    ("F015", "RATE_NOT_REACHED"),
    ("F016", "LATE_ISSUE"),
    ("F017", "DEPTH_NOT_REACHED"),
    ("F018", "SYNC_ENGINE_DEPTH"),
    ("F019", "PAGE_CACHE"),
    ("F020", "FOREIGN_IO"),
    ("F021", "CPU_THROTTLED"),
    ("F022", "STEAL"),
    ("F023", "HOST_BUSY"),
    ("F024", "WORKER_WAITED"),
    ("F025", "TOOL_BOUND"),
    ("F026", "CLOCK_DRIFT"),
    ("F027", "HISTOGRAM_OVERFLOW"),
    ("F028", "CLONES_OVERLAP"),
    ("F029", "JOBS_APART"),
    ("F030", "NOT_STEADY"),
    ("F031", "REPEATED_ADDRESSES"),
    ("F032", "REQUESTS_RESIZED"),
    ("F033", "VOLATILE_CACHE_NO_FLUSH"),
    ("F034", "SOFT_PAYLOAD"),
    ("F035", "FEW_SAMPLES"),
    ("F036", "FIO_BINS_CLAMPED"),
    ("F037", "ENGINE_FALLBACK"),
    ("F038", "DIRECT_NOT_DIRECT"),
    ("F039", "HOLES_READ"),
    ("F040", "TARGET_GONE"),
    ("F041", "LITTLE_DISAGREES"),
    ("F042", "RATE_LIMITED"),
    ("F043", "CEILING_REACHED"),
    ("F044", "PERCENTILE_INFLECTION"),
    ("F045", "SETTINGS_CHANGED"),
    ("F046", "SETTINGS_REDUCED"),
    ("F047", "CACHE_SETTING_DISAGREES"),
    ("F048", "WORKING_SET_CACHED"),
    ("F049", "TOO_HOT"),
    ("F050", "CPU_SLOWED"),
    ("F051", "MEMORY_PRESSURE"),
    ("F052", "WALL_CLOCK_STEPPED"),
    ("F053", "FLUSH_UNPROVEN"),
    ("F054", "MEMORY_BACKED"),
    ("F055", "LOOP_BUFFERED"),
    ("F056", "PER_JOB_FIGURES"),
    ("F057", "ABOVE_LINK"),
    ("F058", "IN_FLIGHT_MISCOUNTED"),
    ("F059", "LINE_CODING_IGNORED"),
    ("F060", "REPLAY_LAG"),
    ("F061", "REPLAY_CUT"),
    ("F062", "HEADROOM_MISJUDGED"),
    ("F063", "PATTERN_MISNAMED"),
    ("F064", "BLOCK_ASSUMED"),
    ("F065", "ATTACHMENT_IN_THE_WAY"),
    ("F066", "PART_NUMBER_DISAGREES"),
    ("F067", "SPEC_MISSED"),
    ("F068", "REPEATS_CACHED"),
    ("F069", "STATE_DIFFERS"),
    ("F070", "LOGS_MISLEAD"),
    ("F071", "NUMBER_MALFORMED"),
    ("F072", "PERCENTILES_AVERAGED"),
    ("F073", "HOST_LOST"),
    ("F074", "TARGET_SHARED"),
    ("F075", "TARGET_STALLED"),
    ("F076", "CELL_CONTRADICTED"),
    ("F077", "LATENCY_ABOVE_CLASS"),
    ("F078", "DEVICE_QUEUE_EXCEEDED"),
    ("F080", "SCHEDULER_WAIT"),
    ("F081", "BEHIND_FLUSHES"),
    ("F082", "BEHIND_OWN_WRITES"),
    ("F083", "REAPED_LATE"),
    ("F084", "HOSTS_APART"),
    ("F085", "HOSTS_DIFFER"),
    ("F086", "HOST_STRAGGLES"),
    ("F088", "BURST_ENDED"),
    ("F089", "SMOOTH_CEILING"),
    ("F090", "CEILING_BY_SIZE"),
    ("F093", "COMMAND_FAILED"),
    ("F094", "PROCESSES_LEFT"),
];

/// Numbers that no finding has yet; one that gets a finding leaves this list.
const UNASSIGNED: &[u32] = &[79, 87, 91, 92];

#[test]
fn finding_numbers_never_change() {
    let now: Vec<_> = by_number().iter().map(|one| (one.id, one.code)).collect();
    assert_eq!(
        now, ASSIGNED,
        "a number or a name changed; new ones are added at the end of both tables"
    );
}

#[test]
fn numbers_are_consecutive_and_codes_unique() {
    let numbers = (1..).filter(|number: &u32| !UNASSIGNED.contains(number));
    for ((id, code), number) in ASSIGNED.iter().zip(numbers) {
        assert_eq!(*id, format!("F{number:03}"));
        assert_eq!(
            ASSIGNED.iter().filter(|other| other.1 == *code).count(),
            1,
            "{code}"
        );
    }
}

#[test]
fn each_is_found_by_number_and_code_in_any_case() {
    for (id, code) in ASSIGNED {
        let by_id = explain(&id.to_lowercase()).expect("by number");
        let by_code = explain(&code.to_lowercase()).expect("by code");
        assert_eq!((by_id.id, by_id.code), (by_code.id, by_code.code));
        assert_eq!((by_id.id, by_id.code), (*id, *code));
        assert!(
            [by_id.meaning, by_id.importance, by_id.remedy]
                .iter()
                .all(|text| text.len() > 10),
            "{id}"
        );
    }
    assert!(explain("F000").is_none());
}
