//! A host: `libforebay.so`, loaded at run time, driven through its table of functions.

use std::ffi::{c_char, CStr};
use std::ptr;
use std::time::{Duration, Instant};

use forebay::ffi::{
    forebay_api_v1, forebay_buffer, forebay_engine, forebay_error, FOREBAY_CLOSE_CANCEL, FOREBAY_OK,
};
use forebay::kind::ProofKind;
use forebay::wire::await_proof_response::Status;
use forebay::wire::{AwaitProofResponse, SubmitProofRequest};
use forebay::{Code, Error, Result};
use prost::Message;
use serde_json::Value;

use super::{cache, request};

/// Longer than anything here takes on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

fn api() -> &'static forebay_api_v1 {
    let library = super::library::load();
    type Table = unsafe extern "C" fn(u32) -> *const forebay_api_v1;
    // SAFETY: the export has this signature, takes any number, and version 1 gives a static table.
    let table = unsafe {
        let table = library.get::<Table>(b"forebay_api\0").expect("the table's function");
        &*table(1)
    };
    std::mem::forget(library);
    table
}

/// An engine behind the C ABI; dropping it closes it.
pub struct Host {
    api: &'static forebay_api_v1,
    handle: *mut forebay_engine,
}

// SAFETY: every function of the table may be called from any thread.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

fn bytes_of<T>(text: &str) -> (*const T, usize) {
    (text.as_ptr().cast(), text.len())
}

impl Host {
    /// Opens an engine with this configuration.
    pub fn open(config: &str) -> Result<Host> {
        let api = api();
        let mut host = Host { api, handle: ptr::null_mut() };
        let (text, len) = bytes_of::<c_char>(config);
        let mut handle = ptr::null_mut();
        // SAFETY: a live text and places of our own.
        host.call(|error| unsafe { (api.open)(text, len, &mut handle, error) })?;
        host.handle = handle;
        Ok(host)
    }

    fn call(&self, call: impl FnOnce(*mut *mut forebay_error) -> i32) -> Result<()> {
        let mut error = ptr::null_mut();
        let number = call(&mut error);
        if number == FOREBAY_OK {
            assert!(error.is_null(), "success with an error object");
            return Ok(());
        }
        // SAFETY: the error object is read before it is freed, once.
        let (code, message) = unsafe {
            let code = (self.api.error_code)(error);
            let message = CStr::from_ptr((self.api.error_message)(error)).to_str().expect("UTF-8").to_owned();
            (self.api.error_free)(error);
            (code, message)
        };
        assert_eq!(number, code, "the returned code is the object's: {message}");
        let code = Code::ALL.into_iter().find(|code| *code as i32 == number).expect("a known code");
        Err(Error::new(code, message))
    }

    fn fetch(
        &self,
        call: impl FnOnce(*mut *mut forebay_buffer, *mut *mut forebay_error) -> i32,
    ) -> Result<Vec<u8>> {
        let mut buffer = ptr::null_mut();
        self.call(|error| call(&mut buffer, error))?;
        // SAFETY: a live buffer, read before it is freed, once.
        unsafe {
            let (data, len) = ((self.api.buffer_data)(buffer), (self.api.buffer_len)(buffer));
            let bytes = std::slice::from_raw_parts(data, len).to_vec();
            (self.api.buffer_free)(buffer);
            Ok(bytes)
        }
    }

    /// Hands in a message; gives the job's id.
    pub fn submit_bytes(&self, message: &[u8]) -> Result<String> {
        let (data, len) = (message.as_ptr(), message.len());
        // SAFETY: live bytes and places of our own.
        let id = self.fetch(|id, error| unsafe {
            (self.api.submit)(self.handle, data, len, id, ptr::null_mut(), error)
        })?;
        Ok(String::from_utf8(id).expect("a job id in UTF-8"))
    }

    /// Hands in a request; gives the job's id.
    pub fn submit(&self, request: &SubmitProofRequest) -> Result<String> {
        self.submit_bytes(&request.encode_to_vec())
    }

    /// Waits for a job's answer for this long.
    pub fn wait(&self, job: &str, timeout: Duration) -> Result<AwaitProofResponse> {
        let (text, len) = bytes_of(job);
        let ms = timeout.as_millis().max(1) as u64;
        // SAFETY: a live text and places of our own.
        let answer = self
            .fetch(|answer, error| unsafe { (self.api.wait)(self.handle, text, len, ms, answer, error) })?;
        Ok(AwaitProofResponse::decode(answer.as_slice()).expect("an answer that decodes"))
    }

    /// A job's answer, or status `UNKNOWN`.
    pub fn poll(&self, job: &str) -> Result<AwaitProofResponse> {
        let (text, len) = bytes_of(job);
        // SAFETY: a live text and places of our own.
        let answer =
            self.fetch(|answer, error| unsafe { (self.api.poll)(self.handle, text, len, answer, error) })?;
        Ok(AwaitProofResponse::decode(answer.as_slice()).expect("an answer that decodes"))
    }

