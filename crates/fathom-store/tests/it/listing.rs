//! Pages of runs that the database filters, and one figure over many runs.
#![cfg(feature = "sqlite")]

use fathom_store::{
    CellContent, Experiment, ListFilter, RunId, RunState, SeriesFilter, Store, StoreError,
    StoredCell,
};
use fathom_testkit::Scratch;

/// Runs r1 to r60: every third is of device B, every tenth is invalid, r50 is 100 % "odd_name".
fn store(scratch: &Scratch) -> Store {
    let mut store = Store::open(&scratch.path().join("store.db")).expect("a store");
    for number in 1..=60_u64 {
        let device = if number % 3 == 0 {
            "Model B fw2"
        } else {
            "Model A fw1"
        };
        let run = store
            .begin(&Experiment {
                kind: if number % 2 == 0 { "run" } else { "sweep" }.into(),
                name: if number == 50 {
                    "100% odd_name".into()
                } else {
                    "randread.fio".into()
                },
                facts: vec![
                    ("host".into(), "h1".into()),
                    ("device".into(), device.into()),
                ],
                labels: vec![("ticket".into(), (number % 5).to_string())],
                planned: 1,
                created_unix_ns: number,
                ..Experiment::default()
            })
            .expect("a run");
        let verdicts = if number % 10 == 0 {
            ["valid", "invalid"]
        } else {
            ["valid", "valid"]
        };
        for (position, verdict) in (1..).zip(verdicts) {
            let cell = StoredCell {
                position,
                verdict: verdict.into(),
                figures: vec![
                    ("read iops".into(), number as f64 * 10.0 + position as f64),
                    ("read p99".into(), f64::NAN),
                ],
                ..StoredCell::default()
            };
            store
                .save_cell(run, &cell, &CellContent::Nothing)
                .expect("a cell");
        }
        store
            .finish(run, RunState::Finished, number)
            .expect("an end");
    }
    store
}

fn numbers(store: &mut Store, filter: &ListFilter) -> Vec<u64> {
    store
        .list(filter)
        .expect("a list")
        .iter()
        .map(|listed| listed.run.id.get())
        .collect()
}

#[test]
fn a_list_is_filtered_and_paged_by_the_database() {
    let scratch = Scratch::new().expect("a directory");
    let mut store = store(&scratch);
    let all = ListFilter {
        limit: 500,
        ..ListFilter::default()
    };
    let of = |predicate: &dyn Fn(u64) -> bool| {
        (1..=60)
            .rev()
            .filter(|n| predicate(*n))
            .collect::<Vec<u64>>()
    };
    assert_eq!(store.count().expect("a count"), 60);
    assert_eq!(numbers(&mut store, &ListFilter::default()), of(&|n| n > 10));
    let page = ListFilter {
        before: Some(RunId::new(11)),
        limit: 4,
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &page), [10, 9, 8, 7]);
    let back = ListFilter {
        after: Some(RunId::new(11)),
        limit: 3,
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &back), [12, 13, 14]);
    let kind = ListFilter {
        kind: "sweep".into(),
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &kind), of(&|n| n % 2 == 1));
    let device = ListFilter {
        device: "model b".into(),
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &device), of(&|n| n % 3 == 0));
    let verdict = ListFilter {
        verdict: "invalid".into(),
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &verdict), of(&|n| n % 10 == 0));
    let label = ListFilter {
        labels: vec![("ticket".into(), "3".into())],
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &label), of(&|n| n % 5 == 3));
    let texts = ListFilter {
        texts: vec!["RANDREAD".into(), "fw2".into()],
        ..all.clone()
    };
    assert_eq!(numbers(&mut store, &texts), of(&|n| n % 3 == 0 && n != 50));
    // A wildcard of LIKE is an ordinary character.
    for text in ["%", "100%", "odd_name", "d_n"] {
        let wildcard = ListFilter {
            texts: vec![text.into()],
            ..all.clone()
        };
        assert_eq!(numbers(&mut store, &wildcard), [50], "{text}");
    }
    for nothing in ["' OR 1=1 --", "\\", "\"}", "_______________"] {
        for filter in [
            ListFilter {
                texts: vec![nothing.into()],
                ..all.clone()
            },
            ListFilter {
                device: nothing.into(),
                ..all.clone()
            },
            ListFilter {
                verdict: nothing.into(),
                ..all.clone()
            },
            ListFilter {
                kind: nothing.into(),
                ..all.clone()
            },
        ] {
            let found = numbers(&mut store, &filter);
            // Facts are JSON, which has quotes and braces of its own.
            assert!(
                found.is_empty() || nothing == "\"}" && !filter.texts.is_empty(),
                "{filter:?}: {found:?}"
            );
        }
    }
    let listed = store.list(&verdict).expect("a list").swap_remove(0);
    assert_eq!(
        (listed.run.id.get(), listed.verdict.as_str()),
        (60, "invalid")
    );
    assert_eq!(listed.figures, [("read iops".to_owned(), 601.0)]);
    assert_eq!(
        listed.run.experiment.labels,
        [("ticket".to_owned(), "0".to_owned())]
    );
}

