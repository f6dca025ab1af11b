//! The server: its services, its listeners, and how it ends.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use forebay::engine::{Engine, Shutdown};
use forebay::{Code, Error, Result};
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic_health::server::HealthReporter;

use crate::config::{Options, Tls};
use crate::cuzk::proving_engine_server::ProvingEngineServer;
use crate::extra::Extra;
use crate::intake::{Intake, Room};
use crate::listen::{Address, Listener};
use crate::proving::Proving;
use crate::v1::engine_server::EngineServer;
use crate::web::{self, Monitor};
use crate::work::Work;
use crate::DESCRIPTORS;

/// The longest message: a request of 256 MiB, and what a `Prove` call wraps it in.
const MAX_MESSAGE: usize = (256 << 20) + 64;
/// HTTP/2 windows. One stream's is small and the connection's is more than those of all requests that may wait to be
/// received: they never hold up other calls on the same connection.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 8 << 20;
const MAX_STREAMS: u32 = 4096;
const KEEPALIVE: Duration = Duration::from_secs(30);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What a server is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// Go on.
    #[default]
    No,
    /// Take nothing new, finish what was accepted.
    Drain,
    /// Cancel what is unfinished.
    Abort,
}

/// A server that listens but does not answer yet.
pub struct Server {
    engine: Arc<Engine>,
    drain: Option<Duration>,
    listeners: Vec<(Listener, tonic::transport::Server)>,
    addresses: Vec<Address>,
    routes: Routes,
    health: HealthReporter,
    work: Work,
    monitor: Arc<Monitor>,
    room: Arc<Room>,
}

impl Server {
    /// Binds every address.
    pub async fn bind(engine: Arc<Engine>, options: &Options) -> Result<Server> {
        options.check()?;
        let tls = options.tls.as_ref().map(read_tls).transpose()?;
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for address in &options.listen {
            let listener = address.bind().await?;
            let (bound, tls) = match &listener {
                Listener::Tcp(tcp) => {
                    let local = tcp.local_addr().map_err(|e| Error::system("asking for the port", e))?;
                    (Address::Tcp(local.to_string()), tls.clone())
                }
                Listener::Unix(..) => (address.clone(), None),
            };
            listeners.push((listener, transport(tls)?));
            addresses.push(bound);
        }
        let (work, monitor) = (Work::new(engine.clone()), Monitor::new());
        let (health, grpc) = services(&work, options).await?;
        let routes = Routes::from(web::beside(grpc.into_axum_router(), work.clone(), monitor.clone()));
        let room = Room::new(options.receive_bytes);
        Ok(Server { engine, drain: options.drain, listeners, addresses, routes, health, work, monitor, room })
    }

    /// Where it listens; a port 0 is the one that was given.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Serves until it is told to stop and every accepted job has its answer.
    pub async fn run(self, stop: watch::Receiver<Stop>) -> Result<()> {
        let (closed, closing) = watch::channel(false);
        let mut serving = tokio::task::JoinSet::new();
        for (listener, transport) in self.listeners {
            let service = Layered { transport, room: self.room.clone(), routes: self.routes.clone() };
            serving.spawn(service.serve(listener, told(closing.clone(), |closed| *closed)));
        }
        let watching = tokio::spawn(self.monitor.run(self.work)).abort_handle();
        let _watching = AbortOnDrop(watching);
        let ending = end(self.engine, self.drain, self.health, stop);
        tokio::pin!(ending);
        tokio::select! {
            () = &mut ending => {}
            // A listener that fails takes the server down: half a server would go unnoticed.
            Some(failed) = serving.join_next() => {
                let why = match failed {
                    Ok(Ok(())) => "a listener ended".to_owned(),
                    Ok(Err(e)) => format!("serving: {e}"),
                    Err(e) => format!("serving: {e}"),
                };
                return Err(Error::new(Code::System, why));
            }
        }
        closed.send_replace(true);
        // Answers are written out; a client that holds its connection open for longer is left.
        let last = async { while serving.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_secs(5), last).await;
        Ok(())
    }
}

/// Ends a task with whoever holds this.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One listener's server.
struct Layered {
    transport: tonic::transport::Server,
    room: Arc<Room>,
    routes: Routes,
}

