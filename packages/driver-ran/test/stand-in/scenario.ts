/** What the stand-in does: a recording to replay and how it behaves where a radio would. */
export interface Scenario {
  /** Absolute path of a recording: its `out` and `err` lines are printed at their times. */
  readonly recording?: string
  /** What the recording has after that time is left out. */
  readonly untilMs?: number
  /** The recording's time runs so many times faster; 1 when absent. */
  readonly speed?: number
  /** Lines printed after the recording, or without one. `atMs` counts from the start. */
  readonly lines?: readonly { readonly atMs: number; readonly stream: 'out' | 'err'; readonly text: string }[]
  /** A file whose lines are printed as they are added to it. */
  readonly says?: string
  /** Samples flow from then on, ms; never when absent. */
  readonly onAirAtMs?: number
  /** Samples flow no more from then on, ms: its device has stalled. */
  readonly stallsAtMs?: number
  /** Where each sample is written: `<CLOCK_MONOTONIC ns> <1 or 0 for muted>` per line. */
  readonly samples: string
  /** `graceful`: quiet 60 ms after SIGTERM, gone after `teardownMs`. `stall`: sends on and kills itself after 5 s. */
  readonly onTerm: 'graceful' | 'ignore' | 'stall'
  readonly teardownMs?: number
  readonly ignoresInput?: boolean
  /** It ends by itself. */
  readonly exit?: { readonly atMs: number; readonly code: number }
  /** It starts a child that sends samples too and then waits for it: a wrapper that does not exec. */
  readonly spawnsChild?: boolean
  /** At SIGUSR2 it starts itself once more, in a session of its own, and that one sends samples from its start on. */
  readonly leaves?: {
    /** By a process between them that ends at once, so that nobody is the parent. */
    readonly isTwice?: boolean
    /** Without an environment. */
    readonly isBare?: boolean
    /** It ends itself so long afterwards. */
    readonly endsAfterMs?: number
  }
  /** So many phones a gnb counts in its log; none when absent. */
  readonly phones?: number
  /** A gnb's metrics server on that port. */
  readonly metricsPort?: number
  readonly metrics?: readonly object[]
}
