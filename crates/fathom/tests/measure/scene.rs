//! A scene, its attempts, and the judgement of all of them.

use std::cell::Cell;

use fathom_testkit::Need;

use crate::machine::Watch;

/// Fewer attempts decide nothing.
pub const MIN_ATTEMPTS: u32 = 20;
/// Of the judged attempts of a scene, so many percent must be right.
const MIN_RIGHT_PERCENT: u32 = 95;
/// Of all attempts of a scene, at most so many percent may be disturbed.
const MAX_UNJUDGED_PERCENT: u32 = 5;
/// A wrong answer that the program gives as a fact begins with this.
pub const WRONG_FACT: &str = "wrong as a fact: ";
/// Reasons that are printed of each scene.
const MAX_REASONS: usize = 5;

/// One attempt.
pub enum Attempt {
    /// Right, or wrong with the reason.
    Check(fn() -> Result<(), String>),
    /// A figure, such as a ratio; its median over all attempts must lie between the bounds.
    Figure {
        measure: fn() -> Result<f64, String>,
        from: f64,
        to: f64,
    },
}

/// What is measured.
pub struct Scene {
    pub name: &'static str,
    pub needs: &'static [Need],
    pub attempt: Attempt,
    /// Other load may not change its outcome, so that every attempt is judged.
    pub is_robust: bool,
}

impl Scene {
    /// A scene whose attempts are right or wrong.
    pub const fn check(
        name: &'static str,
        needs: &'static [Need],
        attempt: fn() -> Result<(), String>,
    ) -> Scene {
        Scene {
            name,
            needs,
            attempt: Attempt::Check(attempt),
            is_robust: false,
        }
    }

    /// The same whatever else the machine does.
    pub const fn robust(self) -> Scene {
        Scene {
            is_robust: true,
            ..self
        }
    }
}

/// The judgement of a scene.
pub struct Judged {
    pub name: &'static str,
    pub attempts: u32,
    pub right: u32,
    pub wrong: u32,
    pub disturbed: u32,
    /// Wrong answers that the program gave as a fact; one of them fails the scene.
    pub wrong_facts: u32,
    /// The median of the figures, with its bounds.
    pub median: Option<(f64, f64, f64)>,
    /// Why attempts were wrong or disturbed, or why the scene could not run.
    pub reasons: Vec<String>,
}

impl Judged {
    fn is_judged(&self) -> bool {
        self.attempts >= MIN_ATTEMPTS
            && self.disturbed * 100 <= self.attempts * MAX_UNJUDGED_PERCENT
    }

    pub fn has_passed(&self) -> bool {
        let judged = self.right + self.wrong;
        let is_right = match self.median {
            Some((median, from, to)) => self.wrong == 0 && (from..=to).contains(&median),
            None => self.right * 100 >= judged * MIN_RIGHT_PERCENT,
        };
        self.is_judged() && is_right && self.wrong_facts == 0
    }

    pub fn verdict(&self) -> &'static str {
        match (self.is_judged(), self.has_passed()) {
            (true, true) => "pass",
            (true, false) => "FAIL",
            (false, _) => "NOT JUDGED",
        }
    }
}

/// The message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

thread_local! {
    /// The number of the attempt that this thread makes.
    static ATTEMPT: Cell<usize> = const { Cell::new(0) };
}

/// One of several cases, in turn from attempt to attempt: 20 short attempts see more of the machine than one long one, and less of
/// each is lost where the machine stands still.
pub fn next_case<T: Copy>(cases: &[T]) -> T {
    cases[ATTEMPT.get() % cases.len()]
}

/// The result of one attempt; a failed assertion in it is a wrong attempt. Its thread may change its priority.
fn run<T: Send + 'static>(number: usize, attempt: fn() -> Result<T, String>) -> Result<T, String> {
    let attempt = move || {
        ATTEMPT.set(number);
        attempt()
    };
    let ended = std::thread::spawn(attempt).join();
    ended.unwrap_or_else(|payload| Err(message(payload.as_ref())))
}

/// Attempts a scene so many times and judges it.
pub fn judge(scene: &Scene, attempts: u32) -> Judged {
    let mut judged = Judged {
        name: scene.name,
        attempts: 0,
        right: 0,
        wrong: 0,
        disturbed: 0,
        wrong_facts: 0,
        median: None,
        reasons: Vec::new(),
    };
    let missing = scene.needs.iter().find_map(|need| need.check().err());
    if let Some(why) = missing {
        judged.reasons.push(why.to_string());
        return judged;
    }
    let mut figures = Vec::new();
    for number in 0..attempts as usize {
        judged.attempts += 1;
        let watch = Watch::start();
        let result = match scene.attempt {
            Attempt::Check(attempt) => run(number, attempt).map(|()| None),
            Attempt::Figure { measure, .. } => run(number, measure).map(Some),
        };
        let disturbance = watch.disturbance().filter(|_| !scene.is_robust);
        match (disturbance, result) {
            (Some(why), result) => {
                judged.disturbed += 1;
                let outcome = result.map_or_else(|wrong| format!("; {wrong}"), |_| String::new());
                judged.reasons.push(format!("disturbed: {why}{outcome}"));
            }
            (None, Ok(figure)) => {
                judged.right += 1;
                figures.extend(figure);
            }
            (None, Err(why)) => {
                judged.wrong += 1;
                judged.wrong_facts += u32::from(why.starts_with(WRONG_FACT));
                judged
                    .reasons
                    .push(why.lines().next().unwrap_or_default().to_owned());
            }
        }
    }
    judged.reasons.truncate(MAX_REASONS);
    if let Attempt::Figure { from, to, .. } = scene.attempt {
        judged.median = median(figures).map(|median| (median, from, to));
    }
    judged
}

/// The middle one, or the mean of the two in the middle.
fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let (low, high) = (figures.len().checked_sub(1)? / 2, figures.len() / 2);
    Some(f64::midpoint(figures[low], figures[high]))
}

/// An error unless `actual` is within `tolerance` of `expected`.
pub fn check_near(what: &str, actual: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (actual - expected).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!(
            "{what}: {actual} instead of {expected} +- {tolerance}"
        ))
    }
}
