//! Every plain value of a block judged by its field's kind, whether or not anybody asks for it.

use super::fields::Kind;
use super::open::Fields;

impl Fields<'_> {
    /// Tells of plain values that do not fit their fields, also of those that nothing may use.
    pub(super) fn verify(&self) {
        for found in self.all() {
            let name = found.field.name;
            match found.field.kind {
                Kind::Text | Kind::AnyText => drop(self.text(name)),
                Kind::Sensitive | Kind::SensitiveUrl => drop(self.sensitive(name)),
                Kind::Word(_) => drop(self.word(name)),
                Kind::Bool => drop(self.flag(name)),
                Kind::Count => drop(self.count(name)),
                Kind::Bytes => drop(self.bytes(name)),
                Kind::Char => drop(self.character(name)),
                Kind::Texts => drop(self.texts(name)),
                Kind::Names => drop(self.names(name)),
                Kind::Partitions => drop(self.partitions(name)),
                Kind::Sql => drop(self.step_sql(name)),
                Kind::SqlTexts => drop(self.step_sqls(name)),
                Kind::Whole => drop(self.whole(name)),
                Kind::Order(_) => drop(self.order(name)),
                Kind::Pairs => drop(self.pairs(name)),
                Kind::PairsOrNames => drop(self.pairs_or_names(name)),
                Kind::Fraction => drop(self.fraction(name)),
                Kind::Share => drop(self.share(name)),
                Kind::Age => drop(self.age(name)),
                Kind::Value => drop(self.value(name)),
                Kind::Values => drop(self.values(name)),
                Kind::ValueMap => drop(self.value_map(name)),
                Kind::Expressions => drop(self.expressions(name)),
                Kind::Scalar => drop(self.scalar(name)),
                Kind::Properties => drop(self.properties(name)),
                Kind::Types => drop(self.types(name)),
                Kind::TypesOrNames => drop(self.types_or_names(name)),
                Kind::Block(inner) => {
                    let fields = Fields::open(self.report, inner, found.node, &found.spot);
                    fields.iter().for_each(Fields::verify);
                }
                // What is below these is judged where it is read.
                Kind::NameOr(_)
                | Kind::Named(_)
                | Kind::OneOrNamed(_)
                | Kind::OneOrMany(_)
                | Kind::Chain(_)
                | Kind::ChainOrMap(_)
                | Kind::Vars
                | Kind::Limits
                | Kind::Any
                | Kind::Type => {}
            }
        }
    }
}
