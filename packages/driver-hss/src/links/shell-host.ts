/** A program running somewhere else, with lines in and out. */
export interface ShellProcess {
  /** Sends one line. */
  write(line: string): void
  /** Ends it and forgets it. Idempotent. */
  destroy(): void
}

/** What a program tells. `ended` comes once, with why in words that hold no data of a subscriber. */
export interface ShellListener {
  output(bytes: Buffer): void
  ended(why: string): void
}

/** Where programs can be started. */
export interface ShellHost {
  /** For people. */
  readonly where: string
  /** Throws `southbound_unavailable`. */
  start(command: readonly string[], listener: ShellListener, signal: AbortSignal): Promise<ShellProcess>
}
