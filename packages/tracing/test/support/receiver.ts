import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as OTLP/HTTP in JSON has it (opentelemetry-proto 1.x, trace.proto). */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly links?: readonly { readonly traceId: string }[]
}

/** A receiver of OTLP over HTTP. */
export interface Receiver {
  readonly url: string
  spans(): readonly ReceivedSpan[]
  /** Everything that came, as it came. */
  text(): string
  close(): Promise<void>
}

interface Received {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

/** Begins to receive on a free port of loopback; `answer` may refuse, or say nothing. */
export async function startReceiver(
  answer = (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
): Promise<Receiver> {
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    texts.push(Buffer.concat(chunks).toString())
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    text: () => texts.join('\n'),
    spans: () =>
      texts.flatMap((text) =>
        (JSON.parse(text) as Received).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
