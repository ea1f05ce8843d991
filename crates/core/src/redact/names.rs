//! Names of values that are secrets, whatever the value looks like.

/// Words that make a name the name of a secret, wherever they are in it.
const WORDS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "authorization",
    "apikey",
    "jwt",
    "cookie",
];

/// Words that make a key the name of a secret, in front of `key`.
const KEYS: [&str; 7] = ["api", "access", "private", "secret", "encryption", "signing", "auth"];

/// Whether a value under this name is a secret. `max_tokens` and `keyword` are not.
pub(crate) fn names_secret(name: &str) -> bool {
    let words = words(name);
    let is_key = |pair: &[String]| KEYS.contains(&pair[0].as_str()) && pair[1] == "key";
    words.iter().any(|word| WORDS.contains(&word.as_str()))
        || words.windows(2).any(is_key)
        || words.last().is_some_and(|word| matches!(word.as_str(), "token" | "bearer" | "auth"))
}

/// The words of a name in any case style, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let is_break = !c.is_alphanumeric() || (was_lower && c.is_uppercase());
        was_lower = c.is_lowercase() || c.is_numeric();
        if is_break {
            out.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = out.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_case_style() {
        let names = "password userPassword API_KEY apiKey APIKey x-api-key token access_token accessToken Authorization client_secret \
             aws.secret.access.key private_key db_pw credentials Cookie auth";
        for name in names.split_whitespace() {
            assert!(names_secret(name), "{name}");
        }
        for name in
            ["max_tokens", "token_count", "tokens", "keyword", "key", "author", "primary_key", "secretary", "pwm", ""]
        {
            assert!(!names_secret(name), "{name}");
        }
    }
}
