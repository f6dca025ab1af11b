//! The `[serve]` table of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use forebay::engine::toml_reader::{invalid, Section};
use forebay::engine::MAX_MESSAGE;
use forebay::units::Bytes;
use forebay::{Code, Error, Result};

use crate::listen::Address;

/// Where a server listens when it is told nothing: where the miner looks for it.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:9820";

/// Files for TLS, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, and those between it and its root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Where given, clients need a certificate of this authority.
    pub client_ca: Option<PathBuf>,
}

/// How to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `serve.listen`.
    pub listen: Vec<Address>,
    /// `serve.tls_certificate`, `serve.tls_key`, `serve.tls_client_ca`: for TCP; a unix socket needs none.
    pub tls: Option<Tls>,
    /// `serve.insecure`: other machines may connect without TLS.
    pub insecure: bool,
    /// `serve.orphan_seconds`: how long a job goes on whose `Prove` call went away.
    pub orphan: Duration,
    /// `serve.drain_seconds`: how long unfinished jobs may take to end at shutdown; `None`: as long as they need.
    pub drain: Option<Duration>,
    /// `serve.receive_bytes`: bytes of requests above 1 MiB that are received and not the engine's yet.
    pub receive_bytes: Bytes,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: vec![Address::Tcp(DEFAULT_LISTEN.to_owned())],
            tls: None,
            insecure: false,
            orphan: Duration::from_secs(60),
            drain: None,
            receive_bytes: MAX_MESSAGE,
        }
    }
}

const EXAMPLE: &str = r#"[serve]
# Where to listen: host:port or unix:///path, one or several. A unix socket is for its owner alone (mode 0600).
listen = ["127.0.0.1:9820"]
# PEM files. With them TCP is TLS; needed where other machines can connect.
tls_certificate = "/etc/forebay/server.pem"
tls_key = "/etc/forebay/server.key"
# Clients need a certificate that this authority signed. Default: any client.
tls_client_ca = "/etc/forebay/clients.pem"
# Let other machines connect without TLS.
insecure = false
# Seconds that a job goes on whose Prove call went away; a retry of the request finds it.
orphan_seconds = 60
# Seconds that unfinished jobs have at shutdown. 0: as long as they need.
drain_seconds = 0
# Bytes of requests above 1 MiB that are received and not the engine's yet, beside memory.limit. A longer request is
# refused; others wait. Shorter ones have 16 MiB of their own.
receive_bytes = "256MiB"
"#;

impl Options {
    /// The table with every key, its meaning and a value.
    pub fn example() -> &'static str {
        EXAMPLE
    }

    /// Takes the `[serve]` table out of a configuration and reads it; the rest is the engine's.
    pub fn take(root: &mut toml::Table) -> Result<Options> {
        let mut options = Options::default();
        let table = match root.remove("serve") {
            None => return Ok(options),
            Some(toml::Value::Table(table)) => table,
            Some(other) => return Err(invalid("serve", "a table", other.type_str())),
        };
        let mut serve = Section::new("serve", table);
        if let Some(addresses) = serve.take_texts("listen")? {
            options.listen = addresses.iter().map(|text| text.parse()).collect::<Result<_>>()?;
        }
        let file = |text: Option<String>| text.map(PathBuf::from);
        let certificate = file(serve.take_text("tls_certificate")?);
        let key = file(serve.take_text("tls_key")?);
        let client_ca = file(serve.take_text("tls_client_ca")?);
        options.tls = Options::tls(certificate, key, client_ca)?;
        serve.boolean("insecure", &mut options.insecure)?;
        serve.seconds("orphan_seconds", &mut options.orphan)?;
        let mut drain = Duration::ZERO;
        serve.seconds("drain_seconds", &mut drain)?;
        options.drain = (!drain.is_zero()).then_some(drain);
        if let Some(bytes) = serve.take_bytes("receive_bytes")? {
            options.receive_bytes = bytes;
        }
        serve.finish()?;
        Ok(options)
    }

    /// TLS from the files that are named; a certificate and its key come together.
    pub fn tls(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        client_ca: Option<PathBuf>,
    ) -> Result<Option<Tls>> {
        match (certificate, key, client_ca) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), client_ca) => Ok(Some(Tls { certificate, key, client_ca })),
            _ => Err(Error::new(
                Code::InvalidConfig,
                "TLS needs both serve.tls_certificate and serve.tls_key; serve.tls_client_ca goes with them",
            )),
        }
    }

    /// Refuses to open an address to other machines unless that is safe or was asked for in so many words.
    pub fn check(&self) -> Result<()> {
        if self.listen.is_empty() {
            return Err(invalid("serve.listen", "at least one address", "an empty list"));
        }
        if self.receive_bytes < Bytes::mib(2) {
            return Err(invalid("serve.receive_bytes", "at least 2MiB", &self.receive_bytes.to_string()));
        }
        for address in &self.listen {
            if self.tls.is_some() || self.insecure || address.is_local()? {
                continue;
            }
            return Err(Error::new(
                Code::InvalidConfig,
                format!(
                    "listen {address}: other machines could connect without TLS; give serve.tls_certificate and \
                     serve.tls_key, or say --insecure"
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::take(&mut text.parse().expect("TOML"))
    }

    #[test]
    fn the_example_has_every_key_and_the_rest_is_left() {
        let mut root: toml::Table = format!("threads = 2\n{}", Options::example()).parse().unwrap();
        let options = Options::take(&mut root).unwrap();
        assert_eq!(root.keys().collect::<Vec<_>>(), ["threads"]);
        let tls = options.tls.clone().unwrap();
        assert!(tls.client_ca.is_some());
        assert_eq!(Options { tls: None, ..options }, Options::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("serve = 1", "expected a table"),
            ("[serve]\nlisten = [\"nowhere\"]", "nowhere"),
            ("[serve]\ninsecur = true", "\"serve.insecure\""),
            ("[serve]\ntls_key = \"k\"", "both"),
            ("[serve]\ntls_client_ca = \"k\"", "both"),
            ("[serve]\norphan_seconds = -1", "serve.orphan_seconds"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidConfig);
            assert!(error.message().contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn other_machines_need_tls_or_the_word() {
        let open = read("[serve]\nlisten = [\"0.0.0.0:1\"]").unwrap();
        assert!(open.check().unwrap_err().message().contains("--insecure"));
        Options { insecure: true, ..open.clone() }.check().unwrap();
        let tls = Options::tls(Some("c".into()), Some("k".into()), None).unwrap();
        Options { tls, ..open }.check().unwrap();
        Options::default().check().unwrap();
        assert!(Options { listen: Vec::new(), ..Options::default() }.check().is_err());
        let small = read("[serve]\nreceive_bytes = \"1MiB\"").unwrap();
        assert!(small.check().unwrap_err().message().contains("serve.receive_bytes"));
    }
}
