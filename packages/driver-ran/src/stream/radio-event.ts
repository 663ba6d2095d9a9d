/** What one line of the program's output means. Frequencies in MHz. */
export type RadioEvent =
  /**
   * The program itself runs. Unguarded: with privileges of its own or out of its process group, so it would outlive a
   * service that dies.
   */
  | { readonly kind: 'heard'; readonly isUnguarded: boolean }
  /** What was started is not the program but something that has started it, which a dead service would leave behind. */
  | { readonly kind: 'wrapped' }
  /** Samples flow: the transmitter is on. Connected: it starts only after its core has taken it. */
  | { readonly kind: 'started'; readonly isConnected?: boolean }
  /** Slots pass, as it says itself now and then while its cell is active. */
  | { readonly kind: 'ticked'; readonly phones: number }
  /** The carrier that the program says it uses. */
  | {
      readonly kind: 'carrier'
      readonly downlinkMhz: number
      readonly uplinkMhz?: number
      readonly resourceBlocks?: number
      readonly bandwidthMhz?: number
      /** The last digit in which the program tells frequencies. */
      readonly stepMhz: number
    }
  /** The radio device that the program opens. */
  | { readonly kind: 'device'; readonly name: string }
  /** The program sends with another gain than it was told. */
  | { readonly kind: 'gain_ignored' }
  /** S1 or NG is set up. */
  | { readonly kind: 'connected' }
  /**
   * S1 or NG is lost or was not set up; `reason` is the program's own. Vague: what was heard of the attempt says more. Last: on
   * air it does not try again.
   */
  | {
      readonly kind: 'disconnected'
      readonly reason: string
      readonly isVague?: boolean
      readonly isLast?: boolean
    }
  /** How far an attempt to reach the core has come: why it fails if nothing else follows; undefined when it begins. */
  | { readonly kind: 'attempt'; readonly reason: string | undefined }
  /** The cell is on air and can serve no phone. */
  | { readonly kind: 'cell_fault'; readonly text: string }
  /** The same, if it comes again and again. */
  | { readonly kind: 'cell_doubt'; readonly text: string }
  /** Why it is about to end: it refuses its configuration, or it cannot open the device. */
  | { readonly kind: 'cause'; readonly of: 'config' | 'device' | 'core'; readonly text: string }
  | { readonly kind: 'ue_connected'; readonly rnti: string }
  | { readonly kind: 'ue_gone'; readonly rnti: string }
  /** How many phones the program counts itself. */
  | { readonly kind: 'ue_count'; readonly count: number }
  /** It will not try to reach the core again: only another start helps. */
  | { readonly kind: 'given_up'; readonly reason: string }
  | { readonly kind: 'random_access' }
  | { readonly kind: 'rf_error'; readonly count: number }
  | { readonly kind: 'crashed' }
  | { readonly kind: 'forced_exit' }
  | { readonly kind: 'stopping' }

/** So much of a line is told as a cause, characters. */
export const CAUSE_CHARACTERS = 240

/** A pattern and what a line that it matches means. */
export type Rule = readonly [pattern: RegExp, meaning: (found: RegExpExecArray) => RadioEvent]

/** What the last digit of a number stands for: 0.1 of `2680.0`. */
export function lastDigitOf(number: string): number {
  const [, decimals = ''] = number.split('.')
  return 10 ** -decimals.length
}

/** The meaning of a line by the first rule that fits; undefined for all other lines. */
export function firstMeaning(rules: readonly Rule[], line: string): RadioEvent | undefined {
  for (const [pattern, meaning] of rules) {
    const found = pattern.exec(line)
    if (found !== null) return meaning(found)
  }
  return undefined
}

/**
 * A line without terminal colours and control characters, at most `limit` long. Runs of digits as long as an identity of a
 * subscriber are blotted out, so that none gets into an error, the health or the log.
 */
export function plainLine(line: string, limit = 400): string {
  return (
    line
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with ESC
      .replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: a log field must not carry any
      .replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
      .replaceAll(/\d{13,}/g, '…')
      .trim()
      .slice(0, limit)
  )
}
