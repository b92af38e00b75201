"""`RUN/summary.html`: a run on one page, made from the files that lie beside it."""
