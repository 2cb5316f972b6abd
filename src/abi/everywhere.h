/* Whether every rank of the job has this library. */
#ifndef STRETTO_EVERYWHERE_H
#define STRETTO_EVERYWHERE_H

/* Called in MPI_Init, after the native one, before anything else is sent: a rank without the
 * library would not answer, or take what is sent for something of the application's. Ends the job
 * with a sentence when a rank lacks it. */
void stretto_everywhere(void);

#endif
