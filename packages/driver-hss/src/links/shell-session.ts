import { randomBytes } from 'node:crypto'
import { southboundUnavailable } from '@steeple/contracts'
import { EJSON } from 'bson'
import type { Doc } from './document-link.ts'
import { lineReader } from './line-reader.ts'
import type { ShellHost, ShellProcess } from './shell-host.ts'
import { ANSWER_MARK } from './shell-script.ts'

/** The longest answer, bytes; more is a shell gone mad. */
const ANSWER_MAX = 64 * 1024 * 1024

/** One running mongosh. One request at a time. */
export interface ShellSession {
  readonly isOver: boolean
  /** The answer to one request. Rejects with `southbound_unavailable` when the shell ends or answers nonsense. */
  ask(request: Doc): Promise<Doc>
  close(): void
}

/** Starts a mongosh on `host`. */
export async function openSession(
  host: ShellHost,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ShellSession> {
  let over: string | undefined
  let waiting: { readonly id: string; readonly answer: PromiseWithResolvers<Doc> } | undefined
  let shell: ShellProcess | undefined
  const reader = lineReader(ANSWER_MAX)
  const finish = (why: string): void => {
    over ??= why
    waiting?.answer.reject(southboundUnavailable(`${host.where}: ${over}`))
    waiting = undefined
  }
  const read = (line: string): void => {
    if (waiting === undefined || !line.startsWith(`${ANSWER_MARK}${waiting.id}:`)) return
    const { answer, id } = waiting
    waiting = undefined
    try {
      // Canonical EJSON: numbers come as Int32, Long and Double.
      answer.resolve(EJSON.parse(line.slice(ANSWER_MARK.length + id.length + 1), { relaxed: false }) as Doc)
    } catch {
      answer.reject(southboundUnavailable(`${host.where}: mongosh answers nonsense`))
    }
  }
  shell = await host.start(
    command,
    {
      output: (bytes) => {
        const lines = reader.add(bytes)
        if (lines === undefined) {
          finish('mongosh answers without end')
          shell?.destroy()
          return
        }
        for (const line of lines) read(line)
      },
      ended: finish,
    },
    signal,
  )
  const running = shell
  return {
    get isOver() {
      return over !== undefined
    },
    ask: async (request) => {
      if (over !== undefined) throw southboundUnavailable(`${host.where}: ${over}`)
      const id = randomBytes(8).toString('hex')
      const answer = Promise.withResolvers<Doc>()
      waiting = { id, answer }
      running.write(EJSON.stringify({ id, ...request }, { relaxed: false }))
      return await answer.promise
    },
    close: () => {
      finish('the connection was closed')
      running.destroy()
    },
  }
}
