// Files: what python/strided/serialization.py and python/strided/files are made of.
#include "python/bind/bind.h"
#include "python/files/archive.h"
#include "python/files/pieces.h"
#include "python/files/progress.h"

namespace strided::python {

void bind_files() {
  def<&save_archive>(
      "_save_archive(Any object, Any to, Any describe, int protocol, str prefix, bool checksums, bool byteorder)",
      "Writes an object as PyTorch's zip archive.", kFunction);
  def<&save_stream>("_save_stream(Any object, Any to, Any describe, int protocol, Any system)",
                    "Writes an object as PyTorch did before 1.6.", kFunction);
  def<&load_archive>(
      "_load_archive(Any from_, int start, Any constructors, Any restore, Any straight, bool mapped, bool shared, str "
      "byteorder) -> Any",
      "The object of a zip archive of PyTorch's.", kFunction);
  def<&load_stream>("_load_stream(Any from_, Any constructors, Any restore) -> Any",
                    "The object of a file from before PyTorch 1.6, and where it ends.", kFunction);
  def<&archive_entries>("_archive_entries(Any from_, int start) -> Any",
                        "(name, begin, bytes in the file, bytes, method, checksum) of the entries of a zip archive.",
                        kFunction);
  def<&pickled_names>("_pickled_names(Any bytes) -> Any",
                      "The names that a pickle refers to, of which the machine knows none.", kFunction);
  def<&checksum>("_crc32(Any bytes, int crc=0)", "The checksum of zip archives.", kFunction);
  def<&read_piece>("_read_piece(int fd, int begin, int count, dtype dtype)",
                   "A piece of a file as a tensor of one axis.", kFunction);
  def<&read_to_device>("_read_to_device(int fd, Any pieces, device device) -> Any",
                       "Pieces of a file, (begin, shape, dtype), as tensors on a CUDA device.", kFunction);
  def<&set_progress>("_set_progress(Any function) -> Any",
                     "Sets what is told how far files are, and gives back the one before.", kFunction);
  def<&progress_begins>("_progress_begins(int total)",
                        "A file of that many bytes is read or written; False inside of another file.", kFunction);
  def<&progress_moved>("_progress_moved(int bytes)", "That many bytes of it moved.", kFunction);
  def<&progress_ends>("_progress_ends(bool finished)", "It is read or written, or given up.", kFunction);
  def<&map_file>("_map_file(int fd, bool shared)", "A file as a tensor of bytes, on mapped memory.", kFunction);
  def<&piece_of>("_piece_of(Tensor input, int begin, int[] shape, dtype dtype)",
                 "A part of the memory of a tensor, as a tensor with a storage of its own.", kFunction);
  def<&write_tensors>("_write_tensors(Any to, Any head, Tensor[] tensors)",
                      "Appends bytes, and those of tensors, to a file.", kFunction);
}

}  // namespace strided::python
