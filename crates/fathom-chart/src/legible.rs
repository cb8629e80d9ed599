//! Whether words can be read: none beyond the edge of the picture, none upon another.

use fathom_analyse::chart;

use crate::font::width;
use crate::picture::{Frame, svg};
use crate::stage::Stage;

#[path = "../tests/scenes/mod.rs"]
mod scenes;

/// A word in a picture: left, top, right, bottom.
struct Word {
    text: String,
    place: [f32; 4],
}

/// The words of a picture that stand level.
fn words(svg: &str) -> Vec<Word> {
    svg.split("<text ")
        .skip(1)
        .filter_map(|rest| {
            let (head, rest) = rest.split_once('>')?;
            let text = rest
                .split("</text>")
                .next()?
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            let part = |name: &str| head.split_once(name).map(|(_, rest)| rest);
            let size: f32 = part("font-size:")
                .and_then(|rest| rest.split("px").next())
                .and_then(|size| size.parse().ok())
                .unwrap_or(12.0);
            let moved = part("translate(")
                .and_then(|rest| rest.split(')').next())
                .unwrap_or("0 0");
            let number = |name: &str| {
                part(name)
                    .and_then(|rest| rest.split('"').next())
                    .and_then(|number| number.parse::<f32>().ok())
                    .unwrap_or(0.0)
            };
            let mut moved = moved
                .split(' ')
                .filter_map(|number| number.parse::<f32>().ok());
            let (x, y) = (
                moved.next().unwrap_or(0.0) + number(" x=\""),
                moved.next().unwrap_or(0.0) + number(" y=\""),
            );
            if head.contains("rotate(") || head.contains("matrix(") {
                return None;
            }
            let wide = width(&text, size, head.contains("bold"));
            let left = if head.contains("anchor=\"middle") {
                x - wide / 2.0
            } else if head.contains("anchor=\"end") {
                x - wide
            } else {
                x
            };
            // What is not centred stands on its line; the letters are about 0.7 em tall.
            let middle = if head.contains("central") {
                y
            } else {
                y - size * 0.35
            };
            Some(Word {
                text,
                place: [
                    left,
                    middle - size * 0.35,
                    left + wide,
                    middle + size * 0.35,
                ],
            })
        })
        .collect()
}

fn troubles(svg: &str, wide: f32) -> Vec<String> {
    let all = words(svg);
    let beyond = all
        .iter()
        .filter(|word| word.place[0] < -1.0 || word.place[2] > wide + 1.0)
        .map(|word| format!("'{}' goes over the edge", word.text));
    let mut found: Vec<String> = beyond.collect();
    for (n, a) in all.iter().enumerate() {
        for b in &all[n + 1..] {
            let [l, t, r, u] = a.place;
            let [bl, bt, br, bu] = b.place;
            if l.max(bl) + 1.0 < r.min(br) && t.max(bt) + 1.0 < u.min(bu) {
                found.push(format!("'{}' lies upon '{}'", a.text, b.text));
            }
        }
    }
    found
}

#[test]
fn words_lie_apart_on_a_phone_and_in_print() {
    let Ok(stage) = Stage::new() else {
        eprintln!("SKIP: words_lie_apart_on_a_phone_and_in_print: this build has no chart script");
        return;
    };
    let mut found = Vec::new();
    for (name, kind, jobs, wish) in scenes::scenes() {
        let made = chart(kind, &jobs, &wish).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (width, height) in [(375, 400), (1000, 600)] {
            let drawn = svg(
                &made,
                &Frame {
                    width,
                    height,
                    ..Frame::default()
                },
                &stage,
            )
            .expect("a picture");
            found.extend(
                troubles(&drawn, width as f32)
                    .into_iter()
                    .map(|what| format!("{name}, {width} wide: {what}")),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_lies_upon_another_is_seen() {
    let one = |x: u32, text: &str| {
        format!(
            "<text dominant-baseline=\"central\" style=\"font-size:12px\" transform=\"translate({x} 20)\" fill=\"#000\">{text}</text>"
        )
    };
    assert_eq!(
        troubles(&(one(0, "aaaa") + &one(10, "bb")), 100.0),
        ["'aaaa' lies upon 'bb'"]
    );
    assert_eq!(
        troubles(&one(90, "aaaa"), 100.0),
        ["'aaaa' goes over the edge"]
    );
    assert!(troubles(&(one(0, "aa") + &one(50, "bb")), 100.0).is_empty());
}
