"""The program's environment: ``--env NAME=VALUE`` and ``--env-pass NAME``."""

from __future__ import annotations

import os
import pwd

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Given, Option

#: PATH of a login shell, for callers who have none.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Variables of the caller that reach the program: where commands are found, and which Python environment is
#: active. Every other variable needs --env-pass, so that a result does not depend on it unseen.
PASSED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
ENV: Option[tuple[str, ...]] = Option(
    "--env",
    "Set a variable of the program. Repeatable.  Example: OMP_NUM_THREADS=4",
    {"multiple": True, "metavar": "NAME=VALUE"},
)
ENV_PASS: Option[tuple[str, ...]] = Option(
    "--env-pass",
    "Give the program this variable of your environment. PATH and the active virtual environment are always "
    "given. Repeatable.  Example: LD_LIBRARY_PATH",
    {"multiple": True, "metavar": "NAME"},
)
#: Bytes that each seed makes the environment longer: the stack begins elsewhere. Source: T. Mytkowicz et al.,
#: Producing wrong data without doing anything obviously wrong, ASPLOS 2009.
SEED_BYTES = 16


def of(given: Given) -> dict[str, str]:
    """The program's whole environment.

    Raises:
        BadRequest: --env has another form than NAME=VALUE, or --env-pass names a variable that is not set.

    """
    values = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8"}
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        values["HOME"] = "/"
    else:
        values |= {
            "HOME": user.pw_dir,
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "SHELL": user.pw_shell,
        }
    values |= {name: os.environ[name] for name in PASSED if os.environ.get(name)}
    for name in given[ENV_PASS]:
        if name not in os.environ:
            raise BadRequest(
                f"--env-pass {name}: this variable is not set here; valid: a name that `env` lists; "
                f"export it, or give --env {name}=VALUE"
            )
        values[name] = os.environ[name]
    for variable in given[ENV]:
        name, equals, value = variable.partition("=")
        if not (name and equals):
            raise BadRequest(f"--env {variable}: this is not NAME=VALUE, as in OMP_NUM_THREADS=4")
        values[name] = value
    return values


def of_root(given: Given) -> dict[str, str]:
    """The environment of a root shell, which finds the system's commands as well."""
    values = of(given)
    missing = [folder for folder in SEARCH_PATH.split(":") if folder not in values["PATH"].split(":")]
    path = ":".join([values["PATH"], *missing])
    return values | {"PATH": path, "HOME": "/root", "USER": "root", "LOGNAME": "root"}


def of_seed(seed: int) -> dict[str, str]:
    """The variable that makes the environment longer for each seed."""
    return {"CXLAB_SEED": "." * (SEED_BYTES * seed)}
