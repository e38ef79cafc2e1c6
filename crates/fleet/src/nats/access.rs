//! How the server is reached, and what is said when it is not. A message names the server (without
//! secrets), the cause and the way out.

use async_nats::rustls::{CertificateError, Error as TlsError};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, ServerAddr};
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where the server is and who we are.
#[derive(Clone)]
pub struct Access {
    /// `nats://host:port` or `tls://host:port`; several with commas between them. Credentials in it
    /// (`nats://user:password@host`, `nats://token@host`) are used and never shown.
    pub url: String,
    /// A token that the server asks for.
    pub token: Option<String>,
    /// A user and its password.
    pub user: Option<(String, String)>,
    /// A file of credentials, as `nsc` writes it.
    pub creds: Option<PathBuf>,
    /// A file that holds the seed of an nkey.
    pub nkey_seed_file: Option<PathBuf>,
    /// Certificates of the authority that signed the server's; those of the system if there are none.
    pub tls_ca: Option<PathBuf>,
    /// Our own certificate and its key, if the server asks for one.
    pub tls_identity: Option<(PathBuf, PathBuf)>,
    /// Talk only if nobody can listen.
    pub tls_required: bool,
    /// What the server's lists call us.
    pub name: String,
    /// Subjects that answers come to begin with this.
    pub inbox_prefix: String,
}

impl Default for Access {
    fn default() -> Access {
        Access {
            url: "nats://127.0.0.1:4222".into(),
            token: None,
            user: None,
            creds: None,
            nkey_seed_file: None,
            tls_ca: None,
            tls_identity: None,
            tls_required: false,
            name: "ergodic".into(),
            inbox_prefix: "_INBOX_ergodic".into(),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("url", &self.shown())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One server of a URL, and the credentials that stood in it.
struct Server {
    plain: String,
    user: Option<String>,
    password: Option<String>,
}

impl Access {
    /// The default, at this URL.
    pub fn at(url: impl Into<String>) -> Access {
        Access { url: url.into(), ..Access::default() }
    }

    /// The URL without credentials.
    pub fn shown(&self) -> String {
        let plain: Vec<String> = self.servers().into_iter().map(|server| server.plain).collect();
        plain.join(",")
    }

    fn servers(&self) -> Vec<Server> {
        self.url.split(',').map(str::trim).filter(|url| !url.is_empty()).map(split).collect()
    }

    /// Addresses and options for the client.
    pub(super) fn options(&self) -> Result<(Vec<ServerAddr>, ConnectOptions), String> {
        let servers = self.servers();
        let mut addresses = Vec::new();
        for server in &servers {
            let address: ServerAddr = server.plain.parse().map_err(|error: io::Error| {
                format!("`{}` names no NATS server ({error}); write nats://HOST:PORT or tls://HOST:PORT", server.plain)
            })?;
            if address.is_websocket() || address.host().is_empty() {
                return Err(format!(
                    "`{}` names no NATS server; write nats://HOST:PORT or tls://HOST:PORT",
                    server.plain
                ));
            }
            addresses.push(address);
        }
        if addresses.is_empty() {
            return Err("the URL of the NATS server is empty; write nats://HOST:PORT".into());
        }
        let options = self.secrets(ConnectOptions::new(), &servers)?;
        let options = self.tls(options)?;
        if !self.inbox_prefix.split('.').all(super::valid_token) {
            return Err(format!(
                "`{}` cannot begin the subjects of answers; use letters, digits, `-`, `_` and dots between them",
                self.inbox_prefix
            ));
        }
        Ok((addresses, options.name(&self.name).custom_inbox_prefix(&self.inbox_prefix)))
    }

    fn secrets(
        &self,
        mut options: ConnectOptions,
        servers: &[Server],
    ) -> Result<ConnectOptions, String> {
        let given = servers
            .iter()
            .find_map(|server| server.user.clone().map(|user| (user, &server.password)));
        match given {
            Some((user, Some(password))) => {
                options = options.user_and_password(user, password.clone())
            }
            Some((token, None)) => options = options.token(token),
            None => {}
        }
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some((user, password)) = &self.user {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(path) = &self.creds {
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!(
                    "cannot read the credentials in {}: {error}; give the file that `nsc` wrote",
                    path.display()
                )
            })?;
            options = options.credentials(&text).map_err(|error| {
                format!(
                    "{} holds no credentials: {error}; give the file that `nsc` wrote",
                    path.display()
                )
            })?;
        }
        if let Some(path) = &self.nkey_seed_file {
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!("cannot read the nkey seed in {}: {error}; give the file that `nk -gen user` wrote", path.display())
            })?;
            let seed = text.split_whitespace().find(|word| word.starts_with('S')).ok_or_else(|| {
                format!("{} holds no nkey seed (a word that begins with S); give the file that `nk -gen user` wrote", path.display())
            })?;
            options = options.nkey(seed.to_string());
        }
        Ok(options)
    }

