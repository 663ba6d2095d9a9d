import { createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from '@steeple/testkit'

/** How a receiver treats a message. */
export type Treatment = 'take' | 'fail' | 'hang' | 'reset' | 'redirect'

interface Delivery {
  readonly id: string
  readonly body: string
  readonly treatment: Treatment
  readonly payload: {
    readonly type: string
    readonly data: { readonly id: string; readonly subject: string; readonly rule: string }
  }
}

/** A receiver of Standard Webhooks in the process of the test. */
export interface WebhookReceiver {
  readonly url: string
  /** What came, in order; with a signature that holds. */
  readonly deliveries: readonly Delivery[]
  /** How many came with one that does not. */
  readonly forged: number
  close(): Promise<void>
}

/** Starts one, with its secret in `secretFile`. `treat` is asked at each message, with how often it came before. */
export async function startWebhookReceiver(
  secretFile: string,
  treat: (attempts: number) => Treatment,
): Promise<WebhookReceiver> {
  const key = randomBytes(32)
  writeFileSync(secretFile, `whsec_${key.toString('base64')}\n`, { mode: 0o600 })
  const deliveries: Delivery[] = []
  const counts = { forged: 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      if (!isSigned(request, body, key)) {
        counts.forged += 1
        response.writeHead(401).end()
        return
      }
      const id = String(request.headers['webhook-id'])
      const treatment = treat(deliveries.filter((one) => one.id === id).length)
      const payload = JSON.parse(body) as Delivery['payload']
      deliveries.push({ id, body, treatment, payload })
      answer(request, response, treatment)
    })
  })
  const { url, close } = await listen(server)
  return {
    url: `${url}/hook`,
    deliveries,
    get forged() {
      return counts.forged
    },
    close,
  }
}

function answer(request: IncomingMessage, response: ServerResponse, treatment: Treatment): void {
  if (treatment === 'take') response.writeHead(204).end()
  if (treatment === 'fail') response.writeHead(500).end('no')
  if (treatment === 'redirect') response.writeHead(307, { location: 'http://169.254.169.254/' }).end()
  if (treatment === 'reset') request.socket.resetAndDestroy()
}

/** Standard Webhooks, "Signature scheme", written out again: HMAC-SHA256 over id, time and body. */
function isSigned({ headers }: IncomingMessage, body: string, key: Buffer): boolean {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return headers['webhook-signature'] === expected
}
