/** What a running answer says to those who take part in it, and where their places are counted. Rules: requests.md "Joined answers". */

/** A repetition of a streamed request; it takes the bytes as they come. */
export interface Follower {
  /** There is more to read, or the end has come. */
  grew(): void
  /** Bytes that are not kept: the follower must take them now. */
  passed(bytes: Uint8Array): void
}

/** Places in an answer that another relay gives, which are counted there, too. `take`: for all that have one here; false where too few are free. */
export type PlacesElsewhere = Readonly<{ take(): Promise<boolean> }>
