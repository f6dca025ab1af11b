//! Where to listen: TCP addresses and unix sockets.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use forebay::{Code, Error, Result};
use fs2::FileExt;
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

/// A socket's file, which goes with it; that of another server at the same path, known by device and inode, does not.
pub struct SocketFile(PathBuf, (u64, u64));

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.0).is_ok_and(|now| now == self.1) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|data| (data.dev(), data.ino()))
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
    let parent = path.parent().unwrap_or(Path::new("/"));
    // Two servers that start at once must not both find the path free.
    let folder = fs::File::open(parent).map_err(failed)?;
    folder.lock_exclusive().map_err(failed)?;
    free(path)?;
    let private = tempfile::Builder::new().prefix(".fb").tempdir_in(parent).map_err(failed)?;
    let fresh = private.path().join("s");
    let listener = UnixListener::bind(&fresh).map_err(failed)?;
    fs::set_permissions(&fresh, PermissionsExt::from_mode(0o600)).map_err(failed)?;
    let identity = identity(&fresh).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)?;
    Ok(Listener::Unix(listener, SocketFile(path.to_owned(), identity)))
}

/// Whether a socket may take this path: nothing is there, or the socket of a server that has ended.
fn free(path: &Path) -> Result<()> {
    let taken = |what: &str| {
        let text = format!("unix://{} is in use: {what}; stop it or choose another path", path.display());
        Err(Error::new(Code::System, text))
    };
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::system(format!("listening on unix://{}", path.display()), e)),
        Ok(data) if !data.file_type().is_socket() => taken("a file that is no socket is there"),
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => taken("somebody listens on it"),
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(e) => taken(&format!("a socket is there that does not answer ({e})")),
        },
    }
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

    #[tokio::test]
    async fn a_file_and_the_socket_of_another_server_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let address = Address::Unix(path.clone());
        fs::write(&path, "precious").unwrap();
        assert!(address.bind().await.err().unwrap().message().contains("no socket"));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        let first = address.bind().await.unwrap();
        fs::remove_file(&path).unwrap();
        let second = address.bind().await.unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }
}
