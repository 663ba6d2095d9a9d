/** What SIGHUP does from now on. */
export interface HangUp {
  /** From now on SIGHUP does this; at once where it came before. */
  begin(work: () => void): void
  /** From now on it is kept again until somebody begins. */
  keep(): void
}

/** Keeps SIGHUP, which would end the process while it starts, for when there is something to reload. */
export function keepHangUp(): HangUp {
  let hasCome = false
  const keep = (): void => {
    hasCome = true
  }
  let onHangUp = keep
  process.on('SIGHUP', () => onHangUp())
  return {
    begin: (work) => {
      onHangUp = work
      if (!hasCome) return
      hasCome = false
      work()
    },
    keep: () => {
      onHangUp = keep
    },
  }
}
