/** What `tollgate doctor` says of a thing that it looked at. */

/** `warning`: works, but should be looked at. Only `problem` makes the exit code 1. */
export type Finding = Readonly<{ check: string; status: 'ok' | 'warning' | 'problem'; detail: string }>
