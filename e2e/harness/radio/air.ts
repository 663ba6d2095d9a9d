import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '@steeple/testkit'

/** How a radio falls silent: as srsenb does (60 ms after a signal), or only when it is killed. `broken`: it ends at its start. */
export type Manners = 'polite' | 'deaf' | 'broken'

/** What the counter has seen. Times are CLOCK_MONOTONIC, ms. */
export interface Seen {
  /** Samples that arrived since the time that was asked for. */
  readonly samples: number
  /** When the newest arrived, and when it was sent. */
  readonly lastMs: number
  readonly lastSentMs: number
  /** How late a timer of the counter came since it was asked last: how busy the machine is. */
  readonly lateMs: number
}

/** The air between stand-ins of srsenb and a counter in a process of its own. */
export interface Air {
  /** The program for `ran.binary`. */
  readonly binary: string
  /** What radios that start from now on do. */
  behave(manners: Manners): void
  /** Kills the radio that was started last, unless it is gone already. */
  strike(): void
  since(ms: number): Promise<Seen>
  /** Waits until samples flow. */
  isOn(): Promise<void>
  close(): void
}

/** Now on the counter's clock, ms. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Starts a counter; its socket and the program are in `folder`. */
export async function openAir(folder: string): Promise<Air> {
  const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  const [socket, manners, binary] = ['air', 'manners', 'srsenb'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const command = [process.execPath, '--no-warnings', fileOf('stand-in.ts'), socket, manners]
  writeFileSync(binary, `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(' ')} "$@"\n`, {
    mode: 0o755,
  })
  const behave = (wanted: Manners): void => {
    writeFileSync(`${manners}.new`, wanted)
    renameSync(`${manners}.new`, manners)
  }
  behave('polite')
  const counter: ChildProcess = fork(fileOf('counter.ts'), [socket], { execArgv: ['--no-warnings'] })
  await once(counter, 'message')
  const since = async (ms: number): Promise<Seen> => {
    const answer = once(counter, 'message')
    counter.send(ms)
    const [seen] = await answer
    // The counter answers nothing else.
    return seen as Seen
  }
  return {
    binary,
    behave,
    strike: () => {
      try {
        process.kill(Number(readFileSync(`${manners}.pid`, 'utf8')), 'SIGKILL')
      } catch (error) {
        if ((error as { readonly code?: string }).code !== 'ESRCH') throw error
      }
    },
    since,
    isOn: async () => {
      const began = nowMs()
      await eventually(async () => (await since(began)).samples > 20)
    },
    close: () => counter.kill('SIGKILL'),
  }
}
