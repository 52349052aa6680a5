// What layering.py must find: a function of a lower floor that calls one of a higher floor. Part of no program.
namespace strided {

int high(int x);
int low(int x) { return high(x) + 1; }

}  // namespace strided
