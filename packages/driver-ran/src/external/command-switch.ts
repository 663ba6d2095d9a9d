import { spawn } from 'node:child_process'
import { southboundUnavailable } from '@steeple/contracts'
import {
  type CellSwitch,
  type CommandConfig,
  cellChannel,
  linesOf,
  powerMeter,
  type SwitchReading,
} from './cell-switch.ts'

/** Where the system's programs are; nothing of the service's environment is handed on. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const MOST_OUTPUT = 4_096
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/
const STATUS = /^(on|off)(?:\s+([0-9.]+))?(?:\s+channel\s+([0-9]{1,7}))?$/

/** Runs the programs of the configuration, without a shell. What they print is in no error: it may hold a secret. */
export function commandSwitch(config: CommandConfig): CellSwitch {
  const run = async (argv: readonly string[], signal: AbortSignal): Promise<string> => {
    const variables =
      config.env_file === undefined ? {} : variablesIn(await linesOf(config.env_file), config.env_file)
    signal.throwIfAborted()
    return await outputOf(argv, { PATH: SYSTEM_PATH, LC_ALL: 'C', ...variables }, signal)
  }
  return {
    turn: async (isOn, signal) => void (await run(isOn ? config.on : config.off, signal)),
    read: async (signal): Promise<SwitchReading> => {
      const [program = ''] = config.status
      const [first = ''] = (await run(config.status, signal)).trim().split('\n')
      const [, word, watts, channel] = STATUS.exec(first.trim()) ?? []
      if (word === undefined) throw southboundUnavailable(`${program} printed neither "on" nor "off"`)
      return {
        isOn: word === 'on',
        ...(watts === undefined ? {} : { meter: powerMeter(watts, program) }),
        ...(channel === undefined ? {} : { channel: cellChannel(channel, program) }),
      }
    },
  }
}

function variablesIn(lines: readonly string[], path: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line, index) => {
      const [, name, value] = VARIABLE.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw southboundUnavailable(`line ${index + 1} of ${path} is not NAME=value`)
      return [name, value]
    }),
  )
}

/** What a program printed that ended with 0. When the signal fires, the program and all that it started is killed. */
async function outputOf(
  [file = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  const kill = (): void => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It is gone.
    }
  }
  signal.addEventListener('abort', kill, { once: true })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (output.length < MOST_OUTPUT) output += chunk
  })
  try {
    const problem = await new Promise<string | undefined>((resolve) => {
      child.on('error', ({ message }) => resolve(message))
      child.on('close', (code, by) =>
        resolve(code === 0 ? undefined : by === null ? `it ended with ${code}` : `it was ended by ${by}`),
      )
    })
    if (signal.aborted) throw southboundUnavailable(`${file} did not end in time`)
    if (problem !== undefined) throw southboundUnavailable(`${file} failed: ${problem}`)
    return output
  } finally {
    signal.removeEventListener('abort', kill)
  }
}
