//! Checks that texts are readable: none extends past the edge of the image, none overlaps another.

use fathom_analyse::chart;

use crate::font::width;
use crate::frame::Frame;
use crate::picture::svg;
use crate::renderer::Renderer;

#[path = "../tests/it/examples/mod.rs"]
mod examples;

/// A text in an image: left, top, right, bottom.
struct PlacedText {
    text: String,
    place: [f32; 4],
}

/// The horizontal texts of an image.
fn texts(svg: &str) -> Vec<PlacedText> {
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
            // Text that is not centred has y as its baseline; letters are about 0.7 em high.
            let middle = if head.contains("central") {
                y
            } else {
                y - size * 0.35
            };
            Some(PlacedText {
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

fn overlaps(svg: &str, wide: f32) -> Vec<String> {
    let all = texts(svg);
    let beyond = all
        .iter()
        .filter(|text| text.place[0] < -1.0 || text.place[2] > wide + 1.0)
        .map(|text| format!("'{}' extends past the edge", text.text));
    let mut found: Vec<String> = beyond.collect();
    for (n, a) in all.iter().enumerate() {
        for b in &all[n + 1..] {
            let [l, t, r, u] = a.place;
            let [bl, bt, br, bu] = b.place;
            if l.max(bl) + 1.0 < r.min(br) && t.max(bt) + 1.0 < u.min(bu) {
                found.push(format!("'{}' overlaps '{}'", a.text, b.text));
            }
        }
    }
    found
}

#[test]
fn texts_do_not_overlap_on_a_phone_and_in_print() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!(
            "SKIP: texts_do_not_overlap_on_a_phone_and_in_print: this build has no chart script"
        );
        return;
    };
    let mut found = Vec::new();
    for (name, kind, jobs, options) in examples::examples() {
        let made = chart(kind, &jobs, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (width, height) in [(375, 400), (1000, 600)] {
            let drawn = svg(
                &made,
                &Frame {
                    width,
                    height,
                    ..Frame::default()
                },
                &renderer,
            )
            .expect("a picture");
            found.extend(
                overlaps(&drawn, width as f32)
                    .into_iter()
                    .map(|what| format!("{name}, {width} wide: {what}")),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn overlapping_texts_are_detected() {
    let one = |x: u32, text: &str| {
        format!(
            "<text dominant-baseline=\"central\" style=\"font-size:12px\" transform=\"translate({x} 20)\" fill=\"#000\">{text}</text>"
        )
    };
    assert_eq!(
        overlaps(&(one(0, "aaaa") + &one(10, "bb")), 100.0),
        ["'aaaa' overlaps 'bb'"]
    );
    assert_eq!(
        overlaps(&one(90, "aaaa"), 100.0),
        ["'aaaa' extends past the edge"]
    );
    assert!(overlaps(&(one(0, "aa") + &one(50, "bb")), 100.0).is_empty());
}
