"""A Hub on 127.0.0.1 that the real clients talk to; its state is a folder. `process.LoopbackHub` starts one."""