    /// Ends a job; whether it was running.
    pub fn cancel(&self, job: &str) -> Result<bool> {
        let (text, len) = bytes_of(job);
        let mut was_running = false;
        // SAFETY: a live text and places of our own.
        self.call(|error| unsafe { (self.api.cancel)(self.handle, text, len, &mut was_running, error) })?;
        Ok(was_running)
    }

    /// Gives an idle circuit's memory back.
    pub fn evict(&self, kind: ProofKind) -> Result<()> {
        let circuit = cache::circuit(kind).to_string();
        let (text, len) = bytes_of(&circuit);
        let api = self.api;
        // SAFETY: a live text and a place of our own; the others may be null.
        self.call(|error| unsafe {
            (api.evict)(self.handle, text, len, ptr::null_mut(), ptr::null_mut(), error)
        })
    }

    /// The status document.
    pub fn status(&self) -> Value {
        // SAFETY: places of our own.
        let json = self.fetch(|json, error| unsafe { (self.api.status)(self.handle, json, error) });
        serde_json::from_slice(&json.expect("a status")).expect("a status in JSON")
    }

    /// One job's facts.
    pub fn report(&self, job: &str) -> Result<Value> {
        let (text, len) = bytes_of(job);
        // SAFETY: a live text and places of our own.
        let json =
            self.fetch(|json, error| unsafe { (self.api.report)(self.handle, text, len, json, error) })?;
        Ok(serde_json::from_slice(&json).expect("a report in JSON"))
    }

    /// Closes the engine in this mode; the handle is dead then.
    pub fn close(&self, mode: u32) -> Result<()> {
        // SAFETY: the error's place is our own.
        self.call(|error| unsafe { (self.api.close)(self.handle, mode, error) })
    }

    /// The request is refused with this code and a message that has these parts, and keeps nothing.
    #[track_caller]
    pub fn refuses(&self, request: &SubmitProofRequest, code: Code, parts: &[&str]) {
        self.refuses_bytes(&request.encode_to_vec(), code, parts);
    }

    /// As [`Host::refuses`], of a message.
    #[track_caller]
    pub fn refuses_bytes(&self, message: &[u8], code: Code, parts: &[&str]) {
        let error = self.submit_bytes(message).expect_err("a refusal");
        says(&error, code, parts);
        let status = self.status();
        assert_eq!(status["memory"]["reserved"], 0, "{status}");
        assert_eq!(status["jobs"], serde_json::json!([]));
    }

    /// The request is accepted, and its job fails with this code and a message that has these parts.
    #[track_caller]
    pub fn fails(&self, request: &SubmitProofRequest, code: Code, parts: &[&str]) {
        let job = self.submit(request).expect("an accepted request");
        let answer = self.answer(&job);
        assert_eq!((answer.status(), answer.proof.len()), (Status::Failed, 0), "{answer:?}");
        let (name, message) = answer.error_message.split_once(": ").expect("code and message");
        assert_eq!(name, code.name(), "{message}");
        says(&Error::new(code, message), code, parts);
        self.holds_nothing();
    }

    /// The answer of a job that ends.
    #[track_caller]
    pub fn answer(&self, job: &str) -> AwaitProofResponse {
        let answer = self.wait(job, PATIENCE).expect("an answer");
        assert_ne!(answer.status(), Status::Timeout, "{job} hangs: {}", self.status());
        assert_eq!(answer.job_id, job);
        answer
    }

    /// The job ends with a proof that Filecoin's own verifier accepts.
    #[track_caller]
    pub fn proves(&self, job: &str, kind: ProofKind) -> Vec<u8> {
        let answer = self.answer(job);
        assert_eq!((answer.status(), answer.error_message.as_str()), (Status::Completed, ""));
        let verified = cache::sector().verify(request::of_sector(kind), &answer.proof);
        assert!(verified.expect("Filecoin's verifier"), "a {kind} proof that Filecoin refuses");
        answer.proof
    }

    /// A good window PoSt goes through, and nothing stays booked.
    #[track_caller]
    pub fn still_works(&self) {
        let job = self.submit(&request::good(ProofKind::WindowPost)).expect("an accepted request");
        self.proves(&job, ProofKind::WindowPost);
        self.holds_nothing();
    }

    /// Once idle circuits are evicted, nothing is booked and no job is left.
    #[track_caller]
    pub fn holds_nothing(&self) {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let evicted = ProofKind::ALL.into_iter().all(|kind| self.evict(kind).is_ok());
            let status = self.status();
            let empty = |name: &str| status[name].as_array().is_some_and(|list| list.is_empty());
            if evicted && status["memory"]["reserved"] == 0 && empty("jobs") && empty("circuits") {
                assert!(status["memory"]["peak"].as_u64() <= status["memory"]["limit"].as_u64(), "{status}");
                assert_eq!(status["memory"]["overruns"], 0, "{status}");
                assert_eq!(status["totals"]["panics"], 0, "{status}");
                return;
            }
            assert!(Instant::now() < until, "still booked: {status}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // A test may have closed it already.
            let _ = self.close(FOREBAY_CLOSE_CANCEL);
        }
    }
}

/// The error has this code and all these parts in its message.
#[track_caller]
pub fn says(error: &Error, code: Code, parts: &[&str]) {
    assert_eq!(error.code(), code, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} is missing in: {error}");
    }
}
