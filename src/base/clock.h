/* clock.h - time that only goes forward. */
#ifndef PADA_BASE_CLOCK_H
#define PADA_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since some moment in the past; for differences only. */
double pada_clock_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
