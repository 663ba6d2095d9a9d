import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs'

/** Beside the store: the number of the last commit that was answered. */
const NOTE = '-committed'
/** What versions before it left beside a store in use; that it is there proves nothing. */
const OLD_MARK = '-in-use'
/** Numbers go round: SQLite keeps one in 32 bits with a sign. */
const NUMBERS = 2 ** 31
const DIGITS = 10

/** Writes down which commit was the last, outside of the store and its WAL. */
export interface CommitNote {
  /**
   * Call when the commit is durable. Not synced: after `kill -9` it is there all the same, and after a power cut an older
   * number than the store's is no loss.
   */
  write(number: number): void
  close(): void
}

/** The note beside the store file at `path`, made with the first commit. */
export function commitNote(path: string): CommitNote {
  rmSync(path + OLD_MARK, { force: true })
  let file: number | undefined
  return {
    write: (number) => {
      try {
        file ??= openSync(path + NOTE, constants.O_WRONLY | constants.O_CREAT, 0o600)
        writeSync(file, noteText(number), 0)
      } catch {
        // A full disk keeps nobody from serving; what the next start compares with is older then.
      }
    },
    close: () => {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

/** The number of the last commit that was answered; undefined where that is not known. */
export function notedCommit(path: string): number | undefined {
  try {
    const text = readFileSync(path + NOTE, 'latin1')
    const number = Number(text.slice(0, DIGITS))
    // Written twice, so that a damaged one is not believed.
    return text === noteText(number) ? number : undefined
  } catch {
    return undefined
  }
}

/** Removes the note: whatever the store holds then is what it holds. */
export function forgetCommit(path: string): void {
  rmSync(path + NOTE, { force: true })
}

/** The number of the commit behind `number`. */
export function commitAfter(number: number): number {
  return (number + 1) % NUMBERS
}

/** How many commits a store lacks that ends with `there`, when `noted` was answered. */
export function commitsMissing(there: number, noted: number | undefined): number {
  const missing = noted === undefined ? 0 : (noted - there + NUMBERS) % NUMBERS
  // Ahead of the note, by whatever the note missed.
  return missing < NUMBERS / 2 ? missing : 0
}

function noteText(number: number): string {
  const digits = String(number).padStart(DIGITS, '0')
  return `${digits} ${digits}\n`
}
