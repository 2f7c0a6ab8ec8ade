//! What templates render to, and what they refuse.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn rendered(text: &str) -> Result<Option<Rendered>, Refusal> {
    let env =
        BTreeMap::from([("ZONE".to_owned(), Some("eu".to_owned())), ("UNSET".to_owned(), None)]);
    let secret = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let variables = BTreeMap::from([
        secret("WASMHOST_SECRET_A_B_1", "p'w{{"),
        secret("WASMHOST_SECRET_LONE", "other\n"),
        secret("WASMHOST_SECRET_EMPTY", "\n"),
    ]);
    let secrets = Secrets { variables, folder: None };
    let mut templates = Templates::new("r1", "2026-08-01", env, secrets);
    templates.set("month", Value::from("2013-01"));
    templates.set("n", Value::from(3));
    templates.collect(&BTreeMap::from([("ids".to_owned(), Mark::default())]));
    templates.set("odd", Value::from("a\u{fdd1}ids\u{fdd1}"));
    templates.render(text)
}

fn render(text: &str) -> Result<Option<String>, Refusal> {
    rendered(text).map(|rendered| {
        rendered.map(|rendered| match rendered {
            Rendered::Text(text) | Rendered::Collected(text) => text,
            Rendered::Secret(secret) => panic!("{secret}"),
        })
    })
}

#[test]
fn secrets_are_shown_as_they_are_named_and_given_as_they_are() {
    for (text, shown, value) in [
        ("{{ secret('a/b-1') }}", "{{ secret:a/b-1 }}", "p'w{{"),
        ("{{secret:a/b-1}}", "{{ secret:a/b-1 }}", "p'w{{"),
        (
            "{{ month }} {{ secret: lone }}:{{ secret('a/b-1') ~ n }} {x",
            "2013-01 {{ secret:lone }}:{{ secret:a/b-1 }}3 {x",
            "2013-01 other:p'w{{3 {x",
        ),
        ("{{ secret('a/b-1') | upper }}", "{{ secret:a/b-1 }}", "p'w{{"),
    ] {
        let Ok(Some(Rendered::Secret(secret))) = rendered(text) else { panic!("{text}") };
        assert_eq!((secret.to_string().as_str(), secret.reveal()), (shown, value), "{text}");
        assert!(!secret.redact(value).contains("p'w"), "{text}");
    }
    for (text, code) in [
        ("{{ secret('a/b-1') }}{{ secret('a-b/1') }}", Code::Contradiction),
        ("{{ secret('no/such') }}", Code::NotFound),
        ("{{ secret:empty }}", Code::NotFound),
        ("{{ secret:../x }}", Code::NotFound),
        ("{{ secret:a'b }}", Code::NotFound),
        ("{{ secret('lone') | replace('0', '7') }}", Code::WrongValue),
        ("{{ secret('lone')[1] }}", Code::WrongValue),
        ("{{ 'a' if secret('no/such') == 'y' else 'b' }}", Code::WrongValue),
        ("{{ secret('lone') | trim('\u{fdd0}') }}", Code::WrongValue),
    ] {
        let Err(Refusal::Because { code: found, .. }) = rendered(text) else { panic!("{text}") };
        assert_eq!(found, code, "{text}");
    }
}

#[test]
fn collected_values_stand_where_they_are_named_and_nothing_is_done_to_them() {
    let mark = collected::mark("ids");
    for (text, plain) in [
        ("a IN ({{ ids }})", format!("a IN ({mark})")),
        (
            "{{- ids -}} {{ ids | default('}}', true) }} {{ month }}",
            format!("{mark}{mark} 2013-01"),
        ),
    ] {
        assert_eq!(rendered(text), Ok(Some(Rendered::Collected(plain))), "{text}");
    }
    for bad in [
        "{{ odd }}",
        "{{ ids }} {{ odd }}",
        "{{ ids | upper }}",
        "{{ ids | lower }}",
        "{{ ids | trim }}",
        "{{ ids | default('') | lower }}",
        "{{ ids | replace('x', 'y') }}",
        "{{ ids ~ n }}",
        "{{ 'a' if ids == 'x' else 'b' }}",
        "{{ ids if n > 5 else 'b' }}",
        "{{ n | default(ids) }}",
        "{{ ids }} {{ ids[1] }}",
        "{{ ids }} {{ secret('lone') }}",
    ] {
        let Err(Refusal::Because { code, .. }) = rendered(bad) else { panic!("{bad}") };
        assert!(matches!(code, Code::WrongValue | Code::NotAllowed), "{bad}");
    }
}

#[test]
fn expressions_are_rendered_and_plain_text_is_left_alone() {
    for (text, expected) in [
        ("flights-{{ month }}.csv", Some("flights-2013-01.csv")),
        ("{{ x | default('a') }}/{{ logical_date }}", Some("a/2026-08-01")),
        ("{{ 'many' if n > 2 else 'few' }}\n", Some("many\n")),
        ("<{{ '{{ & {%' }}>", Some("<{{ & {%>")),
        ("{{ logical_date | replace('-', '/') }}*", Some("2026/08/01*")),
        ("{{ env.ZONE }}/{{ env.UNSET | default('x') }}", Some("eu/x")),
        ("{a} % }} {", None),
    ] {
        assert_eq!(render(text).unwrap().as_deref(), expected, "{text}");
    }
}

#[test]
fn refusals_name_the_variable_or_the_feature() {
    let code = |text: &str| match render(text).unwrap_err() {
        Refusal::Because { code, .. } => code,
        Refusal::Follows => panic!("no reason"),
    };
    let Refusal::Because { what, hint, .. } = render("{{ mnth }}").unwrap_err() else {
        panic!("no reason")
    };
    assert!(what.contains("`mnth`") && hint.unwrap().contains("did you mean `month`?"));
    assert_eq!(code("{{ env.HOME }}"), Code::NotAllowed);
    assert_eq!(code("{{ env.HOME | default('a') }}"), Code::NotAllowed);
    assert_eq!(code("{{ env['HOME'] }}"), Code::WrongValue);
    assert_eq!(code("{{ env.UNSET }}"), Code::UnknownName);
    assert_eq!(code("{% for x in y %}{% endfor %}"), Code::WrongValue);
    for bad in ["{{ 'x' * 3 }}", "{{ month | list }}", "{{ n | replace('3', 'x' ~ month) * 2 }}"] {
        assert_eq!(code(bad), Code::WrongValue, "{bad}");
    }
    let growth = "| replace('x', 'xxxxxxxxxxxxxxxx')".repeat(12);
    assert_eq!(code(&format!("{{{{ 'x' {growth} }}}}")), Code::WrongValue);
    assert_eq!(code("{{ month"), Code::WrongValue);
    assert_eq!(code("{{ range(10) }}"), Code::WrongValue);
}
