import { type KeepAlive, keepAlive } from './http-client.ts'
import type { Service } from './service.ts'

/** One request of a client and the judgement of its answer; throws what is wrong with it. */
export type Task = (client: KeepAlive, turn: number) => Promise<void>

/** Clients that send requests without a pause. */
export interface Load {
  /** What went wrong, at most the first twenty. */
  readonly problems: readonly string[]
  /** Requests answered as expected. */
  readonly answered: number
  /** TCP connections used by all clients together. */
  readonly connections: number
  /** Runs `work` while no client has a request in flight; their connections stay open. */
  whileQuiet<T>(work: () => Promise<T>): Promise<T>
  /** Lets each client finish its request, then closes the connections. */
  stop(): Promise<void>
}

const KEPT_PROBLEMS = 20

/** Starts one client for each task; it repeats its task over one kept-alive connection until `stop`. */
export function startLoad(service: Service, tasks: readonly Task[]): Load {
  const clients = tasks.map(() => keepAlive(service))
  const problems: string[] = []
  let answered = 0
  let isOver = false
  let quiet: Promise<void> | undefined
  let resting = 0

  const run = async (client: KeepAlive, task: Task): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      try {
        await task(client, turn)
        answered += 1
      } catch (error) {
        if (problems.length < KEPT_PROBLEMS) problems.push(String(error).slice(0, 400))
      }
      if (quiet === undefined) continue
      resting += 1
      await quiet
      resting -= 1
    }
  }
  const running = clients.map((client, index) => run(client, tasks[index] ?? (async () => undefined)))

  return {
    problems,
    get answered() {
      return answered
    },
    get connections() {
      return clients.reduce((sum, client) => sum + client.connections, 0)
    },
    whileQuiet: async (work) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      quiet = promise
      while (resting < clients.length) await new Promise((wake) => setTimeout(wake, 5))
      try {
        return await work()
      } finally {
        quiet = undefined
        resolve()
      }
    },
    stop: async () => {
      isOver = true
      await Promise.all(running)
      for (const client of clients) client.close()
    },
  }
}
