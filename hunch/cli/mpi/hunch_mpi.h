/* What hunch asks of MPI, in a library of its own that is opened only under mpirun: so that hunch neither
 * needs MPI nor starts slower where there is none. In C, as MPI's stable interface is.
 *
 * All calls come from one thread. Each returns 0, or MPI's error code. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins; rank and size of all processes. Once, before the others. */
int hunch_mpi_start(int* rank, int* size);
/* Sends or takes `size` bytes, from 0 on; both sides know the size. */
int hunch_mpi_send(const void* bytes, uint64_t size, int to);
int hunch_mpi_receive(void* bytes, uint64_t size, int from);
/* All processes at once: rank 0's bytes go to all. */
int hunch_mpi_broadcast(void* bytes, uint64_t size);
/* Leaves, after all have come to it. */
int hunch_mpi_finish(void);

#ifdef __cplusplus
}
#endif
