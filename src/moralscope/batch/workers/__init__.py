"""Who computes the blocks of a batch run: processes of this machine, or Ray actors."""
