//! The raster images within an SVG, drawn here: resvg decodes four formats for them, of which charts use one.

use resvg::tiny_skia::{
    FilterQuality, Paint, Pattern, Pixmap, PixmapMut, Rect, SpreadMode, Transform,
};
use resvg::usvg::{ImageKind, Node, Tree};

/// The decoded raster of each top-level element that is one, by its index.
pub(crate) struct Rasters(Vec<Option<Raster>>);

struct Raster {
    pixels: Pixmap,
    /// From its pixels to the coordinates of the SVG.
    transform: Transform,
    /// What is visible of it, in the coordinates of the SVG.
    visible: Rect,
}

impl Rasters {
    /// Decodes the rasters of a chart. The chart script puts each into a group at the top level, with nothing
    /// beside it but a rectangle that clips it.
    pub(crate) fn of(tree: &Tree) -> Self {
        let canvas = tree.size().to_rect(0.0, 0.0);
        let nodes = tree.root().children().iter();
        Rasters(
            nodes
                .map(|node| canvas.and_then(|canvas| raster_of(node, canvas)))
                .collect(),
        )
    }

    /// The rows of the image from `top` on; `None` if there is no memory for them.
    pub(crate) fn band(
        &self,
        tree: &Tree,
        scale: f32,
        top: u32,
        (width, rows): (u32, u32),
    ) -> Option<Pixmap> {
        let mut pixels = Pixmap::new(width, rows)?;
        let moved = Transform::from_scale(scale, scale).post_translate(0.0, -(top as f32));
        if self.0.iter().all(Option::is_none) {
            resvg::render(tree, moved, &mut pixels.as_mut());
            return Some(pixels);
        }
        for (node, raster) in tree.root().children().iter().zip(&self.0) {
            match (raster, node.abs_layer_bounding_box()) {
                (Some(raster), _) => raster.draw(moved, &mut pixels.as_mut()),
                (None, Some(place)) => {
                    // resvg moves a single element to the origin.
                    let back = moved.pre_translate(place.x(), place.y());
                    resvg::render_node(node, back, &mut pixels.as_mut());
                }
                (None, None) => {}
            }
        }
        Some(pixels)
    }
}

impl Raster {
    fn draw(&self, moved: Transform, pixels: &mut PixmapMut) {
        let Some(visible) = self.visible.transform(moved) else {
            return;
        };
        let paint = Paint {
            // A cell is not blurred into the next.
            shader: Pattern::new(
                self.pixels.as_ref(),
                SpreadMode::Pad,
                FilterQuality::Nearest,
                1.0,
                moved.pre_concat(self.transform),
            ),
            ..Paint::default()
        };
        pixels.fill_rect(visible, &paint, Transform::identity(), None);
    }
}

/// The raster of an element that contains nothing else; `canvas` is the whole SVG.
fn raster_of(node: &Node, canvas: Rect) -> Option<Raster> {
    let mut visible = canvas;
    let mut node = node;
    loop {
        match node {
            Node::Group(group) => {
                if let Some(clip) = group.clip_path() {
                    let place = clip
                        .root()
                        .abs_bounding_box()
                        .transform(group.abs_transform())?;
                    visible = intersection(visible, place)?;
                }
                let [only] = group.children() else {
                    return None;
                };
                node = only;
            }
            Node::Image(image) => {
                let ImageKind::PNG(bytes) = image.kind() else {
                    return None;
                };
                return Some(Raster {
                    pixels: Pixmap::decode_png(bytes).ok()?,
                    transform: image.abs_transform(),
                    visible: intersection(visible, image.abs_bounding_box())?,
                });
            }
            Node::Path(_) | Node::Text(_) => return None,
        }
    }
}

fn intersection(one: Rect, other: Rect) -> Option<Rect> {
    Rect::from_ltrb(
        one.left().max(other.left()),
        one.top().max(other.top()),
        one.right().min(other.right()),
        one.bottom().min(other.bottom()),
    )
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use resvg::tiny_skia::{Color, Pixmap};
    use resvg::usvg::{Options, Tree};

    use super::Rasters;

    /// Four cells of 10 x 10 (red, green; blue, none) over grey, of which a clip leaves the left 15 columns, below a
    /// black line of two rows: each pixel has the colour that SVG 1.1 says (section 3.1, painters model).
    #[test]
    fn a_raster_is_drawn_in_its_order_without_blur_and_clipped() {
        let mut cells = Pixmap::new(2, 2).expect("memory");
        let colours = [
            (255, 0, 0, 255),
            (0, 255, 0, 255),
            (0, 0, 255, 255),
            (0, 0, 0, 0),
        ];
        for (pixel, (red, green, blue, alpha)) in cells.pixels_mut().iter_mut().zip(colours) {
            *pixel = Color::from_rgba8(red, green, blue, alpha)
                .premultiply()
                .to_color_u8();
        }
        let png = STANDARD.encode(cells.encode_png().expect("a picture"));
        let svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30"><defs><clipPath id="c"><path d="M5 5h15v20h-15z"/></clipPath></defs>
            <rect width="30" height="30" fill="#808080"/>
            <g clip-path="url(#c)"><image preserveAspectRatio="none" image-rendering="optimizeSpeed" x="5" y="5" width="20" height="20" href="data:image/png;base64,{png}"/></g>
            <path d="M0 14h30v2h-30z" fill="#000000"/></svg>"##
        );
        let tree = Tree::from_str(&svg, &Options::default()).expect("an SVG");
        let rasters = Rasters::of(&tree);
        assert_eq!(rasters.0.iter().flatten().count(), 1);
        let whole = rasters.band(&tree, 2.0, 0, (60, 60)).expect("memory");
        let lower = rasters.band(&tree, 2.0, 30, (60, 30)).expect("memory");
        let (grey, black) = ((128, 128, 128), (0, 0, 0));
        for (x, y, expected) in [
            (4, 6, grey),
            (5, 5, (255, 0, 0)),
            (14, 13, (255, 0, 0)),
            (15, 13, (0, 255, 0)),
            (19, 5, (0, 255, 0)),
            (20, 5, grey),
            (10, 14, black),
            (10, 15, black),
            (14, 16, (0, 0, 255)),
            (15, 24, grey),
            (10, 25, grey),
        ] {
            let of = |pixels: &Pixmap, row: u32| {
                let pixel = pixels.pixel(2 * x + 1, row).expect("inside");
                (pixel.red(), pixel.green(), pixel.blue())
            };
            assert_eq!(of(&whole, 2 * y + 1), expected, "{x}, {y}");
            if y >= 15 {
                assert_eq!(of(&lower, 2 * y + 1 - 30), expected, "{x}, {y} of a band");
            }
        }
    }
}
