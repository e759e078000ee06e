//! TLS for connections to an engine.

use std::{io::Write as _, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lodge_domain::{Error, Result};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tempfile::NamedTempFile;

/// The certificate authorities that connections to an engine trust.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Certificates in PEM; `None` for the machine's own.
    pub(crate) authorities_pem: Option<String>,
}

impl Tls {
    /// Trusts servers whose certificate is signed by one of these authorities (PEM); `None` means
    /// the authorities of the machine.
    pub fn trusting(authorities_pem: Option<String>) -> Self {
        // The drivers bring different crypto providers, and each uses the process's default. A second
        // call changes nothing.
        let _ = ring::default_provider().install_default();
        Self { authorities_pem }
    }

    /// The client configuration that trusts these authorities.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>> {
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?;
        Ok(Arc::new(client.with_root_certificates(self.roots()?).with_no_client_auth()))
    }

    /// A PEM file of the trusted certificates, for a driver that reads only files.
    pub(crate) fn authorities_file(&self) -> Result<NamedTempFile> {
        let pem = self.authorities_pem.clone().unwrap_or_else(|| {
            let machine = rustls_native_certs::load_native_certs().certs;
            let lines = |certificate: &CertificateDer<'_>| {
                let text = STANDARD.encode(certificate);
                format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
            };
            machine.iter().map(lines).collect()
        });
        let mut file = NamedTempFile::new().map_err(Error::unavailable)?;
        file.write_all(pem.as_bytes()).map_err(Error::unavailable)?;
        Ok(file)
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        if let Some(pem) = &self.authorities_pem {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(Error::unavailable)?;
                roots.add(certificate).map_err(Error::unavailable)?;
            }
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Ok(roots)
    }
}
