//! The blocks of a flow file and their fields.

use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::field;
use super::fields::later;
use super::options::MERGE_OPTIONS;
use super::options::READ_OPTIONS;
use super::options::WRITE_OPTIONS;
use super::rule_blocks::RULES;
use super::step_blocks::STEPS;
use super::words;

const INCREMENTAL: &str = "belongs to incremental loads, which this version does not have";
const CATALOGS: &str = "belongs to catalogs, which this version does not have";
const OF_AN_ENGINE: &str = "sets up Spark, which does not run here; of its settings, `spark.hadoop.fs.s3a.*` are understood in a connection's `storage`";
const FOLDERS_BY_DATE: &str = "(folders by date) is not in this version";

/// The whole file.
pub(super) static FLOW: Block = Block {
    name: "a flow",
    doc: "One batch job: a source, transforms, rules, destinations.",
    lifts_configure: false,
    fields: &[
        field("name", Kind::Text, "The flow's name: letters, digits, `_`, `-`, `.`.").required(),
        field("vars", Kind::Vars, "Defaults of variables; `--var name=value` wins."),
        field(
            "connections",
            Kind::Named(&CONNECTION),
            "What sources and destinations share, by name.",
        ),
        field(
            "components",
            Kind::Named(&COMPONENT),
            "The components that transforms and rules run, by name.",
        ),
        field(
            "source",
            Kind::OneOrNamed(&SOURCE),
            "Where rows come from; or several sources by name, of which `main` or else the first is transformed, and the others are named by steps and rules.",
        )
            .aliases(&["sources", "input", "inputs"])
            .required(),
        field("transforms", Kind::Chain(&STEPS), "The main chain, in order.")
            .aliases(&["transformations", "transform"]),
        field(
            "rules",
            Kind::ChainOrMap(&RULES),
            "Judged on the main chain's result, before any destination.",
        )
        .aliases(&["validations", "quality_rules"]),
        field(
            "quarantine",
            Kind::Block(&super::destinations::DESTINATION),
            "Where quarantined and rejected rows go; Parquet in the state folder by default.",
        ),
        field(
            "max_quarantine_fraction",
            Kind::Fraction,
            "The largest share of the rows read that may go to the quarantine before the run fails.",
        ),
        field("destinations", Kind::OneOrMany(&super::destinations::DESTINATION), "Where rows go.")
            .aliases(&["destination", "output", "outputs", "target"])
            .required(),
        field("limits", Kind::Limits, "What the flow asks of the sandbox."),
        field(
            "state",
            Kind::Text,
            "Folder of evidence and of the default quarantine; `.wasmhost` beside the flow file by default.",
        ),
        field("engine", Kind::Any, "").aliases(&["ENGINE"]).never(OF_AN_ENGINE),
    ],
};

const FORMAT: &str = "How the data is kept.";
const FILE_FORMAT: &str = "The format of the files where `format` is `file`; Parquet by default.";
const CONNECTION_TYPE: &str = "Accepted, and checked against `format`.";

/// What sources and destinations share.
pub(super) static CONNECTION: Block = Block {
    name: "a connection",
    doc: "What sources and destinations share. Their own settings win, key by key.",
    lifts_configure: true,
    fields: &[
        field("format", Kind::Word(words::CONNECTION_FORMATS), FORMAT),
        field("file_format", Kind::Word(words::CONNECTION_FORMATS), FILE_FORMAT),
        field("connection_type", Kind::Word(words::CONNECTION_FORMATS), CONNECTION_TYPE),
        field(
            "base_path",
            Kind::Text,
            "Folder that relative paths begin at; itself relative to the flow file.",
        ),
        URL_FIELD,
        USER_FIELD,
        PASSWORD_FIELD,
        field("options", Kind::Block(&READ_OPTIONS), "Options of reading.")
            .aliases(&["read_options"]),
        field("write_options", Kind::Block(&WRITE_OPTIONS), "Options of writing."),
        field("merge_options", Kind::Block(&MERGE_OPTIONS), "Options of merging."),
        field(
            "date_folder_partitions",
            Kind::Text,
            "Folders by date that flat files are written into; sources read all that are there.",
        ),
        later("backward_days", INCREMENTAL),
        later("backward", INCREMENTAL),
        later("catalog", CATALOGS),
        later("database", CATALOGS),
        field(
            "storage",
            Kind::Block(&STORAGE),
            "How to get into the object store that its URLs name.",
        ),
    ],
};