#[test]
fn a_series_is_one_figure_over_runs() {
    let scratch = Scratch::new().expect("a directory");
    let mut store = store(&scratch);
    let filter = SeriesFilter {
        figure: "read iops".into(),
        device: "Model B".into(),
        limit: 4,
        ..SeriesFilter::default()
    };
    let values: Vec<f64> = store
        .series(&filter)
        .expect("a series")
        .iter()
        .map(|point| point.value)
        .collect();
    // The newest two runs of that device, with two cells each, the oldest first.
    assert_eq!(values, [571.0, 572.0, 601.0, 602.0]);
    let named = SeriesFilter {
        figure: "read iops".into(),
        name: "100% odd_name".into(),
        limit: 10,
        ..SeriesFilter::default()
    };
    assert_eq!(store.series(&named).expect("a series").len(), 2);
    let groups = store.fact_groups().expect("groups");
    assert_eq!(
        groups
            .iter()
            .map(|(_, runs, newest)| (*runs, newest.get()))
            .collect::<Vec<_>>(),
        [(20, 60), (40, 59)]
    );
}

#[test]
fn a_reading_connection_changes_nothing_and_notices_changes_of_others() {
    let scratch = Scratch::new().expect("a directory");
    let mut writer = store(&scratch);
    let mut reader = Store::open_existing(&scratch.path().join("store.db")).expect("a store");
    reader.only_reads().expect("a pragma");
    let before = reader.change_mark().expect("a mark");
    assert_eq!(reader.change_mark().expect("a mark"), before);
    writer.remove(RunId::new(1)).expect("it is removed");
    assert_ne!(reader.change_mark().expect("a mark"), before);
    assert_eq!(reader.count().expect("a count"), 59);
    let refused = reader.remove(RunId::new(2));
    assert!(
        matches!(refused, Err(StoreError::ReadOnly { .. })),
        "{refused:?}"
    );
    assert_eq!(writer.count().expect("a count"), 59);
}

/// Regression 1100: the page of trends read 500 whole runs for the names in its menus.
#[test]
fn regression_1100_names_to_choose_from_are_read_alone() {
    let scratch = Scratch::new().expect("a directory");
    let mut store = store(&scratch);
    let all = store.recent_names(500).expect("names");
    assert_eq!(all.runs, ["100% odd_name", "randread.fio"]);
    // p99 has no value in any run.
    assert_eq!(all.figures, ["read iops"]);
    // r51 to r60, after the odd name.
    let newest = store.recent_names(10).expect("names");
    assert_eq!(newest.runs, ["randread.fio"]);
    assert_eq!(newest.figures, ["read iops"]);
}
