//! Certificates for servers that speak TLS, by an authority made up for the occasion.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

use crate::files::write_secret;

/// The files of an authority and of a certificate that it gave.
#[derive(Debug, Clone)]
pub struct Authority(PathBuf);

impl Authority {
    /// The files in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Makes them, for servers at these addresses. Fails when a file cannot be written.
    pub fn make(&self, addresses: impl IntoIterator<Item = IpAddr>) -> Result<()> {
        fs::create_dir_all(&self.0)?;
        let (key, mut params) = (KeyPair::generate()?, CertificateParams::new(Vec::new())?);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);
        let (key, mut params) = (KeyPair::generate()?, CertificateParams::new(Vec::new())?);
        params.subject_alt_names = addresses.into_iter().map(SanType::IpAddress).collect();
        let server = params.signed_by(&key, &issuer)?;
        fs::write(self.root(), root.pem())?;
        fs::write(self.certificate(), server.pem())?;
        write_secret(&self.key(), &key.serialize_pem())?;
        write_secret(&self.chain(), &(key.serialize_pem() + &server.pem()))
    }

    /// The authority's own certificate, which clients trust.
    pub fn root(&self) -> PathBuf {
        self.file("root.pem")
    }

    /// The servers' certificate.
    pub fn certificate(&self) -> PathBuf {
        self.file("server.pem")
    }

    /// The servers' key.
    pub fn key(&self) -> PathBuf {
        self.file("server.key")
    }

    /// Both in one file.
    pub fn chain(&self) -> PathBuf {
        self.file("server-with-key.pem")
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.0).join(name)
    }
}
