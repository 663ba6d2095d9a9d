import { readFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { assert, suite } from '@steeple/testkit'
import { rawExchange } from './world/raw-socket.ts'
import { serveRoutes } from './world/serve-routes.ts'

const tls = suite('api/tls')

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8')
/** A certificate for localhost that only this test trusts. */
const pair = { key: fixture('localhost.key.pem'), cert: fixture('localhost.crt.pem') }

function get(port: number, path: string): Promise<{ status: number; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    httpsRequest(
      { host: '127.0.0.1', servername: 'localhost', port, path, ca: pair.cert, agent: false },
      (response) => {
        response
          .resume()
          .once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
      },
    )
      .once('error', reject)
      .end()
  })
}

tls('serves over TLS, with a word to browsers to stay there', async () => {
  const world = await serveRoutes([], { tls: pair })
  try {
    const answer = await get(world.port, '/v1/version')
    assert.is(answer.status, 200)
    assert.is(answer.headers['strict-transport-security'], 'max-age=31536000')
  } finally {
    await world.close()
  }
})

tls('never serves plaintext on the port', async () => {
  const world = await serveRoutes([], { tls: pair })
  try {
    assert.is(await rawExchange(world.port, 'GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n'), '')
  } finally {
    await world.close()
  }
})

tls.run()
