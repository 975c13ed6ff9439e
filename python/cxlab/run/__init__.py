"""Runs of programs on a simulated machine: an unmodified Linux in stock QEMU.

::

    machine, topology   the machine as the model describes it; its CXL windows and devices
    errors, size        what can go wrong; sizes of memory
    options/            a module an option: command line, check, effect on guest, QEMU and model
    guest/              what the guest is made of: kernel, first root, the protocol of its init
    request             what a run is asked to do, and what it gave
    results/            the folder of a run, and its summary
    host/               processes of the host: supervisor, QEMU, the model, jail, ports, streams
"""
