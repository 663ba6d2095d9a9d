import { type ChildProcess, spawn } from 'node:child_process'
import { runTool } from '@steeple/testkit'

/** Another network namespace, with one leg in this one. */
export interface Neighbour {
  /** As `runTool`, inside of it. */
  run(file: string, ...args: readonly string[]): string
  /** Arguments that make a program run inside: `nsenter …`. */
  readonly inside: readonly string[]
  end(): void
}

/** Makes one: `here` is the end of the cable in this namespace, with the address `hereCidr`; its own is `e0`. */
export async function neighbour(here: string, hereCidr: string, thereCidr: string): Promise<Neighbour> {
  const holder = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', '-n', 'sh', '-c', 'echo up; exec sleep infinity'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await said(holder)
  const inside = ['nsenter', '-t', String(holder.pid), '-n']
  const runInside = (...command: readonly string[]): string => {
    const [file = '', ...args] = [...inside, ...command]
    return runTool(file, ...args)
  }
  runTool('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', 'e0', 'netns', String(holder.pid))
  runTool('ip', 'addr', 'add', hereCidr, 'dev', here)
  runTool('ip', 'link', 'set', here, 'up')
  runInside('ip', 'link', 'set', 'lo', 'up')
  runInside('ip', 'addr', 'add', thereCidr, 'dev', 'e0')
  runInside('ip', 'link', 'set', 'e0', 'up')
  return { run: runInside, inside, end: () => holder.kill('SIGKILL') }
}

function said(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('error', reject)
    child.once('close', () => reject(new Error('the namespace ended')))
  })
}
