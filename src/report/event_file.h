/* event_file.h - TensorBoard's event file of a run, which only has whole steps in ascending order.
 *
 *   RUN/events.out.tfevents.SECONDS.HOST          one per run; a continued run goes on in it
 *
 *   record = [ length: u64 | masked CRC-32C of it: u32 | Event | masked CRC-32C of that: u32 ]
 *
 * little-endian. The first Event says "brain.Event:2", each further one is a step with all of its
 * values, written at once. What a killed process left of its last record is cut off when the file is
 * opened; steps that are made again replace those that are there. */
#ifndef PADA_REPORT_EVENT_FILE_H
#define PADA_REPORT_EVENT_FILE_H

#include "base/status.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_event_file pada_event_file;

/* Opens the newest event file in the folder, or makes one. A file that begins as something else is
 * left alone, and a new one is made beside it. */
pada_status pada_event_file_open(pada_event_file **out, const char *run);
void pada_event_file_close(pada_event_file *file); /* NULL is fine */

/* Appends a step after dropping those from it on. `summary` is a Summary message. */
pada_status pada_event_file_append(pada_event_file *file, int64_t step, double unix_seconds,
                                   const pada_text *summary);

/* Values of a Summary message. */
void pada_summary_scalar(pada_text *summary, const char *tag, double value);
void pada_summary_histogram(pada_text *summary, const char *tag, const double *values, int n);
void pada_summary_text(pada_text *summary, const char *tag, const char *markdown);

#ifdef __cplusplus
}
#endif
#endif
