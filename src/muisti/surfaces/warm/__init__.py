"""The warm process: it keeps a vault open and answers searches and hooks of the same user.

A fresh process spends most of its time on imports, on opening the vault and on loading the model.
`client` asks the warm process of the vault over a Unix socket, and falls back to the ordinary way
at any doubt. `start` starts one after an answer that was given the ordinary way. `server` is the
process, `answers` what it answers. Only on Linux.
"""
