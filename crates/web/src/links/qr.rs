//! QR codes as SVG: black on white in any colour scheme, with the quiet zone of four modules that scanners need, and
//! error correction level M, for print.

use std::fmt::Write as _;

use lodge_domain::{Error, Result};
use qrcode::{Color, EcLevel, QrCode};

/// The quiet zone: white modules on each side.
const QUIET: usize = 4;

/// Renders a stand-alone SVG image of 512 by 512 pixels.
pub(crate) fn svg(url: &str) -> Result<String> {
    drawing(url, "width=\"512\" height=\"512\"")
}

/// Renders an SVG element for a page, sized by its style sheet.
pub(crate) fn inline(url: &str) -> Result<String> {
    drawing(url, "class=\"qr\" role=\"img\" aria-label=\"QR code of the short link\"")
}

fn drawing(url: &str, attributes: &str) -> Result<String> {
    let code = QrCode::with_error_correction_level(url, EcLevel::M)
        .map_err(|_| Error::invalid("short", "is too long for a QR code"))?;
    let (width, whole) = (code.width(), code.width() + 2 * QUIET);
    let mut path = String::new();
    for (row, modules) in code.to_colors().chunks(width).enumerate() {
        let mut column = 0;
        for run in modules.chunk_by(|a, b| a == b) {
            if run[0] == Color::Dark {
                let _ = write!(
                    path,
                    "M{} {}h{}v1h-{}z",
                    column + QUIET,
                    row + QUIET,
                    run.len(),
                    run.len()
                );
            }
            column += run.len();
        }
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" {attributes} shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{whole}v{whole}H0z\"/><path fill=\"#000\" d=\"{path}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dark_module_is_drawn() {
        let url = "http://127.0.0.1:8080/gg";
        let dark = QrCode::with_error_correction_level(url, EcLevel::M)
            .unwrap()
            .to_colors()
            .iter()
            .filter(|color| **color == Color::Dark)
            .count();
        let svg = svg(url).unwrap();
        let runs = svg.split('h').filter_map(|part| {
            part.split_once("v1").and_then(|(length, _)| length.parse::<usize>().ok())
        });
        assert_eq!(runs.sum::<usize>(), dark);
    }
}
