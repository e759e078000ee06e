//! Apache Cassandra: three nodes with fixed tokens, so that they can start concurrently in any order.

use std::{fs, path::PathBuf, process::Command};

use anyhow::Result;

use crate::{
    files::remove,
    layout::Layout,
    member::{Kind, Member},
    process,
};

const MAVEN_PLUGIN: &str =
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
const POM: &str = include_str!("../cassandra/pom.xml");
const LOGBACK: &str = include_str!("../cassandra/logback.xml");
const JVM_ARGUMENTS: &str = include_str!("../cassandra/jvm.args");

/// Virtual nodes per node.
const TOKENS: u32 = 16;

/// Downloads Cassandra if it is not in the cache.
pub(crate) fn download(layout: &Layout) -> Result<()> {
    let libraries = libraries(layout);
    if libraries.join("complete").exists() {
        return Ok(());
    }
    fs::create_dir_all(&libraries)?;
    let pom = layout.cache().join("cassandra-pom.xml");
    fs::write(&pom, POM)?;
    let mut command = Command::new("mvn");
    command.args(["-q", "-B", "-f"]).arg(pom).arg(MAVEN_PLUGIN).arg("-DincludeScope=runtime");
    command.arg(format!("-DoutputDirectory={}", libraries.display()));
    process::run(&mut command)?;
    Ok(fs::write(libraries.join("complete"), "")?)
}

/// Writes a node's configuration.
pub(crate) fn prepare(layout: &Layout, member: Member) -> Result<()> {
    let folder = layout.folder(member);
    make_seed(layout, member)?;
    let rack = format!("dc=dc1\nrack=rack{}\n", member.number);
    fs::write(folder.join("rackdc.properties"), rack)?;
    fs::write(folder.join("logback.xml"), LOGBACK)?;
    Ok(fs::write(folder.join("jvm.args"), JVM_ARGUMENTS)?)
}

/// Makes a node a seed from its next start on: a node that is not a seed exits if no seed is up.
pub(crate) fn make_seed(layout: &Layout, member: Member) -> Result<()> {
    let joining = format!("initial_token: {}\nauto_bootstrap: false\n", tokens(member));
    configure(layout, member, &joining, |_| true)
}

/// Deletes a node's data and configures it to bootstrap from the other nodes. It is no longer a seed, because a seed
/// does not bootstrap.
pub(crate) fn lose_disk(layout: &Layout, member: Member) -> Result<()> {
    let folder = layout.folder(member);
    for lost in ["data", "commitlog", "hints", "caches", "cdc"] {
        remove(&folder.join(lost))?;
    }
    configure(layout, member, "auto_bootstrap: true\n", |seed| seed != member)
}

/// Makes a node require logins, from its first start on.
pub(crate) fn require_logins(layout: &Layout, member: Member) -> Result<()> {
    let file = layout.folder(member).join("cassandra.yaml");
    let settings = fs::read_to_string(&file)?;
    let logins = "authenticator: PasswordAuthenticator\nauthorizer: CassandraAuthorizer\n";
    Ok(fs::write(file, settings + logins)?)
}

fn configure(
    layout: &Layout,
    member: Member,
    joining: &str,
    is_seed: impl Fn(Member) -> bool,
) -> Result<()> {
    let (folder, ip) = (layout.folder(member), layout.ip(member));
    let seeds = Member::of(Kind::Cassandra).filter(|node| is_seed(*node));
    let seeds: Vec<String> = seeds.map(|seed| format!("{}:7000", layout.ip(seed))).collect();
    let settings = format!(
        "cluster_name: lodge\npartitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         num_tokens: {TOKENS}\n{joining}\
         seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      - seeds: \"{}\"\n\
         listen_address: {ip}\nrpc_address: {ip}\nnative_transport_port: 9042\nstorage_port: 7000\n\
         client_encryption_options:\n  enabled: true\n  optional: true\n  ssl_context_factory:\n    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory\n  keystore: {keys}\n  truststore: {root}\n\
         endpoint_snitch: GossipingPropertyFileSnitch\nphi_convict_threshold: 5\n\
         commitlog_sync: batch\ncommitlog_segment_size: 8MiB\n\
         data_file_directories: [{folder}/data]\ncommitlog_directory: {folder}/commitlog\n\
         saved_caches_directory: {folder}/caches\nhints_directory: {folder}/hints\ncdc_raw_directory: {folder}/cdc\n\
         disk_access_mode: mmap_index_only\npaxos_variant: v2\n\
         key_cache_size: 8MiB\nrow_cache_size: 0MiB\ncounter_cache_size: 0MiB\nfile_cache_size: 32MiB\n\
         networking_cache_size: 16MiB\nmemtable_heap_space: 64MiB\nmemtable_offheap_space: 32MiB\n\
         concurrent_reads: 16\nconcurrent_writes: 16\nconcurrent_compactors: 1\n\
         read_request_timeout: 1500ms\nwrite_request_timeout: 2000ms\ncas_contention_timeout: 2000ms\n",
        seeds.join(","),
        folder = folder.display(),
        keys = layout.authority().chain().display(),
        root = layout.authority().root().display(),
    );
    Ok(fs::write(folder.join("cassandra.yaml"), settings)?)
}

/// Returns the command that starts a node without data as a replacement of itself.
pub(crate) fn replacement(layout: &Layout, member: Member) -> Command {
    let replaces = format!("-Dcassandra.replace_address_first_boot={}", layout.ip(member));
    server(layout, member, &[replaces])
}

/// Returns the command that starts a node, with additional Java options.
pub(crate) fn server(layout: &Layout, member: Member, options: &[String]) -> Command {
    let (folder, libraries) = (layout.folder(member), libraries(layout));
    let (folder, libraries) = (folder.display(), libraries.display());
    let mut command = Command::new("java");
    command.env("MALLOC_ARENA_MAX", "2");
    command.args([
        format!("@{folder}/jvm.args"),
        format!("-javaagent:{libraries}/jamm-0.4.0.jar"),
        format!("-Dcassandra.config=file://{folder}/cassandra.yaml"),
        format!("-Dcassandra-rackdc.properties=file://{folder}/rackdc.properties"),
        format!("-Dlogback.configurationFile={folder}/logback.xml"),
        format!("-Dcassandra.logdir={folder}"),
        format!("-Dcassandra.storagedir={folder}"),
        // Bundled native libraries are unpacked here.
        format!("-Djava.io.tmpdir={folder}"),
        format!("-Dcassandra.jmx.local.port={}", layout.local_port(member)),
    ]);
    command.args(options);
    command.args([
        "-cp",
        &format!("{libraries}/*"),
        "org.apache.cassandra.service.CassandraDaemon",
    ]);
    command
}

fn libraries(layout: &Layout) -> PathBuf {
    layout.cache().join("cassandra")
}

/// Returns a node's tokens, evenly interleaved with those of the other nodes.
fn tokens(member: Member) -> String {
    let nodes = u32::from(Kind::Cassandra.count());
    let token = |index: u32| {
        let place = u128::from(index * nodes + u32::from(member.number) - 1);
        let offset = place * (1 << 64) / u128::from(TOKENS * nodes);
        i128::from(i64::MIN) + i128::try_from(offset).unwrap_or_default()
    };
    (0..TOKENS).map(|index| token(index).to_string()).collect::<Vec<_>>().join(",")
}
