"""What objects of the compiled core have from Python: text and memory of tensors, storages, layouts, dtype limits."""
