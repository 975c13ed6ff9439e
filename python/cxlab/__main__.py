"""``cxlab``, and ``python -m cxlab`` where its script is not on PATH."""

# The interpreter has this part of `signal` already. To read all of it takes 10 ms, in which ctrl-C prints a
# traceback.
import _signal as signal  # type: ignore[import-not-found]


def run() -> None:
    """Run the command line. Ctrl-C while its modules are read ends the process without a traceback."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cxlab.cli import main

    signal.signal(signal.SIGINT, heard)
    main()


if __name__ == "__main__":
    run()
