//! The engine's session: which functions there are, how texts are read, and what an expression may be.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, plan_err};
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::config::SessionConfig;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser;
use futures::executor::block_on;

use crate::checked::{CheckedArithmetic, checked};
use crate::concat::OneStream;
use crate::random;
use crate::to_json;

/// Rows of a batch that the engine makes.
const BATCH_ROWS: usize = 8_192;

/// A session of its own for one run of steps; `seed` is what its random values are drawn from.
pub(crate) fn session(seed: u64) -> SessionContext {
    let mut config = SessionConfig::new()
        .with_batch_size(BATCH_ROWS)
        // One thread: whoever wants more opens more instances.
        .with_target_partitions(1)
        .with_information_schema(false);
    let options = config.options_mut();
    // Names keep their case, as everywhere in a flow.
    options.sql_parser.enable_ident_normalization = false;
    // Views would have to be unpacked before they leave.
    options.sql_parser.map_string_types_to_utf8view = false;
    options.optimizer.repartition_joins = false;
    let mut scalar = SessionStateDefaults::default_scalar_functions();
    scalar.retain(|function| !random::NAMES.contains(&function.name()));
    scalar.push(to_json::function());
    scalar.extend(random::functions(seed));
    let mut physical: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![Arc::new(OneStream)];
    physical.extend(PhysicalOptimizer::new().rules);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(Arc::new(RuntimeEnv::default()))
        .with_expr_planners(SessionStateDefaults::default_expr_planners())
        .with_scalar_functions(scalar)
        .with_higher_order_functions(SessionStateDefaults::default_higher_order_functions())
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_analyzer_rule(Arc::new(CheckedArithmetic))
        .with_physical_optimizer_rules(physical)
        .build();
    SessionContext::new_with_state(state)
}

/// Reads a text as an expression over these columns that computes each row by itself.
pub(crate) fn scalar(state: &SessionState, sql: &str, schema: &DFSchema) -> Result<Expr> {
    let expr = any(state, sql, schema)?;
    expr.apply(|part| match part {
        Expr::AggregateFunction(call) => plan_err!(
            "`{}` is an aggregate, which needs all rows: use a step `group_by` or `sql`",
            call.func.name()
        ),
        Expr::WindowFunction(call) => {
            plan_err!("`{}` looks at other rows: use a step `sql`", call.fun.name())
        }
        Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::ScalarSubquery(_)
        | Expr::SetComparison(_) => {
            plan_err!("a subquery needs a query around it: use a step `sql`")
        }
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(expr)
}

/// Reads a text as an expression, also of aggregates.
pub(crate) fn any(state: &SessionState, sql: &str, schema: &DFSchema) -> Result<Expr> {
    let expr = state.create_logical_expr(sql, schema)?;
    expr.apply(|part| match part {
        Expr::Placeholder(_) => {
            plan_err!("`{part}` stands for a value that nobody gives; write the value")
        }
        #[expect(deprecated, reason = "the parser still makes it")]
        Expr::Wildcard { .. } => plan_err!("`*` is no value"),
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(expr)
}

/// The same, which must be true, false or NULL for each row.
pub(crate) fn predicate(state: &SessionState, sql: &str, schema: &DFSchema) -> Result<Expr> {
    let expr = scalar(state, sql, schema)?;
    match expr.get_type(schema)? {
        DataType::Boolean => Ok(expr),
        other => plan_err!(
            "this is no condition: it gives {other} for a row, not true or false; compare it with something, as in `a = 1`"
        ),
    }
}

/// Ready to be evaluated: types agree, constants are folded, integers do not wrap.
pub(crate) fn physical(
    state: &SessionState,
    expr: Expr,
    schema: &DFSchema,
) -> Result<Arc<dyn datafusion::physical_expr::PhysicalExpr>> {
    let simplifier = ExprSimplifier::new(
        datafusion::logical_expr::simplify::SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(Arc::clone(state.config_options()))
            .with_query_execution_start_time(state.execution_props().query_execution_start_time)
            .build(),
    );
    let coerced = simplifier.coerce(expr, schema)?;
    let simple = simplified(checked(coerced, schema)?, &simplifier)?;
    state.create_physical_expr(simple, schema)
}

/// Folds constants. The engine would make AND and OR of a CASE of conditions, and then evaluate for all rows what the CASE
/// kept from some: of an expression with one, only the parts are folded.
fn simplified(expr: Expr, simplifier: &ExprSimplifier) -> Result<Expr> {
    if !expr.exists(|part| Ok(matches!(part, Expr::Case(_))))? {
        return simplifier.simplify(expr);
    }
    let parts = expr.map_children(|part| Ok(Transformed::yes(simplified(part, simplifier)?)));
    parts.data()
}

/// Whether it may give something else for the same row.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    expr.exists(|part| match part {
        Expr::ScalarFunction(call) => Ok(call.func.signature().volatility == Volatility::Volatile),
        _ => Ok(false),
    })
    .unwrap_or(true)
}

/// What went wrong, without what only developers of the engine can use.
pub(crate) fn message(error: &DataFusionError) -> String {
    if let DataFusionError::SQL(error, _) = error.find_root() {
        let text = error.to_string();
        let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
        return format!("this is no SQL: {text}");
    }
    let root = error.find_root().strip_backtrace();
    if let Some((_, bytes)) = root.split_once("CompiledTooBig(") {
        let bytes = bytes.split(')').next().unwrap_or_default();
        return format!("the pattern is too big: compiled it would take more than {bytes} bytes");
    }
    // The engine asks its users to report what it takes for mistakes of its own; it breaks long messages into lines.
    let root = root.split(" This issue was likely caused by").next().unwrap_or_default();
    plain(root).replace("\nValid", "; valid").replace('\n', " ")
}

fn plain(text: &str) -> String {
    for prefix in [
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "Internal error: ",
        "Arrow error: ",
        "SQL error: ",
        "Cast error: ",
        "Compute error: ",
        "Invalid argument error: ",
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return plain(rest);
        }
    }
    text.to_owned()
}

/// Reads a text as one query, which changes nothing.
pub(crate) fn select(state: &SessionState, sql: &str) -> Result<LogicalPlan> {
    let dialect = state.config().options().sql_parser.dialect;
    if !matches!(&state.sql_to_statement(sql, &dialect)?, Statement::Statement(one) if matches!(**one, sqlparser::ast::Statement::Query(_)))
    {
        return plan_err!("a step `sql` is one SELECT, over `input` and the other sources");
    }
    let plan = block_on(state.create_logical_plan(sql))?;
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)?;
    Ok(plan)
}
