//! What the C ABI and `forebay serve` cost a window_post request beyond the Rust call.
//!
//! Of a proof, what counts is the time at the caller less the time that the engine reports for the job: the same job
//! takes a different time each run. The same request asked again is answered from what is kept: that is the call alone.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use forebay::engine::{Engine, Shutdown};
use forebay::ffi::{forebay_api, forebay_api_v1, FOREBAY_ABI_VERSION, FOREBAY_CLOSE_CANCEL, FOREBAY_OK};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use forebay::wire::{AwaitProofResponse, ProveRequest, ProveResponse, SubmitProofRequest};
use forebay_server::{Options, Server, Stop};
use prost::Message;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint};

use crate::load::{bar, config, quantiles};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

const KIND: ProofKind = ProofKind::WindowPost;
/// New requests, and repeated ones for each way in.
const PROOFS: usize = 20;
const REPEATS: usize = 200;
/// Milliseconds that a way in may add.
const ABI_GOAL: f64 = 1.0;
const SERVE_GOAL: f64 = 10.0;

/// One way to have a request proved.
trait Way {
    fn prove(&self, message: &[u8]) -> Result<AwaitProofResponse, Failure>;
}

impl Way for Engine {
    fn prove(&self, message: &[u8]) -> Result<AwaitProofResponse, Failure> {
        Ok(self.wait(&self.submit(message)?.job_id, None)?)
    }
}

/// An engine behind the table of functions, as a host sees it.
struct Table {
    api: &'static forebay_api_v1,
    engine: *mut forebay::ffi::forebay_engine,
}

impl Table {
    fn open(config: &str) -> Result<Table, Failure> {
        // SAFETY: the table is static.
        let api = unsafe { forebay_api(FOREBAY_ABI_VERSION).as_ref() }.ok_or("no table of this version")?;
        let mut engine = ptr::null_mut();
        // SAFETY: the text is readable, the place is ours.
        let code = unsafe {
            (api.open)(config.as_ptr().cast::<c_char>(), config.len(), &mut engine, ptr::null_mut())
        };
        ok(code)?;
        Ok(Table { api, engine })
    }
}

fn ok(code: i32) -> Result<(), Failure> {
    match code {
        FOREBAY_OK => Ok(()),
        code => Err(format!("a call of the C ABI gave code {code}").into()),
    }
}

