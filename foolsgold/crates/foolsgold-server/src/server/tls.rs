//! TLS by rustls: certificate and key from PEM files, HTTP/2 or HTTP/1.1 by ALPN.

use crate::config::TlsFiles;
use anyhow::Context;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto};

/// Reads certificate and key.
pub(super) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("{cert}: the certificate cannot be read"))?;
    anyhow::ensure!(!chain.is_empty(), "{cert} contains no certificate");
    let private =
        PrivateKeyDer::from_pem_file(&files.key).with_context(|| format!("{key}: the private key cannot be read"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS cannot be set up")?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .with_context(|| format!("the certificate {cert} and the key {key} do not go together"))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