type Served = Pin<Box<dyn Future<Output = std::result::Result<(), tonic::transport::Error>> + Send>>;

impl Layered {
    fn serve(self, listener: Listener, closed: impl Future<Output = ()> + Send + 'static) -> Served {
        let room = self.room;
        let bound = tower::layer::layer_fn(move |inner| Intake { inner, room: room.clone() });
        let router = self.transport.layer(bound).add_routes(self.routes);
        match listener {
            Listener::Tcp(tcp) => {
                let incoming =
                    TcpIncoming::from(tcp).with_nodelay(Some(true)).with_keepalive(Some(KEEPALIVE));
                Box::pin(router.serve_with_incoming_shutdown(incoming, closed))
            }
            Listener::Unix(unix, file) => Box::pin(async move {
                let _file = file;
                router.serve_with_incoming_shutdown(UnixListenerStream::new(unix), closed).await
            }),
        }
    }
}

/// Resolves when the watched value is as wished, or nobody can change it any more.
async fn told<T>(mut value: watch::Receiver<T>, wished: impl FnMut(&T) -> bool) {
    let _ = value.wait_for(wished).await;
}

/// Waits to be told, then ends the engine; returns when every job has its answer.
async fn end(
    engine: Arc<Engine>,
    drain: Option<Duration>,
    health: HealthReporter,
    stop: watch::Receiver<Stop>,
) {
    told(stop.clone(), |stop| *stop != Stop::No).await;
    health.set_not_serving::<ProvingEngineServer<Proving>>().await;
    health.set_not_serving::<EngineServer<Extra>>().await;
    health.set_service_status("", tonic_health::ServingStatus::NotServing).await;
    let drained = shut(&engine, Shutdown::Drain);
    let limit = async {
        match drain {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = drained => return,
        () = told(stop, |stop| *stop == Stop::Abort) => tracing::warn!("unfinished jobs are cancelled"),
        () = limit => tracing::warn!("unfinished jobs are cancelled: serve.drain_seconds are over"),
    }
    shut(&engine, Shutdown::Abort).await;
}

async fn shut(engine: &Arc<Engine>, mode: Shutdown) {
    let engine = engine.clone();
    let _ = tokio::task::spawn_blocking(move || engine.shutdown(mode)).await;
}

fn transport(tls: Option<ServerTlsConfig>) -> Result<tonic::transport::Server> {
    let server = tonic::transport::Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(MAX_STREAMS)
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .tcp_nodelay(true);
    let Some(tls) = tls else { return Ok(server) };
    server.tls_config(tls).map_err(|e| {
        let text = format!(
            "serve.tls_certificate, serve.tls_key or serve.tls_client_ca cannot be used: {}",
            chain(&e)
        );
        Error::new(Code::InvalidConfig, text)
    })
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}

fn read_tls(tls: &Tls) -> Result<ServerTlsConfig> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|e| Error::system(format!("reading {}", path.display()), e))
    };
    let identity = Identity::from_pem(read(&tls.certificate)?, read(&tls.key)?);
    let config = ServerTlsConfig::new().identity(identity).timeout(HANDSHAKE);
    match &tls.client_ca {
        Some(path) => Ok(config.client_ca_root(Certificate::from_pem(read(path)?))),
        None => Ok(config),
    }
}

async fn services(work: &Work, options: &Options) -> Result<(HealthReporter, Routes)> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<ProvingEngineServer<Proving>>().await;
    health.set_serving::<EngineServer<Extra>>().await;
    let proving = ProvingEngineServer::new(Proving::new(work.clone(), options.orphan))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let reflection =
        |version: &str| Error::internal(format!("the descriptors for reflection {version} cannot be read"));
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = Routes::new(proving)
        .add_service(EngineServer::new(Extra(work.clone())))
        .add_service(health_service)
        .add_service(builder().build_v1().map_err(|_| reflection("v1"))?)
        .add_service(builder().build_v1alpha().map_err(|_| reflection("v1alpha"))?);
    Ok((health, routes))
}

/// Where a TCP address is bound.
impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Tcp(address.to_string())
    }
}
