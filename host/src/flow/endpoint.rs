//! Addresses of services and names of regions: those that a request can be made of. The stores' client takes any, and panics later.

use url::Url;

/// Whether a text is the address of a service: `http://` or `https://`, a host, and nothing that no request's address can have.
#[must_use]
pub fn is_endpoint(text: &str) -> bool {
    let Some(("http" | "https", rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    let is_of_address = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    !host.is_empty()
        && host.chars().all(is_of_host)
        && !user.contains(['[', ']', '@'])
        && rest.chars().all(is_of_address)
        && Url::parse(text).is_ok_and(|url| url.has_host())
}

/// Whether a text can name a region. It is a part of hosts' names, and of what is signed.
#[must_use]
pub fn is_region(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Whether a text can name a tenant: an identifier or a domain, which is a part of an address.
#[must_use]
pub fn is_tenant(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_addresses_that_requests_can_be_made_of() {
        for bad in [
            "",
            "garbage",
            "localhost:9000",
            "//h",
            "https:////h",
            "https://",
            "https://:9000",
            "https://user@",
            "https://@@h",
            "ftp://x",
            "HTTP://h",
            "https://h:9000/a b",
            "https://h h",
            "https://h\\a",
            "https://%68",
            "https://h/é",
            "https://é",
            "https://h:port",
            "https://h:65536",
            "https://[::1",
            "https://[x@h",
            "https://h/{a}",
            " https://h",
            "https://h\n",
        ] {
            assert!(!is_endpoint(bad), "{bad:?}");
        }
        for good in [
            "http://localhost:9000",
            "https://h",
            "https://h/",
            "https://h.example.com:9000/a/%20b",
            "http://127.0.0.1:9",
            "http://[::1]:9000",
            "https://user:p%40ss@my_host/x",
        ] {
            assert!(is_endpoint(good), "{good}");
        }
    }

    #[test]
    fn regions_are_words_without_quotes() {
        for bad in ["", "\"eu-west-1\"", "eu west", "eu/west", "é"] {
            assert!(!is_region(bad), "{bad}");
        }
        assert!(is_region("eu-west-1") && is_region("auto"));
        for bad in ["", "a b", "a/b", "é"] {
            assert!(!is_tenant(bad), "{bad}");
        }
        assert!(is_tenant("contoso.onmicrosoft.com") && is_tenant("72f988bf-86f1"));
    }
}
