//! Asks `forebay.v1.Engine` for its status, over TCP, TLS or a unix socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay::{Code, Error};
use forebay_server::v1::{StatusRequest, StatusResponse};
use forebay_server::Address;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::model::Status;

const PATIENCE: Duration = Duration::from_secs(5);
/// A document of 256 jobs has some 200 KB.
const MAX_ANSWER: usize = 64 << 20;

#[derive(clap::Args)]
pub struct Tls {
    /// Authority of the server's certificate, in PEM: the connection is TLS then.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// This client's certificate, in PEM.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
}

/// A server that is asked again and again.
pub struct Connection {
    endpoint: Endpoint,
    channel: Option<Channel>,
    address: String,
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|e| Error::system(format!("reading {}", path.display()), e))
}

impl Tls {
    fn config(&self) -> Result<Option<ClientTlsConfig>, Error> {
        let Some(authority) = &self.tls_ca else { return Ok(None) };
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(authority)?));
        if let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) {
            config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(Some(config))
    }
}

impl Connection {
    /// Nothing is connected yet.
    pub fn new(address: &Address, tls: &Tls) -> Result<Connection, Error> {
        let tls = tls.config()?;
        let target = match (address, &tls) {
            (Address::Unix(_), _) => address.to_string(),
            (Address::Tcp(host), None) => format!("http://{host}"),
            (Address::Tcp(host), Some(_)) => format!("https://{host}"),
        };
        let invalid = |e: tonic::transport::Error| {
            Error::new(Code::InvalidArgument, format!("--connect {address}: {e}"))
        };
        let mut endpoint = Endpoint::try_from(target).map_err(invalid)?;
        if let Some(tls) = tls {
            endpoint = endpoint.tls_config(tls).map_err(invalid)?;
        }
        let endpoint = endpoint.connect_timeout(PATIENCE).timeout(PATIENCE);
        Ok(Connection { endpoint, channel: None, address: address.to_string() })
    }

    /// The server's status now; connects where that is not done.
    pub async fn status(&mut self) -> Result<Status, Error> {
        let away = |what: String| Error::new(Code::System, format!("{}: {what}", self.address));
        let channel = match &self.channel {
            Some(channel) => channel.clone(),
            None => self.endpoint.connect().await.map_err(|e| away(causes(&e)))?,
        };
        self.channel = Some(channel.clone());
        let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(MAX_ANSWER);
        client.ready().await.map_err(|e| away(causes(&e)))?;
        let path = http::uri::PathAndQuery::from_static("/forebay.v1.Engine/Status");
        let codec = tonic_prost::ProstCodec::<StatusRequest, StatusResponse>::default();
        let answer = client.unary(tonic::Request::new(StatusRequest {}), path, codec).await;
        let answer = answer.map_err(|status| away(status.message().to_owned()))?;
        serde_json::from_str(&answer.into_inner().json)
            .map_err(|e| away(format!("its status cannot be read: {e}")))
    }
}

/// An error's last cause, which says most.
fn causes(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
