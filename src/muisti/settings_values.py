"""Convert the value of a setting to its type."""

from __future__ import annotations

from muisti.errors import SettingsError

Value = str | int | float | bool


def convert_value(key: str, value: object, wanted: type, where: str) -> Value:
    """Return text of the environment, or a TOML value, in the type of the field.

    Raises SettingsError.
    """
    if wanted is bool:
        word = str(value).strip().lower()
        if word in ("true", "1", "yes", "on"):
            return True
        if word in ("false", "0", "no", "off"):
            return False
    elif wanted is str and isinstance(value, str):
        return value
    elif wanted in (int, float) and not isinstance(value, bool):
        try:
            return int(str(value)) if wanted is int else float(str(value))
        except ValueError:
            pass
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a quoted string"}
    raise SettingsError(f"{where}: {key} = {value!r} must be {names[wanted]}")
