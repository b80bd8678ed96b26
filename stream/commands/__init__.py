"""The commands of the command line, one file each; what several share is in `shared` and `kafka`."""
