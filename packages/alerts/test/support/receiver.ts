import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { listen } from '@steeple/testkit'
import { Webhook } from 'standardwebhooks'

/** The secret of the receivers of tests. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export interface Taken {
  readonly id: string
  readonly body: string
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly payload: {
    readonly type: string
    readonly timestamp: string
    readonly text: string
    readonly data: Readonly<Record<string, unknown>>
  }
}

/** A receiver of webhooks on a free loopback port. */
export interface Receiver {
  readonly url: string
  readonly port: number
  /** Every message with a signature that holds, in the order in which they came, whatever was answered. */
  readonly taken: readonly Taken[]
  /** How many came with a signature that does not hold. */
  readonly forged: number
  /** What it answers from now on; `hang` never, `reset` by closing the connection. */
  answer: number | 'hang' | 'reset'
  /** Headers of its answers. */
  headers: Record<string, string>
  close(): Promise<void>
}

/** Starts one that answers 204. Where time is a fake clock's, it takes messages of whatever time. */
export async function startReceiver(secret: string = SECRET, isTimeless = false): Promise<Receiver> {
  const webhook = new Webhook(secret)
  const taken: Taken[] = []
  const receiver = { answer: 204 as Receiver['answer'], headers: {}, forged: 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const message = takenFrom(webhook, body, request, isTimeless)
      if (message === undefined) receiver.forged += 1
      else taken.push(message)
      if (receiver.answer === 'hang') return
      if (receiver.answer === 'reset') request.socket.resetAndDestroy()
      else response.writeHead(receiver.answer, receiver.headers).end('thanks')
    })
  })
  const { port, url, close } = await listen(server)
  return Object.assign(receiver, { port, url: `${url}/hook`, taken, close })
}

/** The message of a request; undefined when its signature does not hold. */
function takenFrom(
  webhook: Webhook,
  body: string,
  { headers, url = '' }: IncomingMessage,
  isTimeless: boolean,
): Taken | undefined {
  const id = String(headers['webhook-id'])
  const at = new Date(Number(headers['webhook-timestamp']) * 1_000)
  try {
    // The headers of a message are single ones.
    if (!isTimeless) webhook.verify(body, headers as Record<string, string>)
    else if (headers['webhook-signature'] !== webhook.sign(id, at, body)) return undefined
    return { id, body, headers, path: url, payload: JSON.parse(body) as Taken['payload'] }
  } catch {
    return undefined
  }
}
