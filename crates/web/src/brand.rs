//! The name, logo and colour of the site.

mod color;
mod logo;

use std::{fmt::Write as _, sync::OnceLock};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

pub use self::{color::Color, logo::Logo};

/// The maximum length of a site's name, in characters.
pub const SITE_NAME_CHARS_MAX: usize = 30;

/// The default icon, whose ground has the accent colour.
const ICON: &str = include_str!("../assets/icon.svg");

/// The ground of [`ICON`].
const ICON_GROUND: &str = "#0f5b47";

/// The name of a site that has none of its own.
const LODGE: &str = "Lodge";

/// How a name and a logo fit into the header: a long name is cut off.
const FITTED: &str = ".brand img{height:1.75rem;max-width:8rem;object-fit:contain}\
    .top .brand{flex:0 1 auto}.brand :is(img,svg){flex:none}\
    .brand span{overflow:hidden;text-overflow:ellipsis}\n";

/// The name, logo and colour of a site, as configured.
#[derive(Debug, Clone)]
pub struct BrandSettings {
    /// The name, 1 to [`SITE_NAME_CHARS_MAX`] characters.
    pub name: String,
    /// The logo; `None` for Lodge's.
    pub logo: Option<Logo>,
    /// The accent colour; `None` for Lodge's.
    pub color: Option<Color>,
}

/// The brand as pages use it.
pub(crate) struct Brand {
    /// The name of the site.
    pub(crate) name: String,
    /// The logo, if it is not Lodge's.
    pub(crate) logo: Option<BrandFile>,
    /// The icon, if it is not Lodge's: the logo, or Lodge's icon in the colour of the site.
    icon: Option<BrandFile>,
    /// The style sheet of the brand, if it is not Lodge's.
    pub(crate) style: Option<BrandFile>,
    /// The public URL of a picture for previews on other sites.
    pub(crate) preview: Option<String>,
}

/// A file of the brand, served among the assets.
#[derive(Clone)]
pub(crate) struct BrandFile {
    name: &'static str,
    /// Its `Content-Type`.
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
    /// The beginning of the content's SHA-256.
    pub(crate) version: String,
}

impl BrandFile {
    fn new(name: &'static str, kind: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut version = String::new();
        for byte in Sha256::digest(&bytes).iter().take(8) {
            let _ = write!(version, "{byte:02x}");
        }
        Self { name, kind, bytes, version }
    }

    /// Returns the path with the version.
    pub(crate) fn url(&self) -> String {
        format!("/assets/{}?v={}", self.name, self.version)
    }
}

impl Brand {
    /// Makes the brand of a site; a picture for previews needs its public URL.
    pub(crate) fn new(settings: BrandSettings, public_url: Option<&str>) -> Self {
        let BrandSettings { name, logo, color } = settings;
        let logo = logo.map(|logo| BrandFile::new(logo.file_name(), logo.kind(), logo.bytes()));
        let mut style = color.map_or_else(String::new, Color::style);
        if logo.is_some() || name != LODGE {
            style.push_str(FITTED);
        }
        let style = Some(style).filter(|style| !style.is_empty());
        let style = style.map(|css| BrandFile::new("brand.css", "text/css; charset=utf-8", css));
        let colored = color.map(|color| {
            let icon = ICON.replace(ICON_GROUND, &color.light().to_string());
            BrandFile::new("brand-icon.svg", "image/svg+xml", icon)
        });
        // Other sites do not show SVG files.
        let picture = logo.as_ref().filter(|logo| logo.kind != logo::SVG);
        let preview = public_url.zip(picture).map(|(url, logo)| format!("{url}{}", logo.url()));
        Self { name, icon: logo.clone().or(colored), logo, style, preview }
    }

    /// Returns the file with this name.
    pub(crate) fn file(&self, name: &str) -> Option<&BrandFile> {
        let files = [&self.logo, &self.icon, &self.style];
        files.into_iter().flatten().find(|file| file.name == name)
    }

    /// Returns the icon, if it is not Lodge's.
    pub(crate) fn icon(&self) -> Option<&BrandFile> {
        self.icon.as_ref()
    }
}

/// The brand of the site that this process serves.
static BRAND: OnceLock<Brand> = OnceLock::new();

/// Sets the brand; only the first call of a process has an effect, before its first request.
pub(crate) fn set(brand: Brand) {
    drop(BRAND.set(brand));
}

/// Returns the brand; Lodge's own, if none was set.
pub(crate) fn current() -> &'static Brand {
    BRAND.get_or_init(|| {
        let lodge = BrandSettings { name: LODGE.to_owned(), logo: None, color: None };
        Brand::new(lodge, None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brand(logo: Option<&[u8]>) -> Brand {
        let logo = logo.map(|bytes| Logo::read(bytes.to_vec()).unwrap());
        let color = Some(Color::parse("#b00020").unwrap());
        let settings = BrandSettings { name: "Summit".to_owned(), logo, color };
        Brand::new(settings, Some("https://go.example"))
    }

    #[test]
    fn the_icon_is_the_logo_or_has_the_colour_of_the_site() {
        let colored = brand(None);
        let icon = colored.icon().unwrap();
        let text = std::str::from_utf8(&icon.bytes).unwrap();
        assert!(text.contains("#b00020") && !text.contains(ICON_GROUND), "{text}");
        assert!(colored.preview.is_none() && colored.logo.is_none());
        let drawn = brand(Some(b"<svg xmlns='http://www.w3.org/2000/svg'/>"));
        let icon = drawn.icon().unwrap();
        assert!(icon.kind == "image/svg+xml" && icon.url().starts_with("/assets/logo.svg?v="));
        assert_eq!(drawn.preview, None, "other sites do not show SVG files");
        assert!(drawn.file("logo.svg").is_some() && drawn.file("lodge.css").is_none());
        assert!(drawn.file("brand.css").is_some());
        let lodge = BrandSettings { name: LODGE.to_owned(), logo: None, color: None };
        assert!(Brand::new(lodge, None).style.is_none(), "Lodge's own pages load nothing more");
    }
}