/// How to get into an object store.
pub(super) static STORAGE: Block = Block {
    name: "storage",
    doc: "How to get into an object store. What is not set comes from the environment, as each cloud has it.",
    lifts_configure: false,
    fields: &[
        field(
            "endpoint",
            Kind::SensitiveUrl,
            "Where the service is, where that is not the cloud's own.",
        )
        .aliases(&[
            "endpoint_url",
            "aws_endpoint_url",
            "fs.s3a.endpoint",
            "spark.hadoop.fs.s3a.endpoint",
        ])
        .formats(&["s3", "gs", "az"]),
        field("region", Kind::Text, "The region.")
            .aliases(&[
                "aws_region",
                "fs.s3a.endpoint.region",
                "spark.hadoop.fs.s3a.endpoint.region",
            ])
            .formats(&["s3"]),
        field(
            "profile",
            Kind::Text,
            "The profile of `~/.aws` that says what is not said here; it wins over keys in the environment.",
        )
        .aliases(&["aws_profile"])
        .formats(&["s3"]),
        field("access_key_id", Kind::Sensitive, "The access key's name.")
            .aliases(&["aws_access_key_id", "fs.s3a.access.key", "spark.hadoop.fs.s3a.access.key"])
            .formats(&["s3"]),
        field("secret_access_key", Kind::Sensitive, "The access key.")
            .aliases(&[
                "aws_secret_access_key",
                "fs.s3a.secret.key",
                "spark.hadoop.fs.s3a.secret.key",
            ])
            .formats(&["s3"]),
        field("session_token", Kind::Sensitive, "The token of temporary credentials.")
            .aliases(&[
                "aws_session_token",
                "fs.s3a.session.token",
                "spark.hadoop.fs.s3a.session.token",
            ])
            .formats(&["s3"]),
        field(
            "path_style",
            Kind::Bool,
            "Whether the bucket stands in the URL's path; the endpoint decides by default.",
        )
        .aliases(&["fs.s3a.path.style.access", "spark.hadoop.fs.s3a.path.style.access"])
        .formats(&["s3"]),
        field(
            "use_ssl",
            Kind::Bool,
            "False: an endpoint without a scheme is spoken to without TLS.",
        )
        .aliases(&["fs.s3a.connection.ssl.enabled", "spark.hadoop.fs.s3a.connection.ssl.enabled"])
        .formats(&["s3"]),
        field("service_account_path", Kind::Text, "A file with a service account's key.")
            .aliases(&["google_service_account_path"])
            .formats(&["gs"]),
        field("service_account_key", Kind::Sensitive, "A service account's key itself, as JSON.")
            .aliases(&["google_service_account_key"])
            .formats(&["gs"]),
        field("account_name", Kind::Text, "The storage account.")
            .aliases(&["azure_storage_account_name"])
            .formats(&["az"]),
        field("account_key", Kind::Sensitive, "The account's key.")
            .aliases(&["azure_storage_account_key"])
            .formats(&["az"]),
        field("sas_token", Kind::Sensitive, "A shared access signature.")
            .aliases(&["azure_storage_sas_token"])
            .formats(&["az"]),
        field("client_id", Kind::Text, "The application that asks.")
            .aliases(&["azure_client_id"])
            .formats(&["az"]),
        field("client_secret", Kind::Sensitive, "The application's password.")
            .aliases(&["azure_client_secret"])
            .formats(&["az"]),
        field("tenant_id", Kind::Text, "The application's tenant.")
            .aliases(&["azure_tenant_id"])
            .formats(&["az"]),
        field(
            "anonymous",
            Kind::Bool,
            "Whether requests go without credentials, as to a public bucket; false by default.",
        )
        .aliases(&[
            "anon",
            "skip_signature",
            "aws_skip_signature",
            "google_skip_signature",
            "azure_skip_signature",
        ]),
        field(
            "allow_http",
            Kind::Bool,
            "Whether the service may be spoken to without TLS; false by default.",
        )
        .aliases(&["aws_allow_http"]),
        field("timeout", Kind::Age, "How long one request may take; `60 seconds` by default."),
        field(
            "connect_timeout",
            Kind::Age,
            "How long a connection may take to come about; `10 seconds` by default.",
        ),
        field(
            "retries",
            Kind::Whole,
            "How often a request that failed is tried again; 8 by default.",
        ),
    ],
};

/// A component's file.
pub(super) static COMPONENT: Block = Block {
    name: "a component",
    doc: "A WebAssembly component, or a core module with embedded component types.",
    lifts_configure: false,
    fields: &[
        field("path", Kind::Text, "The file, relative to the flow file."),
        field(
            "digest",
            Kind::Text,
            "`sha256:` and 64 hexadecimal digits; a file with other bytes is refused.",
        ),
        field("profile", Kind::Word(words::PROFILES), "How it is run."),
        later("ref", "fetches a component from a registry, which this version does not do"),
    ],
};

