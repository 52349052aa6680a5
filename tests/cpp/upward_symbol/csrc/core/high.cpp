namespace strided {

int high(int x) { return 2 * x; }

}  // namespace strided
