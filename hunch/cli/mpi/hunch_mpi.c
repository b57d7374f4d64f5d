/* See the header. Counts of MPI are ints, so that large messages go in pieces. */
#include "hunch/cli/mpi/hunch_mpi.h"

#include <mpi.h>

enum { kPiece = 1 << 30, kTag = 7 };

int hunch_mpi_start(int* rank, int* size) {
  int threads = 0;
  int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads);
  if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, size);
  return error;
}

static int piece_of(uint64_t left) { return left < (uint64_t)kPiece ? (int)left : kPiece; }

int hunch_mpi_send(const void* bytes, uint64_t size, int to) {
  const char* at = bytes;
  while (size > 0) {
    const int piece = piece_of(size);
    const int error = MPI_Send(at, piece, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) return error;
    at += piece;
    size -= (uint64_t)piece;
  }
  return MPI_SUCCESS;
}

int hunch_mpi_receive(void* bytes, uint64_t size, int from) {
  char* at = bytes;
  while (size > 0) {
    const int piece = piece_of(size);
    const int error = MPI_Recv(at, piece, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
    at += piece;
    size -= (uint64_t)piece;
  }
  return MPI_SUCCESS;
}

int hunch_mpi_broadcast(void* bytes, uint64_t size) {
  char* at = bytes;
  while (size > 0) {
    const int piece = piece_of(size);
    const int error = MPI_Bcast(at, piece, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) return error;
    at += piece;
    size -= (uint64_t)piece;
  }
  return MPI_SUCCESS;
}

int hunch_mpi_finish(void) { return MPI_Finalize(); }
