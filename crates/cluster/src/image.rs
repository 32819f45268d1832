//! The workers' image: this program in an empty root, in one file that is both an OCI layout and a `docker load`
//! archive. Reproducible: the same program gives the same bytes.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// User it runs as; a cluster with its own users per namespace overrides it.
const USER: &str = "65532:65532";
/// Path of the program.
const PROGRAM: &str = "torment";
/// tar block size.
const BLOCK: usize = 512;
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Name and platform of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// Name and tag, as in `torment:0.1.0`.
    pub name: String,
    /// Architecture, as Go names it.
    pub architecture: String,
}

impl ImageSpec {
    /// For this program in this build.
    pub fn of_build(build: &str) -> Self {
        Self { name: format!("torment:{build}"), architecture: crate::manifests::architecture().to_owned() }
    }

    /// The full name as container runtimes keep it: without a registry it is Docker's.
    fn full(&self) -> String {
        match self.name.split_once('/') {
            Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => self.name.clone(),
            Some(_) => format!("docker.io/{}", self.name),
            None => format!("docker.io/library/{}", self.name),
        }
    }

    fn tag(&self) -> &str {
        self.name.rsplit_once(':').map_or("latest", |(_, tag)| tag)
    }
}

/// Writes the image of a program, which must be self-contained.
///
/// # Errors
/// If it cannot be written.
pub fn write_image(program: &[u8], mark: &ImageSpec, to: &mut dyn Write) -> io::Result<()> {
    let layer = layer(program)?;
    let layer_digest = digest(&layer);
    let config = json!({
        "architecture": mark.architecture,
        "os": "linux",
        "config": {"User": USER, "Entrypoint": [format!("/{PROGRAM}")], "WorkingDir": "/", "Env": ["PATH=/"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer_digest}")]},
        "history": [{"created_by": "torment image"}],
    })
    .to_string();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": described(CONFIG, config.as_bytes()),
        "layers": [described(LAYER, &layer)],
    })
    .to_string();
    let mut entry = described(MANIFEST, manifest.as_bytes());
    entry["annotations"] = json!({
        "io.containerd.image.name": mark.full(),
        "org.opencontainers.image.ref.name": mark.tag(),
    });
    entry["platform"] = json!({"architecture": mark.architecture, "os": "linux"});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]});
    let blob = |content: &[u8]| format!("blobs/sha256/{}", digest(content));
    let docker = json!([{
        "Config": blob(config.as_bytes()),
        "RepoTags": [mark.name],
        "Layers": [blob(&layer)],
    }]);
    let layout = json!({"imageLayoutVersion": "1.0.0"});
    for (name, content) in [
        ("oci-layout".to_owned(), layout.to_string().as_bytes()),
        ("index.json".to_owned(), index.to_string().as_bytes()),
        ("manifest.json".to_owned(), docker.to_string().as_bytes()),
        (blob(manifest.as_bytes()), manifest.as_bytes()),
        (blob(config.as_bytes()), config.as_bytes()),
        (blob(&layer), &layer),
    ] {
        add(to, &name, 0o644, content)?;
    }
    end(to)
}

fn layer(program: &[u8]) -> io::Result<Vec<u8>> {
    let mut layer = Vec::with_capacity(program.len() + 4 * BLOCK);
    add(&mut layer, PROGRAM, 0o755, program)?;
    end(&mut layer)?;
    Ok(layer)
}

/// A file in a tar archive (POSIX.1-1988 ustar), owned by root, at time 0.
fn add(to: &mut dyn Write, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    // The checksum is computed with spaces in its own field.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\u{0} ").as_bytes());
    to.write_all(&header)?;
    to.write_all(content)?;
    to.write_all(&[0; BLOCK][..content.len().next_multiple_of(BLOCK) - content.len()])
}

fn end(to: &mut dyn Write) -> io::Result<()> {
    to.write_all(&[0; 2 * BLOCK])
}

fn described(kind: &str, content: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": format!("sha256:{}", digest(content)), "size": content.len()})
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::{Command, Stdio};

    fn unpacked(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut rest = archive;
        let mut files = BTreeMap::new();
        loop {
            let (header, after) = rest.split_at(BLOCK);
            if header.iter().all(|byte| *byte == 0) {
                return files;
            }
            let text = |from: usize, to: usize| {
                String::from_utf8_lossy(&header[from..to]).trim_matches(['\0', ' ']).to_owned()
            };
            let length = usize::from_str_radix(&text(124, 136), 8).expect("it has a length");
            files.insert(text(0, 100), after[..length].to_vec());
            rest = &after[length.next_multiple_of(BLOCK)..];
        }
    }

    fn image() -> Vec<u8> {
        let mut image = Vec::new();
        let mark = ImageSpec { name: "torment:1.2.3".to_owned(), architecture: "arm64".to_owned() };
        write_image(b"#!program", &mark, &mut image).expect("memory takes it");
        image
    }

    /// Everything named by digest is there, and has that digest.
    #[test]
    fn both_kinds_of_tools_find_the_program() {
        let files = unpacked(&image());
        let json = |name: &str| -> Value { serde_json::from_slice(&files[name]).expect("it is JSON") };
        let blob = |described: &Value| {
            let digest = described["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
            let name = format!("blobs/sha256/{}", digest.expect("it has a sum"));
            assert_eq!(super::digest(&files[&name]), name["blobs/sha256/".len()..]);
            assert_eq!(described["size"], json!(files[&name].len()));
            name
        };
        let index = json("index.json");
        let entry = &index["manifests"][0];
        assert_eq!(
            entry["annotations"]["io.containerd.image.name"],
            json!("docker.io/library/torment:1.2.3")
        );
        let manifest = json(&blob(entry));
        let (config_name, layer_name) = (blob(&manifest["config"]), blob(&manifest["layers"][0]));
        let config = json(&config_name);
        assert_eq!(
            config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"],
            "the layer is not packed"
        );
        assert_eq!((&config["architecture"], &config["config"]["User"]), (&json!("arm64"), &json!(USER)));
        assert_eq!(
            unpacked(&files[&layer_name]),
            BTreeMap::from([("torment".to_owned(), b"#!program".to_vec())])
        );
        let docker = json("manifest.json");
        assert_eq!(
            docker,
            json!([{"Config": config_name, "RepoTags": ["torment:1.2.3"], "Layers": [layer_name]}])
        );
        assert_eq!(image(), image(), "the same program gives the same image");
    }

    #[test]
    fn tar_reads_it() {
        let Ok(mut tar) =
            Command::new("tar").args(["-tvf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            eprintln!("SKIPPED: there is no tar here");
            return;
        };
        let mut to = tar.stdin.take().expect("it has one");
        to.write_all(&image()).expect("it reads");
        drop(to);
        let listed = tar.wait_with_output().expect("it ends");
        let listed = (listed.status.success(), String::from_utf8_lossy(&listed.stdout).into_owned());
        assert!(listed.0 && listed.1.contains("oci-layout") && listed.1.lines().count() == 6, "{listed:?}");
    }

    #[test]
    fn a_name_is_docker_s_unless_it_has_a_registry() {
        for (name, full) in [
            ("torment:1", "docker.io/library/torment:1"),
            ("me/torment:1", "docker.io/me/torment:1"),
            ("lab:5000/torment:1", "lab:5000/torment:1"),
            ("registry.lab/x/torment:1", "registry.lab/x/torment:1"),
        ] {
            assert_eq!(ImageSpec { name: name.to_owned(), architecture: String::new() }.full(), full);
        }
    }
}
