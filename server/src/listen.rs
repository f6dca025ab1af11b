//! Where to listen: TCP addresses and unix sockets.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use forebay::{Code, Error, Result};
use tokio::net::{TcpListener, UnixListener};

/// An address as it is written: `host:port`, or `unix:///path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(String),
    /// A unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        let wrong = |why: &str| {
            let expected = "expected host:port such as 127.0.0.1:9820, or unix:///path";
            Err(Error::new(Code::InvalidConfig, format!("listen {text:?}: {why}; {expected}")))
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path.starts_with('/') && !path.ends_with('/') {
                true => Ok(Address::Unix(path.into())),
                false => wrong("the path is not absolute"),
            };
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Address::Tcp(text.to_owned()))
            }
            _ => wrong("there is no port"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => f.write_str(address),
            Address::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// A bound address.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// A socket's file, which goes with it.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Address {
    /// The address's socket addresses; none of a unix socket.
    fn resolve(&self) -> Result<Vec<SocketAddr>> {
        let Address::Tcp(text) = self else { return Ok(Vec::new()) };
        let found = text.to_socket_addrs().map_err(|e| Error::system(format!("resolving {text}"), e))?;
        Ok(found.collect())
    }

    /// Whether nobody outside this machine can reach it.
    pub fn is_local(&self) -> Result<bool> {
        let local = |ip: IpAddr| ip.to_canonical().is_loopback();
        Ok(self.resolve()?.into_iter().all(|address| local(address.ip())))
    }

    /// Binds it. A socket's file has mode 0600 from its first moment; a stale one is replaced, one that somebody
    /// listens on is an error.
    pub async fn bind(&self) -> Result<Listener> {
        match self {
            Address::Tcp(text) => {
                let addresses = self.resolve()?;
                let bound = TcpListener::bind(addresses.as_slice()).await;
                bound.map(Listener::Tcp).map_err(|e| Error::system(format!("listening on {text}"), e))
            }
            Address::Unix(path) => bind_socket(path),
        }
    }
}

/// The socket is made in a folder that is ours alone and then moved into place, so that nobody can connect before its
/// mode is set.
fn bind_socket(path: &Path) -> Result<Listener> {
    let failed = |e| Error::system(format!("listening on unix://{}", path.display()), e);
    if UnixStream::connect(path).is_ok() {
        let text = format!("unix://{} is in use: somebody listens on it", path.display());
        return Err(Error::new(Code::System, text));
    }
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new("/"));
    let private = parent.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    std::fs::create_dir(&private).map_err(failed)?;
    let made = (|| {
        std::fs::set_permissions(&private, PermissionsExt::from_mode(0o700))?;
        let fresh = private.join("s");
        let listener = std::os::unix::net::UnixListener::bind(&fresh)?;
        std::fs::set_permissions(&fresh, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        std::fs::rename(&fresh, path)?;
        Ok(listener)
    })();
    let _ = std::fs::remove_dir_all(&private);
    made.map(|listener| Listener::Unix(listener, SocketFile(path.to_owned()))).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["127.0.0.1:9820", "[::1]:0", "localhost:80", "unix:///run/forebay/s"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("unix:/run/s".parse::<Address>().unwrap(), Address::Unix("/run/s".into()));
        for text in ["", "9820", "host", "host:", "host:99999", ":80", "unix://relative", "unix:///run/"] {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.code(), Code::InvalidConfig, "{text:?}");
        }
    }

    #[test]
    fn only_loopback_is_local() {
        for (text, local) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("unix:///run/s", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().is_local().unwrap(), local, "{text}");
        }
    }

    #[tokio::test]
    async fn a_socket_is_private_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let address = Address::Unix(path.clone());
        // Left behind by a process that died.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let listener = address.bind().await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = address.bind().await.err().unwrap();
        assert!(error.message().contains("in use"), "{error}");
        assert!(path.exists());
        drop(listener);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
