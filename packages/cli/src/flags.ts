/** The command-line flags of the service. Absent ones are left to environment, file and defaults, in that order. */
export interface ServiceFlags {
  /** Path of the YAML configuration; `/etc/svc/control.yaml` when absent. */
  readonly config?: string
  /** Data and keys directory. */
  readonly dataDir?: string
  /** `host:port` or `:port`. */
  readonly listen?: string
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error'
  /** Makes the node and a credential when there is none yet, and says how to use them. */
  readonly firstStart?: boolean
  /** Leaves installed plugins alone. */
  readonly safeMode?: boolean
}

/** What `serve` gets: the parsed flags and the raw arguments they came from. */
export interface ServeOptions {
  readonly flags: ServiceFlags
  readonly argv: readonly string[]
}

const TEXTS: ReadonlyMap<string, 'config' | 'dataDir' | 'listen' | 'logLevel'> = new Map([
  ['--config', 'config'],
  ['--data-dir', 'dataDir'],
  ['--listen', 'listen'],
  ['--log-level', 'logLevel'],
])
const SWITCHES: ReadonlyMap<string, 'safeMode' | 'firstStart'> = new Map([
  ['--safe-mode', 'safeMode'],
  ['--first-start', 'firstStart'],
])
const LOG_LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'] satisfies ServiceFlags['logLevel'][]

/**
 * The flags of a command line that runs the service and says so plainly: known flags alone, each value behind its flag or an
 * equals sign. Undefined for everything else, help and mistakes included: that is the command tree's to judge, and a service that
 * is started needs none of its commands.
 */
export function serviceFlagsOf(words: readonly string[]): ServiceFlags | undefined {
  const flags: Record<string, string | boolean> = {}
  if (words.length === 0) return undefined
  for (let at = words[0] === 'serve' ? 1 : 0; at < words.length; ) {
    const word = words[at] ?? ''
    const toggle = SWITCHES.get(word)
    const text = toggle === undefined ? textAt(word, words[at + 1]) : undefined
    if (toggle !== undefined) flags[toggle] = true
    else if (text !== undefined) flags[text.name] = text.value
    else return undefined
    at += text?.words ?? 1
  }
  // Only what was looked at above is in it.
  return flags as ServiceFlags
}

/** A flag with its value, and of how many words it is; undefined when it is not a plain one. */
function textAt(
  word: string,
  next = '',
): { readonly name: string; readonly value: string; readonly words: number } | undefined {
  const equals = word.indexOf('=')
  const name = TEXTS.get(equals < 0 ? word : word.slice(0, equals))
  const value = equals < 0 ? next : word.slice(equals + 1)
  if (name === undefined || value === '' || value.startsWith('-')) return undefined
  if (name === 'logLevel' && !LOG_LEVELS.includes(value)) return undefined
  return { name, value, words: equals < 0 ? 2 : 1 }
}
