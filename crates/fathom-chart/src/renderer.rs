//! Draws options without a browser: runs the script of the page inside QuickJS.

use std::io::Read;

use flate2::read::DeflateDecoder;
use rquickjs::context::intrinsic;
use rquickjs::loader::Loader;
use rquickjs::loader::bundle::{Bundle, ScaBundleData};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

use crate::error::ChartError;
use crate::font;
use crate::theme::Theme;

/// ECharts as a stream of DEFLATE, or empty if the build did not find it.
const PACKED_SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echarts.deflate"));
/// The functions that an option refers to by name.
pub(crate) const FORMATTERS: &str = include_str!("formatters.js");
/// Name of the JavaScript module.
const NAME: &str = "render";
/// Byte code of both and of `render.js`.
static CODE: ScaBundleData<&'static [u8]> = &[(
    NAME,
    include_bytes!(concat!(env!("OUT_DIR"), "/render.code")),
)];

/// What the scripts use: not the compiler of source text, which byte code does not need.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// Memory limit of the script, in bytes; a chart needs far less.
const MEMORY: usize = 1 << 30;
/// The script and a chart use about 10 MiB. Garbage collection would take a tenth of the time, so it
/// starts only above this many bytes.
const GC_THRESHOLD: usize = 256 << 20;

/// ECharts as text, for a page.
///
/// # Errors
/// If this build has no script.
pub(crate) fn page_script() -> Result<String, ChartError> {
    if !Renderer::is_built_in() {
        return Err(ChartError::NoScript);
    }
    let mut script = String::new();
    DeflateDecoder::new(PACKED_SCRIPT)
        .read_to_string(&mut script)
        .map_err(|error| ChartError::Script(error.to_string()))?;
    Ok(script)
}

/// The script, loaded once for any number of charts.
pub struct Renderer {
    context: Context,
}

impl Renderer {
    /// Whether this build contains the script.
    #[must_use]
    pub fn is_built_in() -> bool {
        !PACKED_SCRIPT.is_empty()
    }

    /// Loads the script.
    ///
    /// # Errors
    /// If this build has no script, or loading fails.
    pub fn new() -> Result<Renderer, ChartError> {
        if !Renderer::is_built_in() {
            return Err(ChartError::NoScript);
        }
        let runtime = Runtime::new().map_err(|error| ChartError::Script(error.to_string()))?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_gc_threshold(GC_THRESHOLD);
        // ECharts recurses deeper than the default allows.
        runtime.set_max_stack_size(4 << 20);
        let context = Context::custom::<Intrinsics>(&runtime)
            .map_err(|error| ChartError::Script(error.to_string()))?;
        context.with(|ctx| {
            load(&ctx)
                .catch(&ctx)
                .map_err(|error| ChartError::Script(error.to_string()))
        })?;
        Ok(Renderer { context })
    }

    /// The SVG of an option.
    ///
    /// # Errors
    /// The exception that the script threw.
    pub(crate) fn draw(
        &self,
        option: &str,
        theme: Theme,
        width: u32,
        height: u32,
    ) -> Result<String, ChartError> {
        self.context.with(|ctx| {
            let draw: Function = ctx
                .globals()
                .get("fathom_draw")
                .map_err(|error| ChartError::Script(error.to_string()))?;
            let drawn = draw.call((option, theme.roles().to_string(), width, height));
            drawn
                .catch(&ctx)
                .map_err(|error| ChartError::Script(error.to_string()))
        })
    }
}

fn load(ctx: &Ctx) -> rquickjs::Result<()> {
    let measure = Function::new(ctx.clone(), |text: String, size: f64, bold: bool| -> f64 {
        f64::from(font::width(&text, size as f32, bold))
    })?;
    ctx.globals().set("fathom_width", measure)?;
    let (_, done) = Bundle(CODE).load(ctx, NAME, None)?.eval()?;
    done.finish::<()>()
}
