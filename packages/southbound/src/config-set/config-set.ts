import type { Daemon } from './daemon.ts'

/** A configuration set as it ought to be: path relative to `dir` → content, and who reads what. */
export interface ConfigSet {
  readonly dir: string
  readonly files: ReadonlyMap<string, string>
  /** In the order of their restarts. */
  readonly daemons: readonly Daemon[]
}
