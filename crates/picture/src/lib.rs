//! Renders an SVG to PNG, for where only that is shown: a chat, a slide, a form.
//!
//! Text uses built-in fonts: a machine without any renders the same picture, to the pixel. Knows nothing of runs, and writes no file.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels per SVG unit in both directions, for high-density screens.
const SCALE: f32 = 2.0;
/// Maximum pixels: four bytes each, twice while encoding. A picture 2,000 units wide may be 8,000 high.
const MAX_PIXELS: u64 = 64 << 20;
/// Replaces every font family that an SVG names and is missing here.
const FAMILY: &str = "Noto Sans";
/// Western and Central European letters in two weights; arrows and comparison signs for both. `font/subset.sh` lists them all.
const FONTS: [&[u8]; 3] = [
    include_bytes!("../font/regular.ttf"),
    include_bytes!("../font/semibold.ttf"),
    include_bytes!("../font/signs.ttf"),
];

/// Why rendering failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input cannot be rendered.
    #[error("the picture is no SVG: {found}")]
    NotSvg {
        /// The library's message.
        found: String,
    },
    /// It would exceed the maximum size.
    #[error("{width} × {height} pixels are too many for a PNG; an SVG may be of any size")]
    Large {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
}

/// Renders on white, at two pixels per unit. Ignores rules for dark schemes. Characters missing from the fonts become boxes.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let options = Options { fontdb: Arc::new(fonts()), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|why| Error::NotSvg { found: why.to_string() })?;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let all =
        (u64::from(width) * u64::from(height) <= MAX_PIXELS).then(|| Pixmap::new(width, height)).flatten();
    let mut all = all.ok_or(Error::Large { width, height })?;
    all.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut all.as_mut());
    Ok(all.encode_png().expect("what has pixels can be packed into memory"))
}

/// At least one.
fn pixels(units: f32) -> u32 {
    (units * SCALE).round().max(1.0) as u32
}

fn fonts() -> Database {
    let mut fonts = Database::new();
    for font in FONTS {
        fonts.load_font_source(Source::Binary(Arc::new(font)));
    }
    // Our pictures ask for the one, the library for the other if an SVG names no known family.
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_serif_family(FAMILY);
    fonts
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u32 = 60;
    const HEIGHT: u32 = 30;
    /// As `view` writes it.
    const STYLE: &str = "text{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#15191d}\
        .strong{font-weight:600}.large{font-size:17px}";

    fn svg(style: &str, inside: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\"><style>{style}</style>{inside}</svg>"
        )
    }

    fn drawn(inside: &str) -> Pixmap {
        let png = png(&svg(STYLE, inside)).expect("it is an SVG");
        Pixmap::decode_png(&png).expect("it is a PNG")
    }

    fn text(class: &str, words: &str) -> Pixmap {
        drawn(&format!("<text class=\"{class}\" x=\"4\" y=\"20\">{words}</text>"))
    }

    /// Number of pixels that are not white.
    fn dark(picture: &Pixmap) -> usize {
        picture.pixels().iter().filter(|pixel| pixel.red() < 0xff).count()
    }

    #[test]
    fn a_png_has_two_pixels_for_each_unit_and_is_white_behind() {
        let png = png(&svg("", "<rect x=\"10\" y=\"5\" width=\"20\" height=\"10\"/>")).expect("it is an SVG");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let picture = Pixmap::decode_png(&png).expect("it is a PNG");
        assert_eq!((picture.width(), picture.height()), (2 * WIDTH, 2 * HEIGHT));
        assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 0xff), "nothing shines through");
        assert_eq!(dark(&picture), 4 * 20 * 10);
        let at = |x, y| picture.pixel(x, y).map(|pixel| pixel.red());
        assert_eq!(
            (at(19, 10), at(20, 10), at(59, 29), at(60, 29)),
            (Some(255), Some(0), Some(0), Some(255))
        );
    }

    #[test]
    fn letters_are_drawn_in_their_size_and_weight() {
        assert_eq!(dark(&text("", "")), 0);
        let (plain, strong, large) = (text("", "limit"), text("strong", "limit"), text("large", "limit"));
        assert!(dark(&plain) > 150, "{} pixels", dark(&plain));
        assert!(dark(&strong) > dark(&plain), "{} and {} pixels", dark(&strong), dark(&plain));
        assert!(dark(&large) > dark(&plain), "{} and {} pixels", dark(&large), dark(&plain));
    }

    /// Everything a picture says itself; in user-given names missing characters become boxes.
    #[test]
    fn every_sign_that_a_picture_uses_has_its_shape() {
        for class in ["", "strong"] {
            let unknown = text(class, "中");
            assert!(dark(&unknown) > 0, "what is not known is seen");
            for sign in "09azAZ/%×·–—−…±µ≤≥≈→←↑↓²éßŁž€".chars() {
                let known = text(class, &sign.to_string());
                assert!(dark(&known) > 0 && known.data() != unknown.data(), "'{sign}' is not in the fonts");
            }
        }
    }

    #[test]
    fn it_is_light_whatever_a_dark_screen_would_show() {
        let square = "<rect class=\"ground\" width=\"60\" height=\"30\"/><text class=\"ground\" x=\"4\" y=\"9\">a</text>";
        let light = "text{font:12px sans-serif}rect.ground{fill:#fff}text.ground{fill:#000}";
        let both = format!(
            "{light}@media(prefers-color-scheme:dark){{.ground{{fill:#000}}text.ground{{fill:#fff}}}}"
        );
        assert!(png(&svg(light, square)) == png(&svg(&both, square)));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        for wrong in
            ["", "limit", "<svg>", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"0\" height=\"1\"/>"]
        {
            assert!(matches!(png(wrong), Err(Error::NotSvg { .. })), "'{wrong}'");
        }
        let high = svg("", "").replace("height=\"30\"", "height=\"1000000\"");
        let said = png(&high).expect_err("it is too high").to_string();
        assert!(said.starts_with("120 × 2000000 pixels are too many"), "{said}");
    }
}
