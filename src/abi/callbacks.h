/* The callback types of MPI-4.1, the same for every family; included by the family's header. */
#ifndef STRETTO_MPI_CALLBACKS_H
#define STRETTO_MPI_CALLBACKS_H

typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef void MPI_User_function_c(void *invec, void *inoutvec, MPI_Count *len,
                                 MPI_Datatype *datatype);

typedef int MPI_Grequest_query_function(void *extra_state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra_state);
typedef int MPI_Grequest_cancel_function(void *extra_state, int complete);

typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void *extra_state, void *value,
                                        void *copy, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void *value,
                                          void *extra_state);
typedef int MPI_Type_copy_attr_function(MPI_Datatype datatype, int keyval, void *extra_state,
                                        void *value, void *copy, int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype datatype, int keyval, void *value,
                                          void *extra_state);
typedef int MPI_Win_copy_attr_function(MPI_Win win, int keyval, void *extra_state, void *value,
                                       void *copy, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int keyval, void *value, void *extra_state);
/* deprecated since MPI-2.0, still in MPI-4.1 */
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;

typedef int MPI_Datarep_extent_function(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);
typedef int MPI_Datarep_conversion_function(void *userbuf, MPI_Datatype datatype, int count,
                                            void *filebuf, MPI_Offset position, void *extra_state);
typedef int MPI_Datarep_conversion_function_c(void *userbuf, MPI_Datatype datatype, MPI_Count count,
                                              void *filebuf, MPI_Offset position,
                                              void *extra_state);

typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *code, ...);
typedef void MPI_File_errhandler_function(MPI_File *file, int *code, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *code, ...);
typedef void MPI_Session_errhandler_function(MPI_Session *session, int *code, ...);

#endif
