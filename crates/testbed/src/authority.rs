//! TLS certificates for servers, issued by a throw-away authority.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

use crate::files::write_secret;

/// The files of an authority and of a server certificate that it issued.
#[derive(Debug, Clone)]
pub struct Authority(PathBuf);

impl Authority {
    /// Refers to the files in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Creates the files, with a certificate for servers at these addresses. Fails if a file cannot be written.
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

    /// Returns the root certificate, which clients trust.
    pub fn root(&self) -> PathBuf {
        self.file("root.pem")
    }

    /// Returns the file of the servers' certificate.
    pub fn certificate(&self) -> PathBuf {
        self.file("server.pem")
    }

    /// Returns the file of the servers' private key.
    pub fn key(&self) -> PathBuf {
        self.file("server.key")
    }

    /// Returns the file with both the key and the certificate.
    pub fn chain(&self) -> PathBuf {
        self.file("server-with-key.pem")
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.0).join(name)
    }
}
