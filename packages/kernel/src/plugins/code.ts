import type { Plugin } from '@steeple/contracts'

/** The code of one version of a plugin, in this process or in a child. */
export interface PluginCode {
  readonly plugin: Plugin
  /** Gives back what loading took and no live copy owns: a child process that was never set up. */
  dispose(): Promise<void>
}
