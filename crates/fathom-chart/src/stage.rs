//! Draws options without a browser: the script of the page inside QuickJS.

use rquickjs::loader::Loader;
use rquickjs::loader::bundle::{Bundle, ScaBundleData};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

use crate::error::InkError;
use crate::font;
use crate::theme::Theme;

/// The script, as the build found it; empty where it did not.
pub(crate) const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.js"));
/// Our lines that go with it.
pub(crate) const HOUSE: &str = include_str!("house.js");
/// Name of the module.
const NAME: &str = "stage";
/// Both, with the lines of `stage.js` around them, as the build compiled them.
const COMPILED: ScaBundleData<&[u8]> =
    &[(NAME, include_bytes!(concat!(env!("OUT_DIR"), "/stage.bin")))];

/// A chart is drawn in less than this; a script that wants more is stuck.
const MEMORY: usize = 1 << 30;
/// The script and a chart take some 10 MiB. Looking for what is no longer needed takes a tenth of the time, so it waits until there
/// is as much as that.
const LOOK_FOR_GARBAGE: usize = 256 << 20;

/// The script, loaded once for many charts.
pub struct Stage {
    context: Context,
}

impl Stage {
    /// Whether this build has the script at all.
    #[must_use]
    pub fn is_built_in() -> bool {
        !SCRIPT.is_empty()
    }

    /// Loads the script.
    ///
    /// # Errors
    /// When this build has none, or it does not load.
    pub fn new() -> Result<Stage, InkError> {
        if !Stage::is_built_in() {
            return Err(InkError::NoScript);
        }
        let runtime = Runtime::new().map_err(|error| InkError::Script(error.to_string()))?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_gc_threshold(LOOK_FOR_GARBAGE);
        // The charts are ours, the depth of their script is not.
        runtime.set_max_stack_size(4 << 20);
        let context =
            Context::full(&runtime).map_err(|error| InkError::Script(error.to_string()))?;
        context.with(|ctx| {
            load(&ctx)
                .catch(&ctx)
                .map_err(|error| InkError::Script(error.to_string()))
        })?;
        Ok(Stage { context })
    }

    /// The picture of an option.
    ///
    /// # Errors
    /// What the script says.
    pub(crate) fn draw(
        &self,
        option: &str,
        theme: Theme,
        width: u32,
        height: u32,
    ) -> Result<String, InkError> {
        self.context.with(|ctx| {
            let draw: Function = ctx
                .globals()
                .get("fathom_draw")
                .map_err(|error| InkError::Script(error.to_string()))?;
            let drawn = draw.call((option, theme.roles().to_string(), width, height));
            drawn
                .catch(&ctx)
                .map_err(|error| InkError::Script(error.to_string()))
        })
    }
}

fn load(ctx: &Ctx) -> rquickjs::Result<()> {
    let measure = Function::new(ctx.clone(), |text: String, size: f64, bold: bool| -> f64 {
        f64::from(font::width(&text, size as f32, bold))
    })?;
    ctx.globals().set("fathom_width", measure)?;
    let (_, done) = Bundle(COMPILED).load(ctx, NAME, None)?.eval()?;
    done.finish::<()>()
}
