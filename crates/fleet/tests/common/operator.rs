//! Credentials without the tool that makes them: accounts and users are texts that a key has signed.

use nkeys::KeyPair;
use serde_json::json;

/// Credentials as an operator gives them: an account and a user in it, signed one by the other.
pub struct Operator {
    /// What the server has to know.
    pub config: String,
    /// What the user has.
    pub creds: String,
}

impl Operator {
    pub fn new() -> Operator {
        let (operator, user) = (KeyPair::new_operator(), KeyPair::new_user());
        let (account, system) = (KeyPair::new_account(), KeyPair::new_account());
        let limits = json!({
            "subs": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "data": -1, "payload": -1,
            "wildcards": true, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
        });
        let claims = json!({"type": "account", "version": 2, "limits": limits});
        let of_account = token(&operator, &account, claims);
        // Without an account of its own for the system, the server has no JetStream.
        let of_system = token(&operator, &system, json!({"type": "account", "version": 2}));
        let claims =
            json!({"type": "operator", "version": 2, "system_account": system.public_key()});
        let of_operator = token(&operator, &operator, claims);
        let claims = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1});
        let of_user = token(&account, &user, claims);
        let (account, system) = (account.public_key(), system.public_key());
        let config = format!(
            "operator: {of_operator}\nsystem_account: {system}\nresolver: MEMORY\n\
             resolver_preload: {{ {account}: {of_account}, {system}: {of_system} }}\n"
        );
        let seed = user.seed().unwrap();
        let creds = format!(
            "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        Operator { config, creds }
    }
}

/// What one key says of another, signed.
fn token(issuer: &KeyPair, subject: &KeyPair, nats: serde_json::Value) -> String {
    let claims = json!({
        "jti": subject.public_key(), "iat": 1, "iss": issuer.public_key(), "name": "test",
        "sub": subject.public_key(), "nats": nats,
    });
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let text = format!(
        "{}.{}",
        base64(head.to_string().as_bytes()),
        base64(claims.to_string().as_bytes())
    );
    let signature = issuer.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", base64(&signature))
}

/// For addresses, without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = |three: &[u8]| {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | three.get(i).copied().map_or(0, u32::from));
        (0..=three.len()).map(move |i| DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char)
    };
    bytes.chunks(3).flat_map(digits).collect()
}
