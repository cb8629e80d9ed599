//! Draws options without a browser: the script of the page inside QuickJS.

use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

use crate::error::InkError;
use crate::font;
use crate::theme::Theme;

/// The script, as the build found it; empty where it did not.
pub(crate) const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.js"));
/// Our lines that go with it.
pub(crate) const HOUSE: &str = include_str!("house.js");

/// A chart is drawn in less than this; a script that wants more is stuck.
const MEMORY: usize = 1 << 30;

/// What the script expects of a browser.
const STUBS: &str = "
    globalThis.window = undefined;
    globalThis.setTimeout = function () { return 0; };
    globalThis.clearTimeout = function () {};
    globalThis.console = { log: function () {}, warn: function () {}, error: function () {} };";

/// Tells the script how wide texts are; `1em` alone is a question for the height of a line.
const MEASURE: &str = "
    echarts.setPlatformAPI({ measureText: function (text, font) {
        var size = /(\\d+(?:\\.\\d+)?)px/.exec(font || ''), bold = /bold|[6-9]00/.test(font || '');
        return { width: fathom_width(String(text), size ? Number(size[1]) : 12, bold) };
    } });
    function fathom_draw(option, theme, width, height) {
        var chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
        chart.setOption(fathom.hydrate(JSON.parse(option), JSON.parse(theme)));
        var svg = chart.renderToSVGString();
        chart.dispose();
        return svg;
    }";

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
        // The charts are ours, the depth of their script is not.
        runtime.set_max_stack_size(4 << 20);
        let context = Context::full(&runtime).map_err(|error| InkError::Script(error.to_string()))?;
        context.with(|ctx| -> Result<(), InkError> {
            let measure = Function::new(ctx.clone(), |text: String, size: f64, bold: bool| -> f64 {
                f64::from(font::width(&text, size as f32, bold))
            });
            let set = measure.and_then(|measure| ctx.globals().set("fathom_width", measure));
            set.map_err(|error| InkError::Script(error.to_string()))?;
            [STUBS, SCRIPT, HOUSE, MEASURE].into_iter().try_for_each(|source| run(&ctx, source))
        })?;
        Ok(Stage { context })
    }

    /// The picture of an option.
    ///
    /// # Errors
    /// What the script says.
    pub(crate) fn draw(&self, option: &str, theme: Theme, width: u32, height: u32) -> Result<String, InkError> {
        self.context.with(|ctx| {
            let draw: Function = ctx.globals().get("fathom_draw").map_err(|error| InkError::Script(error.to_string()))?;
            let drawn = draw.call((option, theme.roles().to_string(), width, height));
            drawn.catch(&ctx).map_err(|error| InkError::Script(error.to_string()))
        })
    }
}

fn run(ctx: &Ctx, source: &str) -> Result<(), InkError> {
    let mut options = rquickjs::context::EvalOptions::default();
    options.strict = false;
    ctx.eval_with_options::<(), _>(source, options).catch(ctx).map_err(|error| InkError::Script(error.to_string()))
}
