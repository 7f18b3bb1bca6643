"""`python -m onepull` and the script `onepull`: run the command; Ctrl-C stops it at any time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CALLBACK_PAUSE = 0.01  # seconds, for a callback to return
STOPPED = 130  # the exit code of an interrupted command


def start() -> None:
    """Run the command; an interrupt ends it in one line, also while modules are imported."""
    interrupted: Callable[[], bool] = bool
    try:
        interrupted = _heed_interrupts()
        # Imported here, so that an interrupt meanwhile ends as any other.
        from onepull.cli import main  # noqa: PLC0415 - see above

        main(prog_name="onepull")
        if not interrupted():
            return
    except KeyboardInterrupt:
        pass
    except SystemExit as ended:
        if ended.code == STOPPED:
            _end_at_once()
        if ended.code == STOPPED or not interrupted():
            raise
    except BaseException:
        # Some code turns an interrupt into another error, such as Python itself in a class body.
        if not interrupted():
            raise
    finally:
        _ignore_interrupts()
    sys.stderr.write("\nonepull: stopped\n")
    _end_at_once()
    sys.exit(STOPPED)


def _end_at_once() -> None:
    """End the process, if the compiler may have been interrupted: it may crash while it is freed.

    If there are other processes of ours, the interpreter has to end them.
    """
    tracker = getattr(
        sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None
    )
    if "llvmlite" in sys.modules and getattr(tracker, "_pid", None) is None:
        import os  # noqa: PLC0415 - an interrupt while it is imported must be caught

        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)


def _heed_interrupts() -> Callable[[], bool]:
    """Raise KeyboardInterrupt at an interrupt, and again if it is lost; return whether one came.

    An exception in a callback from C, as the compiler makes them, is only printed, and the
    program goes on.
    """
    import signal  # noqa: PLC0415 - an interrupt while it is imported must be caught
    import time  # noqa: PLC0415 - the same
    from _thread import get_ident, interrupt_main, start_new_thread  # noqa: PLC0415 - the same

    here, came = get_ident(), False

    def interrupt(_number: int, _frame: Any) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def ask_again() -> None:
        time.sleep(CALLBACK_PAUSE)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(here, signal.SIGINT)  # also ends a wait
        else:
            interrupt_main()

    def unraisable(found: Any) -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            start_new_thread(ask_again, ())
        else:
            sys.__unraisablehook__(found)

    # A shell may have had us ignore interrupts; then they stay ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = unraisable
    return lambda: came


def _ignore_interrupts() -> None:
    """Let the interpreter end in peace: the command is done."""
    import signal  # noqa: PLC0415 - see above

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python ends by the signal, whatever the exit code, if an interrupt left code that was run
    # from a string, as in the standard library's data classes.  Running a string forgets that.
    exec("")  # noqa: S102 - see above


if __name__ == "__main__":
    start()
