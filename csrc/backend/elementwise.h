// Every elementwise op: one struct each, and the list they stand in. No tensor in here, so that device code includes it
// too. A struct's `fwd` is scalar arithmetic on the compute type (float for the 16-bit floats, unless the struct says
// `on_storage`); overloads say what bool, integers or complex numbers do. `vjp<I>` is the gradient for operand I, in
// the public ops over any value type V: see Note [Backward formulas] in backend/elementwise_base.h.
#pragma once

#include "backend/elementwise_bessel.h"
#include "backend/elementwise_binary.h"
#include "backend/elementwise_compare.h"
#include "backend/elementwise_other.h"
#include "backend/elementwise_piecewise.h"
#include "backend/elementwise_polynomial.h"
#include "backend/elementwise_special.h"
#include "backend/elementwise_transcendental.h"
#include "backend/elementwise_unary.h"

namespace strided {

using ActivationOps = Concat<SmoothActivations, PiecewiseActivations>::type;
using FirstOps = Concat<Concat<UnaryOps, TranscendentalOps>::type, Concat<BinaryOps, CompareOps>::type>::type;
using AllSpecialOps = Concat<SpecialOps, Concat<BesselOps, PolynomialOps>::type>::type;
using LastOps = Concat<AllSpecialOps, Concat<OtherOps, ActivationOps>::type>::type;
using ElementwiseOps = Concat<FirstOps, LastOps>::type;
constexpr int kNumElementwise = ElementwiseOps::size;

template <class Op>
constexpr int elementwise_id = IndexOf<Op, ElementwiseOps>::value;

}  // namespace strided
