/* clock.h - time that only goes forward. */
#ifndef PADA_BASE_CLOCK_H
#define PADA_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since some moment in the past; for differences only. */
double pada_clock_seconds(void);
/* Seconds that processors have worked for this process so far, all of its threads together. */
double pada_clock_work_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
