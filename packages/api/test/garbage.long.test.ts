import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ok, route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { rawConnection } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes } from './world/serve-routes.ts'

const garbage = suite('api/garbage')

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (how: { readonly type: 'minor' | 'major' }) => void

const REQUESTS = 3_000
const COLLECTED_EVERY = 25

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0

garbage(
  'a request that was in flight while the young generation was collected takes none after it along',
  async () => {
    let answered = 0
    const world = await serveRoutes([
      route({
        method: 'GET',
        path: '/v1/plain',
        role: 'viewer',
        summary: 'Collects now and then',
        handle: async () => {
          answered += 1
          if (answered % COLLECTED_EVERY === 0) collect({ type: 'minor' })
          return ok({})
        },
      }),
    ])
    const connection = await rawConnection(world.port)
    const get = `GET /v1/plain HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`
    const askFor = async (requests: number): Promise<void> => {
      for (const end = answered + requests; answered < end; ) {
        const next = answered + 10
        connection.write(get.repeat(10))
        await eventually(() => assert.is(answered, next))
      }
    }
    await askFor(500)
    collect({ type: 'major' })
    const before = oldBytes()
    await askFor(REQUESTS)
    const bytesEach = (oldBytes() - before) / REQUESTS
    connection.destroy()
    await world.close()
    assert.ok(bytesEach < 1_500, `${Math.round(bytesEach)} bytes of each request wait for the whole heap`)
  },
)

garbage.run()
