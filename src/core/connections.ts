/** The most connections to Postgres that a process opens, and what each is used for. Rules: nodes.md "Connections". */

export const CONNECTIONS_MIN = 8
export const CONNECTIONS_MAX = 64
/** The connections that the pages use. */
export const PEOPLE_CONNECTIONS = 2
/** One each: the thread that writes, the thread that reads, the renewals with the echoes, and the notification listener. */
const ALONE = 4

/** Splits the connections that are left: two thirds to claims and kept answers, since a claim takes longer and answers are large; one third to the limits shared by nodes. */
export function connectionsOf(all: number): Readonly<{ answers: number; limits: number }> {
  const left = all - ALONE - PEOPLE_CONNECTIONS
  const limits = Math.floor(left / 3) || 1
  return { answers: left - limits, limits }
}

/** Twice what the processes use: while they are replaced one by one, the old and the new may run together. */
export const connectionsNeeded = (processes: number, each: number): number => 2 * processes * each
