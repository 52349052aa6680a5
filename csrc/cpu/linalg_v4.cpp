#include "cpu/linalg.inc"
