/** How many connections to Postgres a process has at most, and for what. Rules: nodes.md "Connections". */

export const CONNECTIONS_MIN = 8
export const CONNECTIONS_MAX = 64
/** For pages. */
export const PEOPLE_CONNECTIONS = 2
/** The thread that writes, the one that reads, the renewals with the echoes, and the notification listener. */
const ALONE = 4

/** What claims and kept answers have, and what limits over nodes: a claim takes longer, and answers are large. */
export function connectionsOf(all: number): Readonly<{ answers: number; limits: number }> {
  const left = all - ALONE - PEOPLE_CONNECTIONS
  const limits = Math.floor(left / 3) || 1
  return { answers: left - limits, limits }
}

/** While processes are replaced one by one there are twice as many. */
export const connectionsNeeded = (processes: number, each: number): number => 2 * processes * each
