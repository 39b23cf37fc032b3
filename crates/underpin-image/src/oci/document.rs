//! The JSON documents of an image. Fields are in the order of their names and nothing else is between them, so that the
//! same values give the same bytes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(super) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(super) const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// By which tools find an image of an index by its tag (`annotations.md`).
pub(super) const REFERENCE: &str = "org.opencontainers.image.ref.name";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    pub digest: String,
    #[serde(default)]
    pub media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default)]
    pub size: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Platform {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub os: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Index {
    #[serde(default)]
    pub manifests: Vec<Descriptor>,
    #[serde(default)]
    pub media_type: String,
    pub schema_version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub config: Descriptor,
    #[serde(default)]
    pub layers: Vec<Descriptor>,
    #[serde(default)]
    pub media_type: String,
    pub schema_version: u32,
}

/// The configuration. Other fields are not read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Configuration {
    #[serde(default)]
    pub architecture: String,
    #[serde(default, deserialize_with = "or_default")]
    pub config: Runtime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub history: Vec<History>,
    #[serde(default)]
    pub os: String,
    #[serde(default)]
    pub rootfs: RootFs,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Runtime {
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub cmd: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub entrypoint: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub env: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub working_dir: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct History {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RootFs {
    pub diff_ids: Vec<String>,
    #[serde(rename = "type")]
    pub kind: String,
}

/// One image of the `manifest.json` of `docker save`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Saved {
    pub config: String,
    #[serde(default, deserialize_with = "or_default")]
    pub layers: Vec<String>,
}

/// Go writes an empty list as null.
fn or_default<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
