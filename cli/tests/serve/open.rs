//! Addresses that other machines can reach.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::client::Client;
use crate::server::{folder, refused, Serve};

/// An authority, with a certificate of a server at localhost and one of a client; PEM.
struct Authority {
    root: String,
    server: (String, String),
    client: (String, String),
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
        };
        Authority { server: signed("localhost"), client: signed("miner"), root }
    }

    /// Its files for a server, as arguments.
    fn write(&self, folder: &Path) -> [String; 6] {
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (certificate, key) = (file("server.pem", &self.server.0), file("server.key", &self.server.1));
        let flag = str::to_owned;
        let root = file("root.pem", &self.root);
        [flag("--tls-certificate"), certificate, flag("--tls-key"), key, flag("--tls-client-ca"), root]
    }

    async fn dial(
        &self,
        port: &str,
        identity: Option<&(String, String)>,
    ) -> Result<Client, tonic::transport::Error> {
        let mut tls =
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.root)).domain_name("localhost");
        if let Some((certificate, key)) = identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        let endpoint: Endpoint = Channel::from_shared(format!("https://localhost:{port}")).unwrap();
        endpoint.tls_config(tls)?.connect().await.map(Client)
    }
}

fn port(serve: &Serve) -> String {
    serve.addresses[0].rsplit(':').next().unwrap().to_owned()
}

async fn answers(client: Client) -> bool {
    let call = client
        .call::<_, forebay::wire::GetMetricsResponse>("GetMetrics", forebay::wire::GetMetricsRequest {});
    call.await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_shows_the_servers_certificate_and_asks_for_the_clients_where_told() {
    let authority = Authority::new();
    for needs_client in [false, true] {
        let folder = folder("", "");
        let files = authority.write(folder.path());
        let arguments: Vec<_> = files.iter().map(String::as_str).collect();
        let arguments = if needs_client { &arguments[..] } else { &arguments[..4] };
        let mut serve = Serve::start_in(folder, &["0.0.0.0:0"], arguments);
        let port = port(&serve);
        assert!(answers(authority.dial(&port, Some(&authority.client)).await.unwrap()).await);
        let nameless = match authority.dial(&port, None).await {
            Ok(client) => answers(client).await,
            Err(_) => false,
        };
        assert_eq!(nameless, !needs_client);
        let stranger = Authority::new();
        assert!(stranger.dial(&port, None).await.is_err(), "its certificate is not one of the stranger's");
        let foreign = match authority.dial(&port, Some(&stranger.client)).await {
            Ok(client) => answers(client).await,
            Err(_) => false,
        };
        assert_eq!(foreign, !needs_client);
        let plain = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).unwrap();
        let plain = match plain.connect().await {
            Ok(channel) => answers(Client(channel)).await,
            Err(_) => false,
        };
        assert!(!plain, "without TLS");
        serve.stop();
    }
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let folder = folder("", "");
    let files = Authority::new().write(folder.path());
    let mut arguments: Vec<_> = files.iter().map(String::as_str).collect();
    arguments.swap(1, 3);
    let output = refused(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(13), "{said}");
    assert!(said.contains("tls_certificate"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tls_an_open_address_must_be_asked_for() {
    let output = refused(&["--listen", "0.0.0.0:0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(13), "{said}");
    assert!(said.contains("--insecure"), "{said}");
    let mut serve = Serve::start(&["0.0.0.0:0"], &["--insecure"], "");
    assert!(serve.said.iter().any(|line| line.contains("WARN")), "{:?}", serve.said);
    assert!(answers(Client::dial(&format!("127.0.0.1:{}", port(&serve))).await).await);
    serve.stop();
}

#[test]
fn the_example_and_the_printed_configuration_can_be_used() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../dist/forebay.toml");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["serve", "--print-config"])
        .output()
        .unwrap();
    assert!(output.status.success());
    for text in [std::fs::read_to_string(example).unwrap(), String::from_utf8(output.stdout).unwrap()] {
        let mut root: toml::Table = text.parse().unwrap();
        let options = forebay_server::Options::take(&mut root).unwrap();
        assert!(!options.listen.is_empty() && !options.insecure);
        forebay::engine::Config::from_toml(&root.to_string()).unwrap();
    }
}
