// Makes the steps of a fused program from logged calls.
#pragma once

#include <unordered_map>

#include "ops/fuse/fused_program.h"

namespace strided {

class FusedBuilder {
 public:
  FusedBuilder(FusedProgram* program, const std::vector<const LoggedCall*>& calls, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& outputs)
      : program_(*program), calls_(calls), inputs_(inputs), outputs_(outputs) {}
  // Fills the program in, or says why there is none (FusedProgram::obstacle).
  void build();

 private:
  // How the shape of a value lies in the space of the program: it has that shape; the same with a last axis of size 1;
  // or the same without its last axis.
  enum class Form : uint8_t { Full, Row, Dropped };
  struct Made {  // by a step
    int value;
    Form form;
  };

  void find_space();
  void add(const LoggedCall& call);
  void add_reduction(const LoggedCall& call);
  Form form_of(const LoggedCall& call) const;
  int operand(const Tensor& t, Form form);
  int memory_value(bool output, int index, const Tensor& t, Form form);
  int constant(const Scalar& number, DType dtype, OutOfRange rule);
  int converted(int value, DType dtype, bool rows);
  int result(const Tensor& out, Form form);
  int new_value(FusedPlan::Place place, int index, DType dtype);
  bool is_row(int value) const;
  FusedPlan::Step& step(FusedPlan::Kind kind, int result, bool rows);
  void merge();
  void allocate_registers();

  FusedProgram& program_;
  const std::vector<const LoggedCall*>& calls_;
  const std::vector<Tensor>&inputs_, &outputs_;
  Dims space_;                         // outermost first
  const LoggedCall* whole_ = nullptr;  // the reduction of everything
  std::unordered_map<const TensorImpl*, Made> made_;
  std::vector<Dims> strides_;  // of each memory over space_, bytes
};

}  // namespace strided
