//! Why two results of a database differ. The results are made up, so that the answer is known.

use fathom_analyse::{ComparedRun, Costs, Figure, compare, compare_repeats};
use fathom_model::{Direction, Metric};

/// A result of a database: transactions per second and what each cost.
fn result(tps: f64, costs: Costs) -> Vec<ComparedRun> {
    vec![ComparedRun {
        name: "sqlite tpcb-like".to_owned(),
        figures: vec![Figure {
            direction: Direction::Write,
            metric: Metric::Iops,
            value: tps,
            series: Vec::new(),
            spread: None,
        }],
        costs: Some(costs),
        ..ComparedRun::default()
    }]
}

/// 5,000 transactions per second of 200 us: 160 us of CPU time, and a flush of 40 us.
fn plain() -> Costs {
    Costs {
        cpu_ns: 160e3,
        counts: [0.0, 3.3, 1.0],
        each_ns: [0.0, 50e3, 40e3],
        others: Some(3.0),
        stolen: Some(0.1),
    }
}

fn sentence(before: &[ComparedRun], after: &[ComparedRun]) -> String {
    let found = compare(before, after).explanations;
    let [one] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(one.job, "sqlite tpcb-like");
    one.sentence.clone()
}

/// 25 % more CPU time is 40 us, so that a transaction takes 240 us: 4,166 per second, 16.7 % fewer.
#[test]
fn more_cpu_time_with_the_same_io() {
    let slow = Costs {
        cpu_ns: 200e3,
        ..plain()
    };
    let text = sentence(&result(5000.0, plain()), &result(4166.0, slow));
    assert_eq!(
        text,
        "the second result is 17 % slower; more for each transaction: CPU time 200 us in place of 160 us (+25 %); the rest \
         (the other result in brackets): writes 3.30 (3.30), time of a write 50.0 us (50.0 us), flushes 1.00 (1.00), \
         time of a flush 40.0 us (40.0 us), CPUs used by others 3.0 % (3.0 %), \
         CPU time taken by the hypervisor 0.1 % (0.1 %). The same work took more CPU time, as on CPUs with a lower clock or shared \
         with another virtual machine."
    );
    let turned = sentence(&result(4166.0, slow), &result(5000.0, plain()));
    assert!(turned.starts_with(
        "the first result is 17 % slower; more for each transaction: CPU time 200 us"
    ));
}

/// A flush of 160 us in place of 40 us, or four of them in place of one, make 320 us of 200 us.
#[test]
fn slower_flushes_and_more_of_them() {
    let (mut slow, mut many) = (plain(), plain());
    slow.each_ns[2] = 160e3;
    many.counts[2] = 4.0;
    let fast = result(5000.0, plain());
    let text = sentence(&fast, &result(3125.0, slow));
    assert!(
        text.contains(
            "more for each transaction: time of a flush 160 us in place of 40.0 us (4.0 times); the rest"
        ),
        "{text}"
    );
    let text = sentence(&fast, &result(3125.0, many));
    assert!(
        text.contains(
            "more for each transaction: flushes 4.00 in place of 1.00 (4.0 times); the rest"
        ),
        "{text}"
    );
}

#[test]
fn other_programs_and_the_hypervisor_take_cpus() {
    let slow = Costs {
        others: Some(48.0),
        stolen: Some(6.0),
        ..plain()
    };
    let text = sentence(&result(5000.0, plain()), &result(4000.0, slow));
    assert!(
        text.contains(
            "more for each transaction: CPUs used by others 48 % in place of 3.0 %, CPU time taken by the hypervisor 6.0 % in place of 0.1 %;"
        ),
        "{text}"
    );
}

#[test]
fn what_is_not_recorded_is_not_explained() {
    let text = sentence(&result(5000.0, plain()), &result(4000.0, plain()));
    assert!(
        text.starts_with("the second result is 20 % slower, and nothing that is recorded"),
        "{text}"
    );
    assert!(text.contains("CPU time 160 us (160 us)"), "{text}");
}

/// Within 5 % single results agree. Three runs on each side that vary by 10 % agree within their own variation; three that
/// vary by 1 % and differ by 20 % do not.
#[test]
fn results_that_agree_need_no_explanation() {
    let one = |tps: f64| result(tps, plain());
    assert_eq!(compare(&one(5000.0), &one(4800.0)).explanations, []);
    let several = |all: [f64; 3]| all.map(one).to_vec();
    let wide = compare_repeats(
        &several([5000.0, 5500.0, 4500.0]),
        &several([4600.0, 5200.0, 4300.0]),
    );
    assert_eq!(wide.explanations, []);
    let apart = compare_repeats(
        &several([5000.0, 5050.0, 4950.0]),
        &several([4000.0, 4040.0, 3960.0]),
    );
    assert_eq!(apart.explanations.len(), 1);
    // Without costs, as in results of other programs, there is nothing to say.
    let mut other = one(4000.0);
    other[0].costs = None;
    assert_eq!(compare(&one(5000.0), &other).explanations, []);
}
