import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What each of the connections of an attack does. */
export interface Attack {
  readonly port: number
  readonly connections: number
  /** Sent once connected, `times` in a row, in one piece. */
  readonly text: string
  readonly times: number
  /** Reads what comes; without it nothing is ever read. */
  readonly reads?: boolean
  /** Leaves without a word so many ms after it has sent. */
  readonly leavesAfterMs?: number
  /** Goes on sending, and comes back when it is cut off. */
  readonly isRepeated?: boolean
}

export interface Running {
  end(): Promise<void>
}

const ATTACKER = fileURLToPath(new URL('./attacker.ts', import.meta.url))

/** Starts an attack from another process; resolves once everything is sent (and, where it leaves, has left). */
export async function startAttack(attack: Attack): Promise<Running> {
  const child = fork(ATTACKER, {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  child.send(attack)
  await once(child, 'message')
  return {
    end: async () => {
      // It ends by itself when the service has cut it off.
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
