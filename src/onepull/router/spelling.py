"""How a message names a parameter: as Python writes it, and as JSON does.

Messages are written for Python.  A service sends them as JSON, and a client raises them in Python
again, with the words that the library would have used.
"""

from __future__ import annotations

import re

# The parameters that messages mention and a body has as fields.
FIELDS = ("arm", "error", "failed", "failure", "kept", "on_expiry", "outside", "relearn", "scale")
WORDS = {"True": "true", "False": "false", "None": "null"}
_PYTHON_WORDS = {json: python for python, json in WORDS.items()}
_NAME = "|".join(FIELDS)
_PLAIN = r"…|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_IN_PYTHON = re.compile(rf"\b({_NAME})=('[a-z_]*'|True\b|False\b|None\b|{_PLAIN})")
_IN_JSON = re.compile(rf'"({_NAME})": ("[a-z_]*"|true\b|false\b|null\b|{_PLAIN})')
_INTERVAL_IN_PYTHON = re.compile(r"Interval\((\d+), (\d+), outside='clip'\)")
_INTERVAL_IN_JSON = re.compile(r'\{"low": (\d+), "high": (\d+), "outside": "clip"\}')
_POLICY_IN_PYTHON, _POLICY_IN_JSON = "recommended(problem)", 'the policy "recommended"'


def in_json(message: str) -> str:
    """Return a message with parameters as a body has them.

    >>> in_json("pass relearn=True, or error=0.25; declare it with outside='clip'")
    'pass "relearn": true, or "error": 0.25; declare it with "outside": "clip"'
    >>> in_json("bound it with Interval(0, 30, outside='clip'), or use recommended(problem)")
    'bound it with {"low": 0, "high": 30, "outside": "clip"}, or use the policy "recommended"'
    """
    text = message.replace(_POLICY_IN_PYTHON, _POLICY_IN_JSON)
    text = _INTERVAL_IN_PYTHON.sub(r'{"low": \1, "high": \2, "outside": "clip"}', text)
    return _IN_PYTHON.sub(_as_json, text)


def in_python(message: str) -> str:
    """Return what `in_json` was given.

    >>> in_python('pass "relearn": true; declare it with "outside": "clip"')
    "pass relearn=True; declare it with outside='clip'"
    """
    text = message.replace(_POLICY_IN_JSON, _POLICY_IN_PYTHON)
    text = _INTERVAL_IN_JSON.sub(r"Interval(\1, \2, outside='clip')", text)
    return _IN_JSON.sub(_as_python, text)


def _as_json(found: re.Match[str]) -> str:
    value = found[2].replace("'", '"')
    return f'"{found[1]}": {WORDS.get(value, value)}'


def _as_python(found: re.Match[str]) -> str:
    value = found[2].replace('"', "'")
    return f"{found[1]}={_PYTHON_WORDS.get(value, value)}"
