import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { LookupFunction } from 'node:net'
import { assert, eventually, listen, suite } from '@steeple/testkit'
import { codeOf, type HttpClient, type HttpClientOptions, httpClient, requestOnce } from '../src/index.ts'

const client = suite('http-client')
const patient = new AbortController().signal

/** Runs `work` with a client and a server that answers so; gives the connections that the server saw. */
async function withServer(
  listener: RequestListener,
  work: (client: HttpClient, url: URL) => Promise<void>,
  options: Partial<HttpClientOptions> = {},
): Promise<number> {
  let connections = 0
  const server = createServer(listener).on('connection', () => {
    connections += 1
  })
  const { url, close } = await listen(server)
  const made = httpClient({ maxBytes: 1_000, idleMs: 60_000, ...options })
  try {
    await work(made, new URL(`${url}/a?b=c`))
  } finally {
    made.close()
    await close()
  }
  return connections
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

client('keeps a connection, or makes one for each request', async () => {
  const twice = async (made: HttpClient, url: URL): Promise<void> => {
    for (let i = 0; i < 2; i += 1)
      assert.is((await made.request({ method: 'GET', url }, patient)).text, '/a?b=c')
  }
  const echo: RequestListener = ({ url }, outgoing) => outgoing.end(url)
  assert.is(await withServer(echo, twice, { connections: 1 }), 1)
  assert.is(await withServer(echo, twice, { idleMs: 0 }), 2)
})

client('repeats only what may be asked twice when its connection breaks', async () => {
  let asked = 0
  const breaking: RequestListener = ({ socket }, outgoing) => {
    asked += 1
    if (asked % 2 === 1) socket.destroy()
    else outgoing.end('there')
  }
  await withServer(breaking, async (made, url) => {
    assert.is((await made.request({ method: 'GET', url, mayRepeat: true }, patient)).text, 'there')
    assert.ok((await failure(made.request({ method: 'POST', url, body: '{}' }, patient))) instanceof Error)
    assert.is(asked, 3)
  })
})

client('follows no redirect and reads no answer beyond its bound', async () => {
  const away: RequestListener = (_, outgoing) =>
    outgoing.writeHead(302, { location: '/other' }).end('x'.repeat(1_000))
  await withServer(away, async (made, url) => {
    const { status, headers, text } = await made.request({ method: 'GET', url }, patient)
    assert.equal([status, headers.location, text.length], [302, '/other', 1_000])
  })
  await withServer(
    away,
    async (made, url) =>
      assert.match(
        String(await failure(made.request({ method: 'GET', url }, patient))),
        /larger than 999 bytes/,
      ),
    { maxBytes: 999 },
  )
})

client('ends with the reason of its signal, and names the code of a port that is closed', async () => {
  const silent: RequestListener = () => undefined
  let closed = new URL('http://127.0.0.1')
  await withServer(silent, async (made, url) => {
    closed = url
    const reason = new Error('enough')
    const ends = new AbortController()
    const asking = failure(made.request({ method: 'GET', url }, ends.signal))
    ends.abort(reason)
    assert.is(await asking, reason)
  })
  const made = httpClient({ maxBytes: 1, idleMs: 0 })
  assert.is(codeOf(await failure(made.request({ method: 'GET', url: closed }, patient))), 'ECONNREFUSED')
  made.close()
})

client('gives the status whatever becomes of a body that nobody looks at', async () => {
  const bodies: readonly ((outgoing: ServerResponse) => void)[] = [
    (outgoing) => outgoing.end('x'.repeat(100_000)),
    (outgoing) => outgoing.write('x', () => outgoing.socket?.resetAndDestroy()),
    (outgoing) => outgoing.write('x'),
  ]
  for (const body of bodies)
    await withServer(
      (_, outgoing) => body(outgoing.writeHead(503, { 'retry-after': '3' })),
      async (made, url) => {
        const request = { method: 'POST', url, body: '{}', isBodyUnread: true } as const
        const { status, headers, text } = await made.request(request, patient)
        assert.equal([status, headers['retry-after'], text], [503, '3', ''])
      },
    )
})

client('connects where its lookup says, once, and ends the connection', async () => {
  let ended = 0
  const echo: RequestListener = ({ headers, socket }, outgoing) => {
    socket.on('close', () => {
      ended += 1
    })
    outgoing.end(headers.host)
  }
  await withServer(echo, async (_, { port }) => {
    const url = new URL(`http://box.invalid:${port}/`)
    const lookup: LookupFunction = (_host, _options, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])
    const asked = requestOnce({ maxBytes: 100, connect: { lookup } }, { method: 'GET', url }, patient)
    assert.is((await asked).text, `box.invalid:${port}`)
    await eventually(() => assert.is(ended, 1))
  })
})

client.run()