    fn tls(&self, mut options: ConnectOptions) -> Result<ConnectOptions, String> {
        let readable = |path: &PathBuf, what: &str| {
            std::fs::File::open(path).map(drop).map_err(|error| {
                format!("cannot read {what} in {}: {error}; give a PEM file", path.display())
            })
        };
        if let Some(path) = &self.tls_ca {
            readable(path, "the certificates of the authority")?;
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.tls_identity {
            readable(certificate, "our certificate")?;
            readable(key, "the key of our certificate")?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options.require_tls(self.tls_required))
    }

    /// What to say about an attempt that failed.
    pub(super) fn explain(&self, error: &ConnectError) -> String {
        let url = self.shown();
        let secured = self.tls_required || self.url.contains("tls://");
        if let Some(tls) = find::<TlsError>(error) {
            return self.explain_tls(&url, tls);
        }
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation => format!(
                "the NATS server at {url} does not accept our credentials; check the token, user, credentials or nkey"
            ),
            ConnectErrorKind::Authentication => format!(
                "the NATS server at {url} asks for a signature that our key cannot give; check the credentials or the nkey seed"
            ),
            ConnectErrorKind::Dns => format!(
                "cannot find the host of {url}: {}; check the name, or give an address",
                cause(error)
            ),
            ConnectErrorKind::TimedOut => no_answer(&url),
            ConnectErrorKind::Tls => format!(
                "cannot set up TLS for {url}: {}; check the certificates, and the key, that were given",
                cause(error)
            ),
            _ if secured && find::<io::Error>(error).is_some_and(cut) => format!(
                "the NATS server at {url} ended the TLS handshake: {}; does it speak TLS, and does it ask for a certificate of ours?",
                cause(error)
            ),
            _ => format!(
                "cannot reach the NATS server at {url}: {}; is it running there? (nats-server -js)",
                cause(error)
            ),
        }
    }

    fn explain_tls(&self, url: &str, error: &TlsError) -> String {
        match error {
            TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
                "the NATS server at {url} uses TLS, and its certificate is signed by nobody we know; give the certificate of its authority (a CA file)"
            ),
            TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => format!(
                "the certificate of the NATS server at {url} is for another name ({error}); use the name that it was made for, or have it made for this one"
            ),
            TlsError::InvalidCertificate(_) => format!(
                "the certificate of the NATS server at {url} is not valid: {error}; give the server a new one"
            ),
            TlsError::AlertReceived(_) => format!(
                "the NATS server at {url} refused our TLS connection: {error}; it may ask for a certificate of ours"
            ),
            _ => format!(
                "no TLS connection to the NATS server at {url}: {error}; does it speak TLS? (nats:// instead of tls:// does without)"
            ),
        }
    }
}

/// What to say about a server that accepts and then says nothing.
pub(super) fn no_answer(url: &str) -> String {
    format!(
        "the NATS server at {url} does not answer; check the address, the port and any firewall between here and there"
    )
}

/// Whether the other side hung up.
fn cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

/// The innermost text of a chain of errors.
fn cause(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// An error of this type somewhere in a chain, also inside of an [`io::Error`], whose `source` leaves
/// out its own content.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) =
            inside.and_then(|inner| (inner as &(dyn Error + 'static)).downcast_ref::<T>())
        {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Takes credentials out of a URL.
fn split(url: &str) -> Server {
    let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, _) = rest.split_at(end);
    let (secret, host) = match authority.rsplit_once('@') {
        Some((secret, host)) => (Some(secret), host),
        None => (None, authority),
    };
    let plain = format!("{scheme}://{host}");
    let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
        return Server { plain, user: None, password: None };
    };
    match secret.split_once(':') {
        Some((user, password)) => {
            Server { plain, user: Some(decode(user)), password: Some(decode(password)) }
        }
        None => Server { plain, user: Some(decode(secret)), password: None },
    }
}

/// Undoes `%40` and the like.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_of_urls() {
        let parts = |url: &str| {
            let server = split(url);
            (server.plain, server.user, server.password)
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(parts("nats://h:1"), ("nats://h:1".into(), None, None));
        assert_eq!(parts("h"), ("nats://h".into(), None, None));
        assert_eq!(parts("nats://u:p%40q@h:1"), ("nats://h:1".into(), some("u"), some("p@q")));
        assert_eq!(parts("tls://s3cret@h"), ("tls://h".into(), some("s3cret"), None));
        assert_eq!(parts("nats://a@b@h"), ("nats://h".into(), some("a@b"), None));
        assert_eq!(
            parts("nats://u:p@[::1]:9/x@y"),
            ("nats://[::1]:9".into(), some("u"), some("p"))
        );
        assert_eq!(decode("%4"), "%4");
        assert_eq!(decode("%zz%41"), "%zzA");
    }

    #[test]
    fn secrets_are_not_shown() {
        let access = Access::at("nats://u:hush@a:1, nats://hush@b:2");
        assert_eq!(access.shown(), "nats://a:1,nats://b:2");
        assert!(!format!("{access:?}").contains("hush"));
    }

    #[test]
    fn bad_urls_are_refused() {
        for bad in ["", ",", "http://h", "nats://", "ws://h", "nats://h:99999"] {
            let error = Access::at(bad).options().map(drop).unwrap_err();
            assert!(error.contains("nats://HOST:PORT"), "{bad}: {error}");
        }
        let missing = Access { creds: Some("/no/such/file".into()), ..Access::default() };
        assert!(missing.options().map(drop).unwrap_err().contains("/no/such/file"));
    }
}
