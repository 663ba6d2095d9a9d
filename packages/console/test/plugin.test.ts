import type { Request } from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

const console = suite('console/plugin')
console('serves its files and its page to anybody, and changes nothing', async () => {
  const { routes = [] } = await plugin.setup(fakeContext({ config: {} }).context)
  assert.equal(
    routes.map(({ method, path, role }) => [method, path, role]),
    [
      ['GET', '/', 'public'],
      ['GET', '/console-files/:file', 'public'],
    ],
  )
  const asked = { header: () => undefined, params: {} } as unknown as Request<never, never, never>
  const reply = await routes[0]!.handle(asked)
  assert.match(String(reply.body), '<div id="app">')
})
console.run()
