/* Files that the program reads and writes: by path, with calls, bytes and time. The functions of
 * libc that do so are taken by record/files_calls.c; what MPI-IO moves inside its calls is counted
 * in the same rows, without time: that is in the rows of the calls. */
#ifndef STRETTO_RECORD_FILES_H
#define STRETTO_RECORD_FILES_H

#include "record/core.h"

typedef struct {
    stretto_raw_file *row;
    uint64_t start;
    int fd;
    bool by_mpi; /* inside a call of MPI-IO */
} stretto_file_call;

typedef enum { STRETTO_FILE_READS, STRETTO_FILE_WRITES, STRETTO_FILE_KEEPS } stretto_file_action;

/* Makes the rows; without room for them files are not recorded. */
void stretto_files_begin(void);
/* Before a call on a descriptor; false: it is not to be recorded. */
bool stretto_file_enter(stretto_file_call *call, int fd);
/* After it, with the bytes that it moved (negative: it failed) and where in the file they end. */
enum { STRETTO_FILE_AT_OFFSET = -1, STRETTO_FILE_NOWHERE = -2 };
void stretto_file_leave(const stretto_file_call *call, stretto_file_action action, int64_t bytes,
                        int64_t end);
/* After a descriptor was opened, in a call that began then (0: not recorded); errno is kept. */
uint64_t stretto_file_opens(void);
void stretto_file_opened(int fd, uint64_t start);
/* Before a descriptor is closed: what is known of it goes; false: it is not to be recorded. */
bool stretto_file_closes(stretto_file_call *call, int fd);
/* After it became another's. */
void stretto_file_forget(int fd);

#endif
