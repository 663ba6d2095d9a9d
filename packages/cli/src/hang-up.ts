/** What SIGHUP does from now on. */
export interface HangUp {
  /** From now on SIGHUP does this; at once where it came before. */
  begin(work: () => void): void
}

/** Keeps SIGHUP, which would end the process while it starts, for when there is something to reload. */
export function keepHangUp(): HangUp {
  let hasCome = false
  let onHangUp = (): void => {
    hasCome = true
  }
  process.on('SIGHUP', () => onHangUp())
  return {
    begin: (work) => {
      onHangUp = work
      if (hasCome) work()
    },
  }
}
