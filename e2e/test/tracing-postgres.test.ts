import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { assert, eventually, type Listening, listen, suite, tempDir } from '@steeple/testkit'
import { createFleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'

/*
 * Several instances on one store: what one of them is asked for, another one carries out. It is one trace, from the request
 * at the one to the call to the core by the other.
 */
const tracing = suite('e2e/tracing-postgres')
const NAMES = ['a', 'b'] as const
const LEADER_MS = 60_000
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
}

/** A receiver of OTLP over HTTP for each instance, so that it is known who has sent a span. */
async function startReceiver(): Promise<Pick<Listening, 'url' | 'close'> & { spans(): readonly Span[] }> {
  const spans: Span[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      for (const { scopeSpans } of JSON.parse(body).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  const { url, close } = await listen(server)
  return { url: `${url}/v1/traces`, spans: () => spans, close }
}

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else
  tracing('goes on where another instance carries out what one was asked for', async () => {
    await using dir = await tempDir()
    const schema = await ownSchema()
    const receivers = new Map(
      await Promise.all(NAMES.map(async (name) => [name, await startReceiver()] as const)),
    )
    // The tool is none: that the HSS was asked is all that counts.
    const env = { SVC_HSS_DRIVER: 'dbctl', SVC_HSS_DBCTL_PATH: '/nonexistent' }
    const fleet = await createFleet({ dir: dir.path, store: () => schema.url, env })
    try {
      for (const name of NAMES)
        await fleet.start(name, { env: { SVC_TELEMETRY_OTLP_URL: receivers.get(name)?.url ?? '' } })
      const leader = await fleet.leader(NAMES, LEADER_MS)
      const [other = 'b'] = NAMES.filter((name) => name !== leader)
      const response = await fetch(`${fleet.of(other).url}/v1/sims`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${fleet.token}`,
          'content-type': 'application/json',
          traceparent: `00-${TRACE}-${CALLER}-01`,
        },
        body: '{}',
      })
      assert.is(response.status, 201, await response.text())
      await eventually(() => {
        const asked = spansOf(other)
        // Whoever leads by now: on a busy machine that may be another one.
        const done = NAMES.flatMap((name) => spansOf(name))
        const names = JSON.stringify([asked, done].map((spans) => spans.map(({ name }) => name)))
        const mutation = asked.find(({ name }) => name === 'mutation sim.issue')
        const reconcile = done.find(({ name }) => name === 'reconcile sim')
        assert.ok(mutation !== undefined && reconcile !== undefined, names)
        assert.is(reconcile.parentSpanId, mutation.spanId)
        const call = done.find(({ name }) => name.startsWith('hss.driver.'))
        assert.ok(call !== undefined, names)
        assert.ok(done.some(({ name, spanId }) => name === 'reconcile sim' && spanId === call.parentSpanId))
      })
    } finally {
      await fleet.end()
      for (const receiver of receivers.values()) receiver.close()
      await schema.drop()
    }

    function spansOf(name: 'a' | 'b'): readonly Span[] {
      const all = receivers.get(name)?.spans() ?? []
      return all.filter(({ traceId }) => traceId === TRACE)
    }
  })

tracing.run()
