"""The functional machine: an unmodified Linux in stock QEMU, and what starts, feeds and ends it.

::

    kernel_image + initramfs ----> qemu (command line) ----> supervisor ----> run_directory
    description (from the model) ----^      placement, guest (protocol) --^      ^-- model_process
"""
