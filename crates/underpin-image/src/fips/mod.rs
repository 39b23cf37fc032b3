//! OpenSSL's FIPS provider in an image: set up by this machine's OpenSSL, which runs its self-test; which files have cryptography of
//! their own; and what is known of certificates.

mod certificates;
mod own;
mod provider;

pub use certificates::{Certificate, Certificates, certificates};
pub use own::{OwnCode, own_code};
pub use provider::{PACKAGE, Provider, set_up};
