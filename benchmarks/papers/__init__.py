"""The figures of two papers, drawn anew with the engines that are here; `results/README.md` shows what came out."""