impl Way for Table {
    fn prove(&self, message: &[u8]) -> Result<AwaitProofResponse, Failure> {
        let (mut job, mut answer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the message is readable, places are ours, buffers are freed once after their last use.
        unsafe {
            let api = self.api;
            let (data, len) = (message.as_ptr(), message.len());
            ok((api.submit)(self.engine, data, len, &mut job, ptr::null_mut(), ptr::null_mut()))?;
            let (id, len) = ((api.buffer_data)(job), (api.buffer_len)(job));
            ok((api.wait)(self.engine, id.cast(), len, 0, &mut answer, ptr::null_mut()))?;
            let bytes = std::slice::from_raw_parts((api.buffer_data)(answer), (api.buffer_len)(answer));
            let decoded = AwaitProofResponse::decode(bytes);
            (api.buffer_free)(job);
            (api.buffer_free)(answer);
            Ok(decoded?)
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own.
        unsafe { (self.api.close)(self.engine, FOREBAY_CLOSE_CANCEL, ptr::null_mut()) };
    }
}

/// A client of a server in this process, over a unix socket.
struct Client {
    runtime: tokio::runtime::Runtime,
    channel: Channel,
    stop: watch::Sender<Stop>,
    _folder: tempfile::TempDir,
}

impl Client {
    fn start(engine: Arc<Engine>) -> Result<Client, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let folder = tempfile::tempdir()?;
        let address = format!("unix://{}", folder.path().join("s").display());
        let options = Options { listen: vec![address.parse()?], ..Options::default() };
        let server = runtime.block_on(Server::bind(engine, &options))?;
        let (stop, stopping) = watch::channel(Stop::No);
        runtime.spawn(server.run(stopping));
        let channel = runtime.block_on(Endpoint::try_from(address)?.connect())?;
        Ok(Client { runtime, channel, stop, _folder: folder })
    }
}

impl Way for Client {
    fn prove(&self, message: &[u8]) -> Result<AwaitProofResponse, Failure> {
        let submit = Some(SubmitProofRequest::decode(message)?);
        let mut client = tonic::client::Grpc::new(self.channel.clone());
        let answer = self.runtime.block_on(async {
            client.ready().await?;
            let path = http::uri::PathAndQuery::from_static("/cuzk.v1.ProvingEngine/Prove");
            let codec = tonic_prost::ProstCodec::<ProveRequest, ProveResponse>::default();
            let answer = client.unary(tonic::Request::new(ProveRequest { submit }), path, codec).await?;
            Ok::<_, Failure>(answer.into_inner())
        })?;
        answer.result.ok_or_else(|| "an answer without a result".into())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop.send_replace(Stop::Abort);
    }
}

/// One window_post request through the three ways, new and repeated.
pub fn run(world: &World) -> Result<Report, Failure> {
    drop(world.load(KIND)?);
    let limit = Bytes(world.needs(KIND)?.alone().0 + Bytes::gib(1).0);
    let engine = Engine::open(config(world, limit, 1))?;
    let table = Table::open(&text(world, limit))?;
    let served = Engine::open(config(world, limit, 1))?;
    let client = Client::start(served.clone())?;
    let ways: [(&str, &dyn Way); 3] = [("Rust", &*engine), ("C ABI", &table), ("serve", &client)];

    let request = world.request(KIND)?;
    let mut outside = [const { Vec::new() }; 3];
    let progress = bar((PROOFS * ways.len()) as u64, "proofs {bar:32} {human_pos}/{human_len} {elapsed}");
    for round in 0..=PROOFS {
        for (times, (name, way)) in outside.iter_mut().zip(ways) {
            let message = World::named(&request, &format!("{name}-{round}"));
            let begun = Instant::now();
            let answer = way.prove(&message)?;
            let seconds = begun.elapsed().as_secs_f64();
            if answer.status() != Status::Completed {
                return Err(format!("{name}: no proof: {}", answer.error_message).into());
            }
            // The first one loads the circuit.
            if round > 0 {
                times.push(1000.0 * seconds - answer.total_ms as f64);
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    let mut repeated = [const { Vec::new() }; 3];
    for _ in 0..REPEATS {
        for (times, (name, way)) in repeated.iter_mut().zip(ways) {
            let message = World::named(&request, &format!("{name}-{PROOFS}"));
            let begun = Instant::now();
            way.prove(&message)?;
            times.push(1000.0 * begun.elapsed().as_secs_f64());
        }
    }
    let mut report = Report::default();
    report.note(format!(
        "a request of {} bytes; new: time at the caller less the engine's own (whole milliseconds); repeated: answered from what is kept",
        request.encode_to_vec().len()
    ));
    rows(&mut report, "new", ways.map(|(name, _)| name), &mut outside);
    rows(&mut report, "repeated", ways.map(|(name, _)| name), &mut repeated);
    drop(client);
    drop(table);
    served.shutdown(Shutdown::Abort);
    engine.shutdown(Shutdown::Abort);
    Ok(report)
}

fn rows(report: &mut Report, what: &str, names: [&str; 3], times: &mut [Vec<f64>; 3]) {
    let mut rust = 0.0;
    for (index, (name, times)) in names.into_iter().zip(times).enumerate() {
        let [median, most] = quantiles(times, [0.5, 0.99]);
        report.value(&format!("{what}, {name}: median"), median, "ms", Goal::None);
        report.value(&format!("{what}, {name}: 99 %"), most, "ms", Goal::None);
        if index == 0 {
            rust = median;
            continue;
        }
        let goal = if index == 1 { ABI_GOAL } else { SERVE_GOAL };
        report.value(&format!("{what}, {name} over Rust"), median - rust, "ms", Goal::AtMost(goal));
    }
}

/// The configuration of `load::config` as a host writes it.
fn text(world: &World, Bytes(limit): Bytes) -> String {
    format!(
        "threads = {}\nsynthesis_workers = 1\nallow_development_parameters = true\n[memory]\nlimit = {limit}\n\
         [parameters]\ndirectories = [{:?}]\n[cache]\ndirectory = {:?}\n",
        world.threads(),
        world.parameter_folder(),
        world.cache_folder(),
    )
}