/// Where rows come from.
pub(super) static SOURCE: Block = Block {
    name: "a source",
    doc: "Where rows come from.",
    lifts_configure: true,
    fields: &[
        CONNECTION_FIELD,
        field("connection_type", Kind::Word(words::READ_FORMATS), CONNECTION_TYPE),
        field("format", Kind::Word(words::READ_FORMATS), FORMAT),
        field("file_format", Kind::Word(words::READ_FORMATS), FILE_FORMAT),
        PATH_FIELD,
        SCHEMA_FIELD,
        TABLE_FIELD,
        field("columns", Kind::Names, "The columns wanted, in this order; all by default."),
        field("options", Kind::Block(&READ_OPTIONS), "Options of reading.")
            .aliases(&["read_options"]),
        field("schema_hints", Kind::Types, "Column to type, where inference would guess wrong."),
        field(
            "recursive",
            Kind::Bool,
            "Whether folders are searched below their first level; true by default.",
        ),
        field(
            "path_glob_filter",
            Kind::Text,
            "Which file names of a folder are read, such as `*.csv`.",
        ),
        SOURCE_COMPLETE.aliases(&["read.source_complete"]),
        field("read", Kind::Block(&SOURCE_READ), "Holds `source_complete`, as some tools have it."),
        field(
            "query",
            Kind::Sql,
            "`sql`: the query whose rows are read. Delta: SQL over the table, which is called `source`; its result is what the chain begins with.",
        )
        .aliases(&["sql"]),
        field(
            "filter",
            Kind::Sql,
            "SQL over all columns of the source, also those not in `columns`: rows for which it is not true are left out, and files and row groups that cannot have another are not read.",
        )
        .aliases(&["filter_expression"]),
        field(
            "version_as_of",
            Kind::Whole,
            "Delta: the version that is read; the newest by default.",
        ),
        field(
            "timestamp_as_of",
            Kind::Text,
            "Delta: the version of that time is read, such as `2026-08-01` or `2026-08-01T12:00:00Z`.",
        ),
        later("watermark_columns", INCREMENTAL),
        later("backward_days", INCREMENTAL),
        later("backward", INCREMENTAL),
        later("date_folder_partitions", FOLDERS_BY_DATE),
        later("catalog", CATALOGS),
        later("database", CATALOGS),
    ],
};

/// What other tools keep in a block of its own.
pub(super) static SOURCE_READ: Block = Block {
    name: "a read block",
    doc: "What is said of reading a source.",
    lifts_configure: false,
    fields: &[SOURCE_COMPLETE],
};

const SOURCE_COMPLETE: Field = field(
    "source_complete",
    Kind::Bool,
    "Whether the source holds the full current state: what it lacks is gone.",
);

/// `connection`, as sources and destinations have it.
pub(super) const CONNECTION_FIELD: Field =
    field("connection", Kind::NameOr(&CONNECTION), "A connection's name, or a connection.")
        .aliases(&["connection_name"]);
/// `url`, as connections and options have it.
pub(super) const URL_FIELD: Field = field(
    "url",
    Kind::SensitiveUrl,
    "`sql`: the server, such as `postgresql://host:5432/database?sslmode=verify-full`.",
);
/// `user`, likewise.
pub(super) const USER_FIELD: Field =
    field("user", Kind::Sensitive, "`sql`: who connects, where `url` does not say it.")
        .aliases(&["username"]);
/// `password`, likewise.
pub(super) const PASSWORD_FIELD: Field =
    field("password", Kind::Sensitive, "`sql`: how that is proven, where `url` does not say it.");
/// `path`, likewise.
pub(super) const PATH_FIELD: Field = field(
    "path",
    Kind::Text,
    "Where; relative to the connection's `base_path`, or else to the flow file.",
);
/// `schema`, likewise.
pub(super) const SCHEMA_FIELD: Field = field(
    "schema",
    Kind::AnyText,
    "With `table`: the folder `schema/table` below the connection's `base_path`, or `table` where it is blank; of `sql`, the table's schema.",
)
.aliases(&["schema_name", "db_name"]);
/// `table`, likewise.
pub(super) const TABLE_FIELD: Field =
    field("table", Kind::Text, "The folder of a table, or its name in a database; see `schema`.")
        .aliases(&["tbl_name"]);
