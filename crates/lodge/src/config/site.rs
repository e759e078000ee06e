//! The settings of the site's look.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use lodge_web::{Color, SITE_NAME_CHARS_MAX};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteConfig {
    pub(crate) name: String,
    pub(crate) logo: PathBuf,
    pub(crate) color: String,
}

impl SiteConfig {
    /// Returns the accent colour, if one is set.
    pub(crate) fn color(&self) -> Result<Option<Color>> {
        let parse = |text: &str| Color::parse(text).map_err(|error| anyhow!("site.{error}"));
        Some(&*self.color).filter(|text| !text.is_empty()).map(parse).transpose()
    }
}

pub(super) fn check(site: &SiteConfig) -> Result<()> {
    let name = &site.name;
    let length = name.chars().count();
    let is_padded = name.trim() != name;
    if !(1..=SITE_NAME_CHARS_MAX).contains(&length)
        || is_padded
        || name.chars().any(char::is_control)
    {
        bail!(
            "site.name must be 1 to {SITE_NAME_CHARS_MAX} characters without spaces at the ends, not {name:?}"
        );
    }
    site.color().map(drop)
}
