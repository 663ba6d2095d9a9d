import http from 'node:http'
import { eventually } from '@steeple/testkit'

/** An event as it was sent. */
export interface SentEvent {
  /** Undefined for events without an id of their own. */
  readonly id: number | undefined
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever the event carries
  readonly data: any
}

/** One connection to an event stream. */
export interface EventStream {
  readonly status: number
  /** Everything received so far, in order. */
  readonly events: readonly SentEvent[]
  /** How it ended: in order by the server, or cut off. */
  readonly ended: Promise<'in order' | 'cut off'>
  close(): void
}

/** What a connection is opened with. `token: undefined` sends none. */
export interface EventOptions {
  readonly token: string | undefined
  readonly lastEventId?: number | string
}

/** Opens `url` as an event stream; resolves with the head of the answer. Rejects when nothing answers. */
export function openEvents(url: string, { token, lastEventId }: EventOptions): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const request = http.get(
      url,
      {
        agent: false,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
        },
      },
      (incoming) => {
        const events: SentEvent[] = []
        let rest = ''
        incoming.setEncoding('utf8').on('data', (text: string) => {
          const blocks = (rest + text).split('\n\n')
          rest = blocks.pop() ?? ''
          for (const block of blocks) {
            const event = eventFrom(block)
            if (event !== undefined) events.push(event)
          }
        })
        incoming.on('error', () => undefined)
        resolve({
          status: incoming.statusCode ?? 0,
          events,
          ended: new Promise((done) => {
            incoming.on('close', () => done(incoming.complete ? 'in order' : 'cut off'))
          }),
          close: () => request.destroy(),
        })
      },
    )
    request.on('error', reject)
  })
}

/** The ids of what `url` sends from the beginning on, up to one behind `id`, gaps left out. */
export async function idsBeyond(url: string, token: string, id: number): Promise<readonly number[]> {
  const stream = await openEvents(url, { token, lastEventId: 0 })
  const sent = (): readonly number[] =>
    stream.events.flatMap((one) => (one.type === 'gap' || one.id === undefined ? [] : [one.id]))
  try {
    await eventually(async () => sent().some((one) => one > id))
    return sent()
  } finally {
    stream.close()
  }
}

/** Comments and `retry` alone are no event. */
function eventFrom(block: string): SentEvent | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? []
    fields.set(name, value)
  }
  const type = fields.get('event')
  if (type === undefined) return undefined
  const id = fields.get('id')
  return {
    id: id === undefined ? undefined : Number(id),
    type,
    data: JSON.parse(fields.get('data') ?? 'null'),
  }
}
