//! The one line that turns a type into a component.

/// Exports a [`Transform`](crate::Transform) as this crate's component.
#[macro_export]
macro_rules! transform {
    ($transform:ty) => {
        const _: () = {
            impl $crate::glue::TransformExport for $transform {
                fn with_instance<R>(
                    use_it: impl FnOnce(&mut Option<$crate::glue::TransformInstance<Self>>) -> R,
                ) -> R {
                    thread_local! {
                        static INSTANCE: ::std::cell::RefCell<Option<$crate::glue::TransformInstance<$transform>>> =
                            const { ::std::cell::RefCell::new(None) };
                    }
                    INSTANCE.with_borrow_mut(use_it)
                }
            }
            // Where nothing is exported, nothing else would use a private type.
            const _: usize = size_of::<$transform>();
            type World = $crate::glue::TransformWorld<$transform>;
            $crate::export_transform!(World);
        };
    };
}

/// Exports a [`Rule`](crate::Rule) as this crate's component.
#[macro_export]
macro_rules! rule {
    ($rule:ty) => {
        const _: () = {
            impl $crate::glue::RuleExport for $rule {
                fn with_instance<T>(use_it: impl FnOnce(&mut Option<$crate::glue::RuleInstance<Self>>) -> T) -> T {
                    thread_local! {
                        static INSTANCE: ::std::cell::RefCell<Option<$crate::glue::RuleInstance<$rule>>> =
                            const { ::std::cell::RefCell::new(None) };
                    }
                    INSTANCE.with_borrow_mut(use_it)
                }
            }
            // Where nothing is exported, nothing else would use a private type.
            const _: usize = size_of::<$rule>();
            type World = $crate::glue::RuleWorld<$rule>;
            $crate::export_rule!(World);
        };
    };
}

/// Exports a type that implements the bare contract of a transform: `Guest` of [`bindings::plugin_exports`] and of
/// [`bindings::transform_exports`].
///
/// [`bindings::plugin_exports`]: crate::bindings::plugin_exports
/// [`bindings::transform_exports`]: crate::bindings::transform_exports
#[macro_export]
macro_rules! export_transform {
    ($guest:ident) => {
        // Only in the sandbox: natively, two guests with the same exports could not be linked into one test or benchmark.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
    $crate::bindings::plugin::export_plugin_world!($guest with_types_in $crate::bindings::plugin);
            const _: () = {
        $crate::bindings::transform::export_transform_world!($guest with_types_in $crate::bindings::transform);
            };
        };
    };
}

/// Exports a type that implements the bare contract of a rule: `Guest` of [`bindings::plugin_exports`] and of
/// [`bindings::rule_exports`].
///
/// [`bindings::plugin_exports`]: crate::bindings::plugin_exports
/// [`bindings::rule_exports`]: crate::bindings::rule_exports
#[macro_export]
macro_rules! export_rule {
    ($guest:ident) => {
        // Only in the sandbox: natively, two guests with the same exports could not be linked into one test or benchmark.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
    $crate::bindings::plugin::export_plugin_world!($guest with_types_in $crate::bindings::plugin);
            const _: () = {
        $crate::bindings::rule::export_rule_world!($guest with_types_in $crate::bindings::rule);
            };
        };
    };
}
