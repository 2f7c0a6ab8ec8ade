//! The functions and types that are offered. All are deterministic, and none makes much of little: `concat`, `||` and `replace` are
//! ours, since theirs know no limit. Left out on purpose: clocks, random values, patterns, `repeat` and padding.

use std::sync::Arc;
use std::sync::LazyLock;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::SchemaRef;
use arrow::datatypes::TimeUnit;
use datafusion_common::DataFusionError;
use datafusion_common::Result;
use datafusion_common::TableReference;
use datafusion_common::config::ConfigOptions;
use datafusion_common::plan_err;
use datafusion_expr::AggregateUDF;
use datafusion_expr::HigherOrderUDF;
use datafusion_expr::ScalarUDF;
use datafusion_expr::TableSource;
use datafusion_expr::WindowUDF;
use datafusion_expr::planner::ContextProvider;
use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::planner::TypePlanner;
use datafusion_functions::core;
use datafusion_functions::datetime;
use datafusion_functions::math;
use datafusion_functions::string;
use datafusion_functions::unicode;
use datafusion_sql::sqlparser::ast::DataType as SqlType;
use datafusion_sql::sqlparser::ast::ExactNumberInfo;
use datafusion_sql::sqlparser::ast::TimezoneInfo;

use super::arithmetic::Op;
use super::arithmetic::function;

/// All names, several for one function among them.
pub(super) const NAMES: &[&str] = &[
    "abs",
    "btrim",
    "ceil",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "contains",
    "date_part",
    "date_trunc",
    "ends_with",
    "floor",
    "greatest",
    "initcap",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "make_date",
    "nullif",
    "nvl",
    "octet_length",
    "position",
    "replace",
    "reverse",
    "right",
    "round",
    "rtrim",
    "signum",
    "split_part",
    "starts_with",
    "strpos",
    "substr",
    "substring",
    "to_date",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_seconds",
    "trim",
    "trunc",
    "upper",
];

/// The function of that name, in lower case.
pub(super) fn find(name: &str) -> Option<Arc<ScalarUDF>> {
    let config = ConfigOptions::default();
    Some(match name {
        "abs" => math::abs(),
        "btrim" | "trim" => string::btrim(),
        "ceil" => math::ceil(),
        "char_length" | "character_length" | "length" => unicode::character_length(),
        "coalesce" => core::coalesce(),
        "concat" => function(Op::Concat),
        "contains" => string::contains(),
        "date_part" => datetime::date_part(),
        "date_trunc" => datetime::date_trunc(),
        "ends_with" => string::ends_with(),
        "floor" => math::floor(),
        "greatest" => core::greatest(),
        "initcap" => unicode::initcap(),
        "least" => core::least(),
        "left" => unicode::left(),
        "lower" => string::lower(),
        "ltrim" => string::ltrim(),
        "make_date" => datetime::make_date(),
        "nullif" => core::nullif(),
        "nvl" => core::nvl(),
        "octet_length" => string::octet_length(),
        "replace" => function(Op::Replace),
        "reverse" => unicode::reverse(),
        "right" => unicode::right(),
        "round" => math::round(),
        "rtrim" => string::rtrim(),
        "signum" => math::signum(),
        "split_part" => string::split_part(),
        "starts_with" => string::starts_with(),
        "position" | "strpos" => unicode::strpos(),
        "substr" | "substring" => unicode::substr(),
        "to_date" => datetime::to_date(),
        "to_timestamp_micros" => datetime::to_timestamp_micros(&config),
        "to_timestamp_millis" => datetime::to_timestamp_millis(&config),
        "to_timestamp_seconds" => datetime::to_timestamp_seconds(&config),
        "trunc" => math::trunc(),
        "upper" => string::upper(),
        _ => return None,
    })
}

/// The type that SQL calls so, where it is offered. Points in time are in microseconds, those with a zone in UTC.
pub(super) fn arrow_type(sql_type: &SqlType) -> Option<DataType> {
    Some(match sql_type {
        SqlType::Boolean | SqlType::Bool => DataType::Boolean,
        SqlType::TinyInt(None) => DataType::Int8,
        SqlType::SmallInt(None) | SqlType::Int2(None) => DataType::Int16,
        SqlType::Int(None) | SqlType::Integer(None) | SqlType::Int4(None) => DataType::Int32,
        SqlType::BigInt(None) | SqlType::Int8(None) => DataType::Int64,
        SqlType::TinyIntUnsigned(None) => DataType::UInt8,
        SqlType::SmallIntUnsigned(None) => DataType::UInt16,
        SqlType::IntUnsigned(None) | SqlType::IntegerUnsigned(None) => DataType::UInt32,
        SqlType::BigIntUnsigned(None) => DataType::UInt64,
        SqlType::Real | SqlType::Float4 => DataType::Float32,
        SqlType::Float(ExactNumberInfo::None)
        | SqlType::Double(ExactNumberInfo::None)
        | SqlType::DoublePrecision
        | SqlType::Float8 => DataType::Float64,
        SqlType::Decimal(digits) | SqlType::Numeric(digits) | SqlType::Dec(digits) => {
            decimal(digits)?
        }
        SqlType::Text
        | SqlType::String(None)
        | SqlType::Varchar(None)
        | SqlType::CharacterVarying(None) => DataType::Utf8,
        SqlType::Date => DataType::Date32,
        SqlType::Timestamp(None | Some(6), zone) => {
            let zone = match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => None,
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => Some(Arc::from("UTC")),
            };
            DataType::Timestamp(TimeUnit::Microsecond, zone)
        }
        _ => return None,
    })
}

fn decimal(digits: &ExactNumberInfo) -> Option<DataType> {
    let (precision, scale) = match *digits {
        ExactNumberInfo::None => (38, 10),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let precision = u8::try_from(precision).ok().filter(|digits| (1..=38).contains(digits))?;
    let scale = i8::try_from(scale).ok().filter(|scale| *scale >= 0)?;
    (scale.unsigned_abs() <= precision).then_some(DataType::Decimal128(precision, scale))
}

/// Tells the planner of these functions and types, and of no tables at all.
#[derive(Debug, Default)]
pub(super) struct Offer {
    options: ConfigOptions,
}

static PLANNERS: LazyLock<Vec<Arc<dyn ExprPlanner>>> = LazyLock::new(|| {
    vec![
        Arc::new(datetime::planner::DatetimeFunctionPlanner),
        Arc::new(unicode::planner::UnicodeFunctionPlanner),
    ]
});

impl ContextProvider for Offer {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        plan_err!("there is no table `{name}` in an expression")
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &PLANNERS
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(Types))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        find(name)
    }

    fn get_higher_order_meta(&self, _: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, _: &str) -> Option<Arc<AggregateUDF>> {
        None
    }

    fn get_window_meta(&self, _: &str) -> Option<Arc<WindowUDF>> {
        None
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        NAMES.iter().map(|name| (*name).to_owned()).collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn create_cte_work_table(&self, name: &str, _: SchemaRef) -> Result<Arc<dyn TableSource>> {
        plan_err!("there is no table `{name}` in an expression")
    }
}

#[derive(Debug)]
struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        let refused = || DataFusionError::Plan(format!("type `{sql_type}` is not offered"));
        let data_type = arrow_type(sql_type).ok_or_else(refused)?;
        Ok(Some(Arc::new(Field::new("", data_type, true))))
    }
}
