// Uses <utility> without including it: a fault that standard_includes.py has to find.
#pragma once

inline int moved(int n) { return std::move(n); }
