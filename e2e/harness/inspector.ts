import { eventually } from '@steeple/testkit'
import type { Service } from './service.ts'

/** Heap, timers and listeners of the service, after a full collection. */
export interface Footprint {
  /** Bytes. */
  readonly heapUsed: number
  readonly external: number
  /** Active timers of libuv's view, the fewest that were seen. */
  readonly timers: number
  /** Listeners on `process`. */
  readonly listeners: number
}

/** A look into the service from outside; it must have been started with `--inspect=127.0.0.1:0`. */
export interface Inspector {
  /** The value of an expression, by JSON. Throws when the expression throws. */
  evaluate(expression: string): Promise<unknown>
  /** Collects garbage until the heap no longer shrinks. */
  footprint(): Promise<Footprint>
  close(): void
}

/** Node's own flags for a service that `openInspector` is to look into. */
export const INSPECTOR_FLAGS: readonly string[] = ['--inspect=127.0.0.1:0']

interface Answer {
  readonly id?: number
  readonly error?: { readonly message: string }
  readonly result?: {
    readonly result?: { readonly value?: unknown }
    readonly exceptionDetails?: { readonly text: string }
  }
}

const FOOTPRINT = `({
  heapUsed: process.memoryUsage().heapUsed,
  external: process.memoryUsage().external,
  timers: process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length,
  listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
})`

/** Connects to the inspector that the service announced on its stderr. */
export async function openInspector(service: Service): Promise<Inspector> {
  const announced = /Debugger listening on (ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]+)/
  await eventually(async () => announced.test(service.output()))
  const socket = new WebSocket(announced.exec(service.output())?.[1] ?? '')
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  socket.addEventListener('message', ({ data }) => {
    const answer: Answer = JSON.parse(String(data))
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  })
  const call = async (method: string, params: object = {}): Promise<Answer> => {
    const id = ++lastId
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const answer = await answered
    waiting.delete(id)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer
  }
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result } = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
    if (result?.exceptionDetails !== undefined) throw new Error(result.exceptionDetails.text)
    return result?.result?.value
  }
  return {
    evaluate,
    footprint: async () => {
      let least: Footprint | undefined
      let timers = Number.POSITIVE_INFINITY
      for (let stable = 0; stable < 2; ) {
        await call('HeapProfiler.collectGarbage')
        const now = (await evaluate(FOOTPRINT)) as Footprint
        const hasShrunk = least === undefined || now.heapUsed < least.heapUsed - 20_000
        stable = hasShrunk ? 0 : stable + 1
        if (least === undefined || now.heapUsed < least.heapUsed) least = now
        timers = Math.min(timers, now.timers)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      if (least === undefined) throw new Error('nothing was measured')
      return { ...least, timers }
    },
    close: () => socket.close(),
  }
}
