//! The names of enum variants, as they stand in results and in the store.

/// Implements `name`, the name of each variant, and `ALL`, every variant in order. Both come from one list, so neither
/// can lack a variant.
macro_rules! named {
    ($type:ident { $($variant:ident => $name:literal,)+ }) => {
        impl $type {
            /// Every variant, in order.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// Its name in results and in the store.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use named;
