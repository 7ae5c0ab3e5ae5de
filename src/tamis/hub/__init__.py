"""The Hub: what is sent there, what comes from there, and a small one on this machine to try it on."""
