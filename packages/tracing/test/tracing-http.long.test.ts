import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Context, hssDriverRef, type Instance, type Plugin, route } from '@steeple/contracts'
import {
  assert,
  eventually,
  type InlinePlugin,
  listen,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

/** A span as OTLP/HTTP in JSON has it (opentelemetry-proto 1.x, trace.proto). */
interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly links?: readonly { readonly traceId: string }[]
}

/** A receiver of OTLP over HTTP. */
interface Receiver {
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
async function startReceiver(
  answer = (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
): Promise<Receiver> {
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    texts.push(await text(request))
    answer(response)
  })
  const { url, close } = await listen(server)
  return {
    url: `${url}/v1/traces`,
    text: () => texts.join('\n'),
    spans: () =>
      texts.flatMap((text) =>
        (JSON.parse(text) as Received).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    close,
  }
}

const test = suite('traces over HTTP')

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const SECRET = 'hunter2hunter2'

/** Issues something that a reconciler carries out by a call of the HSS driver, at the second try. */
const issuer: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const tries = new Map<string, number>()
    return {
      routes: [
        route<{ readonly id: string }, unknown, unknown>({
          method: 'POST',
          path: '/v1/things/:id',
          role: 'viewer',
          summary: 'Issue a thing',
          audit: 'thing.issue',
          handle: async (request) =>
            await request.mutate(request.params.id, async (tx) => {
              tx.dirty('thing', request.params.id)
              return { status: 200, body: {} }
            }),
        }),
      ],
      reconcilers: [
        {
          resource: 'thing',
          resyncMs: 3_600_000,
          batch: 100,
          keys: async () => [],
          reconcile: async (keys, signal) => {
            await context.use(hssDriverRef).remove([...keys] as never, signal)
            const [key = ''] = keys
            tries.set(key, (tries.get(key) ?? 0) + 1)
            return (tries.get(key) ?? 0) > 1
              ? { state: 'converged' }
              : { state: 'pending', afterMs: 50, reason: 'not yet' }
          },
        },
      ],
    }
  },
}
const driver: Plugin = {
  setup: async () => ({
    services: new Map([
      [
        hssDriverRef.id,
        {
          name: 'stand-in',
          upsert: async () => undefined,
          remove: async () => undefined,
          observe: async () => new Map(),
          setBlocked: async () => undefined,
        },
      ],
    ]),
  }),
}

function inline(id: string, of: Plugin, more: object): InlinePlugin {
  const manifest = {
    id,
    kind: 'feature',
    contracts: '*',
    config_path: id,
    handover: 'overlap',
    ...more,
  } as const
  return { manifest, name: id, version: '1.0.0', plugin: of }
}

async function startBed(url: string): Promise<Testbed> {
  const { startTestbed } = await loadTestbed()
  return await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      inline('issuer', issuer, { paths: { '/v1/things': {} } }),
      inline('driver', driver, { provides: [hssDriverRef.id] }),
    ],
    env: { SVC_TELEMETRY_OTLP_URL: url },
  })
}

async function issue(bed: Testbed, id: string, traceparent?: string): Promise<void> {
  const headers = { 'x-note': SECRET, ...(traceparent === undefined ? {} : { traceparent }) }
  const { status } = await bed.request('POST', `/v1/things/${id}`, { headers })
  assert.is(status, 200)
}

/** Names of spans from one to the root of what was received. */
function pathOf(spans: readonly ReceivedSpan[], span: ReceivedSpan): readonly string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return [span.name, ...(parent === undefined ? [String(span.parentSpanId)] : pathOf(spans, parent))]
}

async function withBed(work: (bed: Testbed, receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver()
  const bed = await startBed(receiver.url)
  try {
    await work(bed, receiver)
  } finally {
    await bed.stop()
    await receiver.close()
  }
}

test('a request, its mutation, what carries it out and its call to the core are one trace', async () => {
  await withBed(async (bed, receiver) => {
    await issue(bed, 'one', `00-${TRACE}-${CALLER}-01`)
    const wanted = [
      'hss.driver.remove',
      'reconcile thing',
      'mutation thing.issue',
      'POST /v1/things/:id',
      CALLER,
    ]
    await eventually(() => {
      const spans = receiver.spans().filter(({ traceId }) => traceId === TRACE)
      const calls = spans.filter(({ name }) => name === 'hss.driver.remove')
      // The second try belongs to it too.
      assert.is(calls.length, 2, JSON.stringify(spans.map(({ name }) => name)))
      // They come in batches: a call may be here before what it is a part of.
      for (const call of calls) assert.equal(pathOf(spans, call), wanted)
    })
    const text = receiver.text()
    for (const secret of [SECRET, bed.adminToken]) assert.not(text.includes(secret))
  })
})

test('what several requests asked for is told in the trace of each', async () => {
  await withBed(async (bed, receiver) => {
    const traces = Array.from({ length: 8 }, (_, at) => `${TRACE.slice(0, 31)}${at}`)
    await Promise.all(traces.map((trace, at) => issue(bed, `many-${at}`, `00-${trace}-${CALLER}-01`)))
    await eventually(() => {
      for (const trace of traces) {
        const spans = receiver.spans().filter(({ traceId }) => traceId === trace)
        const own = spans.find(({ name }) => name === 'reconcile thing')
        assert.ok(own !== undefined, trace)
        assert.equal(pathOf(spans, own).slice(1, 3), ['mutation thing.issue', 'POST /v1/things/:id'])
      }
    })
  })
})

test('a caller who wants no trace gets none, and one who says nothing gets one', async () => {
  await withBed(async (bed, receiver) => {
    await issue(bed, 'quiet', `00-${TRACE}-${CALLER}-00`)
    await issue(bed, 'odd', `00-${'0'.repeat(32)}-${CALLER}-01`)
    await eventually(() => {
      const roots = receiver.spans().filter(({ name }) => name === 'POST /v1/things/:id')
      assert.equal(
        roots.map(({ parentSpanId }) => parentSpanId ?? ''),
        [''],
      )
    })
    assert.equal(
      receiver.spans().filter(({ traceId }) => traceId === TRACE),
      [],
    )
  })
})

const TROUBLES = {
  'answers 500': async () => await startReceiver((response) => void response.writeHead(500).end()),
  hangs: async () => await startReceiver(() => undefined),
  redirects: async () =>
    await startReceiver(
      (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    ),
}
for (const [trouble, start] of Object.entries(TROUBLES))
  test(`a collector that ${trouble} costs nothing but the spans`, async () => {
    const receiver = await start()
    const bed = await startBed(receiver.url)
    try {
      for (let at = 0; at < 20; at++) await issue(bed, `t-${at}`)
      await eventually(() => assert.ok(receiver.spans().length > 0))
      await bed.settled()
    } finally {
      await bed.stop()
      await receiver.close()
    }
  })

test('a collector that is away is counted', async () => {
  await using bed = await startBed('http://127.0.0.1:1/v1/traces')
  await issue(bed, 'one')
  await eventually(async () => {
    const { body } = await bed.request('GET', '/metrics')
    assert.match(String(body), /svc_tracing_spans_total\{result="failed"\} [1-9]/)
  })
})

test.run()
