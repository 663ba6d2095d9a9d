import { createHash } from 'node:crypto'
import { request as ask } from 'node:http'
import { ok, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const MIB = 1_048_576
const SIZE = 8 * MIB
const BODY = Buffer.alloc(SIZE, Buffer.from(Array.from({ length: 251 }, (_, i) => 33 + (i % 90)))).toString(
  'latin1',
)

const large = suite('api/large-body')
let world: World
/** What buffers the process had, when the handler had its body. */
let heldBytes = 0

const digest = (octets: Uint8Array | string): string => createHash('sha256').update(octets).digest('hex')
const octets = route<unknown, unknown, Uint8Array>({
  method: 'POST',
  path: '/v1/octets',
  role: 'operator',
  summary: 'Takes octets as a whole',
  audit: 'octets.put',
  rawBody: true,
  bodyLimit: SIZE,
  consumes: ['application/octet-stream'],
  handle: async ({ body }) => {
    heldBytes = process.memoryUsage().arrayBuffers
    return ok({ sha256: digest(body) })
  },
})

const json = route<unknown, unknown, Uint8Array | undefined>({
  method: 'POST',
  path: '/v1/json',
  role: 'operator',
  summary: 'Takes the octets of JSON, whatever that is',
  audit: 'json.put',
  schema: { body: { type: 'object', properties: {} } },
  rawBody: true,
  handle: async ({ body }) => ok({ text: body === undefined ? null : Buffer.from(body).toString() }),
})

large.before(async () => {
  world = await serveRoutes([octets, json])
})
large.after(() => world.close())

/** Sends pieces as they are, with their length before or in chunks; gives the answer. */
function send(pieces: readonly Buffer[], headers: Readonly<Record<string, string>>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const sent = ask(`${world.url}/v1/octets`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/octet-stream',
      ...headers,
    },
  })
  sent.on('error', reject)
  sent.on('response', (answer) => {
    let text = ''
    answer.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    answer.on('end', () => resolve(text))
  })
  for (const piece of pieces) sent.write(piece)
  sent.end()
  return promise
}

large('holds a body once, and not its pieces as well', async () => {
  const pieces = [Buffer.from(BODY)]
  const before = process.memoryUsage().arrayBuffers
  const text = await send(pieces, { 'content-length': String(BODY.length) })
  assert.equal(JSON.parse(text), { sha256: digest(BODY) })
  const held = heldBytes - before
  assert.ok(held < 1.5 * BODY.length, `${held} bytes are held for a body of ${BODY.length}`)
})

large('takes one whose length nobody says, up to the last octet that it may have', async () => {
  const pieces = [BODY.slice(0, 1), BODY.slice(1, 3 * MIB), BODY.slice(3 * MIB)].map((text) =>
    Buffer.from(text),
  )
  assert.equal(JSON.parse(await send(pieces, {})), { sha256: digest(BODY) })
  assert.is(JSON.parse(await send([...pieces, Buffer.from('x')], {})).error.code, 'body_too_large')
})

large('takes a short one whose length nobody says', async () => {
  assert.equal(JSON.parse(await send([Buffer.from('ab'), Buffer.from('c')], {})), { sha256: digest('abc') })
})

large(
  'leaves the octets of JSON to a handler that wants them, and judges their media type alone',
  async () => {
    const ask = (type: string) =>
      world.ask('/v1/json', {
        method: 'POST',
        token: ADMIN_TOKEN,
        body: '[1,',
        headers: { 'content-type': type },
      })
    assert.equal((await ask('application/json')).body, { text: '[1,' })
    assert.is((await ask('text/plain')).body.error.code, 'unsupported_media_type')
  },
)

large('gives no octets where no body came', async () => {
  const answer = await world.ask('/v1/json', { method: 'POST', token: ADMIN_TOKEN })
  assert.equal(answer.body, { text: null })
})

large.run()
