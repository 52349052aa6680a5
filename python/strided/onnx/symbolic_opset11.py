"""The rules of ONNX files, version 11: none. Libraries import the module for rules that are never called."""
