//! Rules and transforms that are one function of one row: the one line that makes a component of it.

/// Makes a rule of a function, and this crate's component of the rule.
///
/// `rule_fn!(Positive = positive(amount: f64), "amount {amount} is not above zero")` calls `positive` with each row's
/// `amount` and hits the rows for which it says `false` (or [`Verdict::Hit`](crate::Verdict)). Names of arguments are
/// names of columns. A row with a NULL is not judged, unless the argument is an `Option`. The reason's code is the
/// function's name; the component's name, version and summary are those of `Cargo.toml`. With `&Config` as first
/// argument the function is given the configuration.
#[macro_export]
macro_rules! rule_fn {
    ($vis:vis $rule:ident = $function:ident($($column:ident: $value:ty),+ $(,)?), $message:expr) => {
        $crate::rule_fn!(@rule $vis $rule, $crate::NoConfig, $message, $function, ($($column: $value),+),
            plain);
    };
    ($vis:vis $rule:ident = $function:ident(&$config:ty, $($column:ident: $value:ty),+ $(,)?), $message:expr) => {
        $crate::rule_fn!(@rule $vis $rule, $config, $message, $function, ($($column: $value),+),
            configured);
    };
    (@rule $vis:vis $rule:ident, $config:ty, $message:expr, $function:ident, ($($column:ident: $value:ty),+), $call:ident) => {
        #[doc = concat!("The rule that `", stringify!($function), "` holds for every row.")]
        #[derive(Debug)]
        $vis struct $rule {
            config: $config,
        }

        impl $crate::Rule for $rule {
            type Config = $config;

            const ABOUT: $crate::About = $crate::about!();

            fn open(
                config: $config,
                _: &$crate::Inputs,
                _: &$crate::Context,
            ) -> Result<(Self, $crate::Checks), $crate::Failure> {
                let checks = $crate::Checks::new()
                    $(.want(stringify!($column), <$value as $crate::functions::Value<'_>>::accept()))+
                    .reason($crate::Reason::new(stringify!($function), [$(stringify!($column)),+], $message));
                Ok((Self { config }, checks))
            }

            fn check(&mut self, batch: &$crate::arrow_array::RecordBatch) -> Result<$crate::Findings, $crate::Failure> {
                use $crate::functions::Value;
                // Before the columns, of which one may have its name.
                let function = $function;
                let mut judge = $crate::Judge::new(batch.num_rows());
                $(let $column = <$value as Value<'_>>::column(batch, stringify!($column))?;)+
                for row in 0..batch.num_rows() {
                    let values = ($(<$value as Value<'_>>::get($column, row),)+);
                    let on_null = $(<$value as Value<'_>>::is_null($column, row))||+;
                    if let ($(Some($column),)+) = values {
                        let verdict = $crate::call_fn!($call function, &self.config, $($column),+);
                        match on_null {
                            true => judge.judge_on_null(row, verdict),
                            false => judge.judge(row, verdict),
                        }
                    }
                }
                Ok($crate::Findings::new().with(stringify!($function), judge))
            }
        }

        $crate::rule!($rule);
    };
}

/// Makes a transform of a function, and this crate's component of the transform.
///
/// `transform_fn!(Speed = speed(distance: f64, hours: f64) -> f64)` adds a column `speed`, or replaces it; all other
/// columns are carried. Names of arguments are names of columns. A row with a NULL gets a NULL without a call, unless
/// the argument is an `Option`; the function may itself return an `Option` of the type named. With `&Config` as first
/// argument the function is given the configuration. The component's name, version and summary are those of
/// `Cargo.toml`.
#[macro_export]
macro_rules! transform_fn {
    ($vis:vis $transform:ident = $function:ident($($column:ident: $value:ty),+ $(,)?) -> $result:ty) => {
        $crate::transform_fn!(@transform $vis $transform, $crate::NoConfig, $result, $function, ($($column: $value),+),
            plain);
    };
    ($vis:vis $transform:ident = $function:ident(&$config:ty, $($column:ident: $value:ty),+ $(,)?) -> $result:ty) => {
        $crate::transform_fn!(@transform $vis $transform, $config, $result, $function, ($($column: $value),+),
            configured);
    };
    (@transform $vis:vis $transform:ident, $config:ty, $result:ty, $function:ident, ($($column:ident: $value:ty),+), $call:ident) => {
        #[doc = concat!("The transform that computes the column `", stringify!($function), "`.")]
        #[derive(Debug)]
        $vis struct $transform {
            config: $config,
        }

        impl $crate::Transform for $transform {
            type Config = $config;

            const ABOUT: $crate::About = $crate::about!();

            fn open(
                config: $config,
                _: &$crate::Inputs,
                _: &$crate::Context,
            ) -> Result<(Self, $crate::Layout), $crate::Failure> {
                let computed = <$result as $crate::functions::Computed>::DATA_TYPE;
                let layout = $crate::Layout::one_to_one()
                    $(.want(stringify!($column), <$value as $crate::functions::Value<'_>>::accept()))+
                    .keep_all()
                    .compute($crate::arrow_schema::Field::new(stringify!($function), computed, true));
                Ok((Self { config }, layout))
            }

            fn process(&mut self, batch: &$crate::arrow_array::RecordBatch) -> Result<$crate::Output, $crate::Failure> {
                use $crate::functions::Value;
                // Before the columns, of which one may have its name.
                let function = $function;
                $(let $column = <$value as Value<'_>>::column(batch, stringify!($column))?;)+
                let values = (0..batch.num_rows()).map(|row| {
                    match ($(<$value as Value<'_>>::get($column, row),)+) {
                        ($(Some($column),)+) => Option::<$result>::from($crate::call_fn!($call function, &self.config, $($column),+)),
                        _ => None,
                    }
                });
                Ok($crate::Output::columns([<$result as $crate::functions::Computed>::array(values)]))
            }
        }

        $crate::transform!($transform);
    };
}

/// Calls a function with or without the configuration.
#[doc(hidden)]
#[macro_export]
macro_rules! call_fn {
    (plain $function:ident, $config:expr, $($value:expr),+) => {
        $function($($value),+)
    };
    (configured $function:ident, $config:expr, $($value:expr),+) => {
        $function($config, $($value),+)
    };
}
