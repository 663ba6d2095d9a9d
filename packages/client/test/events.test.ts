import { assert, eventually, suite } from '@steeple/testkit'
import { createClient, type StreamState } from '../src/index.ts'
import { failing, type Script, type ScriptedServer, scriptedServer } from './world/scripted-server.ts'

const events = suite('client/events')

let server: ScriptedServer | undefined
events.after.each(async () => {
  await server?.close()
  server = undefined
})

const change = (id: number): string =>
  `id: ${id}\nevent: sim.issue\ndata: ${JSON.stringify({ id, at: '2026-01-01T00:00:00.000Z', type: 'sim.issue', subject: 's', data: {} })}\n\n`

/** Sends these frames; ends the stream after them when asked to. */
function stream(text: string, isEnd: boolean): Script[number] {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
    if (isEnd) response.end()
  }
}

async function follow(
  script: Script,
  ids: number,
  options: Partial<Parameters<typeof createClient>[0]> = {},
) {
  server = await scriptedServer(script)
  const { url } = server
  const client = createClient({ url, token: 't', longestWaitMs: 5, ...options })
  const states: StreamState[] = []
  const seen: unknown[] = []
  const controller = new AbortController()
  const onState = (state: StreamState): void => void states.push(state)
  for await (const event of client.events({ signal: controller.signal, onState })) {
    seen.push(event.kind === 'gap' ? `gap ${event.after}-${event.until}` : event.id)
    if (seen.length === ids) controller.abort()
  }
  return { server, states, seen }
}

const positions = ({ arrived }: ScriptedServer) => arrived.map(({ headers }) => headers['last-event-id'])

events(
  'gives each change once over streams that end, go on behind the last one, and tell of gaps',
  async () => {
    const gap = 'id: 9\nevent: gap\ndata: {"after":2,"until":9}\n\n'
    const { server, states, seen } = await follow(
      [
        stream(`retry: 1\n\n${change(1)}${change(2)}`, true),
        stream(`: hi\n\n${gap}`, true),
        stream(change(10), false),
      ],
      4,
    )
    assert.equal(seen, [1, 2, 'gap 2-9', 10])
    assert.equal(positions(server), [undefined, '2', '9'])
    assert.equal(
      states.map(({ state }) => state),
      ['open', 'waiting', 'open', 'waiting', 'open'],
    )
  },
)

events('goes on where the stream began when it is lost before the first change', async () => {
  const { server, seen } = await follow([stream('retry: 1\nid: 41\n\n', true), stream(change(42), false)], 1)
  assert.equal(seen, [42])
  assert.equal(positions(server), [undefined, '41'])
})

events('opens a silent stream anew, and waits for a service that is not there', async () => {
  let refusals = 0
  // By what has arrived, since an early end of patience only leads to one more connection.
  const answer: Script[number] = (request, response) => {
    if (request.headers['last-event-id'] === undefined)
      return stream(`retry: 1\n\n${change(1)}`, false)(request, response)
    refusals += 1
    const next = refusals === 1 ? failing(503, 'not_ready') : stream(change(2), false)
    next(request, response)
  }
  const { server, seen } = await follow([answer], 2, { silenceMs: 100 })
  assert.equal(seen, [1, 2])
  assert.equal([...new Set(positions(server))], [undefined, '1'])
})

events('asks for a new token, and throws when the service refuses for good', async () => {
  server = await scriptedServer([failing(401, 'token_expired'), failing(403, 'forbidden')])
  const client = createClient({ url: server.url, token: (old) => (old === undefined ? 'old' : 'new') })
  const error = await client
    .events()
    .next()
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
  assert.match(String(error), /forbidden/)
  assert.equal(
    server.arrived.map(({ headers }) => headers.authorization),
    ['Bearer old', 'Bearer new'],
  )
})

events('ends with its signal while it waits and while it listens, and closes the connection', async () => {
  let closed = 0
  server = await scriptedServer([
    (_, response) => {
      response.on('close', () => {
        closed += 1
      })
      response.writeHead(200).write(change(1))
    },
  ])
  const client = createClient({ url: server.url, token: 't' })
  const controller = new AbortController()
  const stream = client.events({ signal: controller.signal })
  assert.is((await stream.next()).value?.id, 1)
  const next = stream.next()
  controller.abort()
  assert.is((await next).done, true)
  await eventually(() => closed === 1)
  const other = client.events()
  assert.is((await other.next()).value?.id, 1)
  await other.return()
  await eventually(() => closed === 2)
})

events.run()
