/* report_assets.h - the files that every page contains, as parts of the program. */
#ifndef PADA_REPORT_REPORT_ASSETS_H
#define PADA_REPORT_REPORT_ASSETS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char pada_report_css[], pada_report_js[]; /* report.css, report.js */
extern const size_t pada_report_css_bytes, pada_report_js_bytes;
extern const char pada_chart_js[]; /* Chart.js of the distribution; empty: the build had none */
extern const size_t pada_chart_js_bytes;

#ifdef __cplusplus
}
#endif
#endif
