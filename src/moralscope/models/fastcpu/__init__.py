"""Hand-written arithmetic for transformers on a CPU: the rows of the libraries, in less time.

Why it is here: scoring a corpus on a laptop is bound by the encoder, and the usual way through
`sentence-transformers` pads texts, reorders every weight matrix at every product, and lets threads
wait for each other. Four changes, each measured with ``bench/encoders.py`` beside the library in
the same round: no padding (`unpadded`), weights laid out once (`linear`: exact), products of 8 bits
on processors with VNNI (`linear`: light), and whole batches side by side, one thread each
(`threads`). With exact products rows are the library's to 1e-6; tests compare them with
transformers. Nothing here reads a file or knows what texts mean.
"""
