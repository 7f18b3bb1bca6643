"""Settings of the documentation site; `make docs` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import onepull

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "onepull"
author = "the onepull authors"
release = onepull.__version__
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "api_reference",
    "command_line",
    "trimmed_code",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"  # outputs are those of this build
nb_execution_raise_on_error = True
nb_execution_timeout = 120
# Notebooks run with nobody's settings but these.  Kernels listen on this machine only, and would
# warn that what they say is not encrypted.
SETTINGS = Path(__file__).parent / "_build" / "ipython"
os.environ["IPYTHONDIR"] = str(SETTINGS)
(SETTINGS / "profile_default").mkdir(parents=True, exist_ok=True)
(SETTINGS / "profile_default" / "ipython_kernel_config.py").write_text(
    'c.IPKernelApp.log_level = "ERROR"\n', encoding="utf-8"
)

# Docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autoclass_content = "class"
autodoc_type_aliases = {"Array": "Array", "ArrayLike": "ArrayLike", "NDArray": "NDArray"}
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
add_module_names = False
default_role = "name"  # `DCB` in a docstring is a link, for it is public; `x + 1` is code
# The build uses no network, so types of other packages link nowhere.
nitpick_ignore_regex = [
    (
        "py:class",
        r"(abc|ast|collections|concurrent|np|numpy|os|pathlib|msgspec)\..*|TypeAliasForwardRef|Path|Figure|RichTable|.*Array.*",
    ),
    # Types of parameters that users pass on but never make.
    ("py:class", r"onepull\.[a-z_]+\..*|Rule|Sharing"),
]

# The page
html_theme = "furo"
html_title = "onepull"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {  # the blue of the figures
    "light_css_variables": {"color-brand-primary": "#0068a3", "color-brand-content": "#0068a3"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "native"
