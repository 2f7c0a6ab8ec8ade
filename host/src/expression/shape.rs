//! What a part of SQL that is not offered is called.

use datafusion_sql::sqlparser::ast::Expr;

/// The part in words.
pub(super) fn kind(expr: &Expr) -> &'static str {
    match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => "a subquery",
        Expr::AnyOp { .. } => "ANY",
        Expr::AllOp { .. } => "ALL",
        Expr::Like { .. } | Expr::ILike { .. } => "LIKE ANY",
        Expr::SimilarTo { .. } => "SIMILAR TO",
        Expr::RLike { .. } => "a regular expression",
        Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => "`*`",
        Expr::CompoundFieldAccess { .. } | Expr::JsonAccess { .. } => "access to a part of a value",
        Expr::AtTimeZone { .. } => "AT TIME ZONE",
        Expr::Overlay { .. } => "OVERLAY",
        Expr::Collate { .. } => "COLLATE",
        Expr::Convert { .. } => "CONVERT",
        Expr::Cast { .. } => "CAST with a format",
        Expr::Ceil { .. } | Expr::Floor { .. } => "CEIL or FLOOR with a scale",
        Expr::Trim { .. } => "TRIM with a list",
        Expr::Array(_) | Expr::InUnnest { .. } => "a list",
        Expr::Tuple(_) => "a value of several parts",
        Expr::UnaryOp { .. } => "this operator before or after a value",
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => "grouping",
        Expr::Prefixed { .. } | Expr::IsNormalized { .. } => "this notation of text",
        _ => "this part of SQL",
    }
}
