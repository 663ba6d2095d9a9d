import './support/hooks.ts'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Manifest, Request } from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import * as icons from '../src/ui/icons.ts'

const { iconOf } = await import('../src/ui/icon.tsx')

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

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
console('has the icons that its documentation lists, and that pages of plugins name', () => {
  const [, listed = ''] =
    /```icons\n([^`]+)\n```/.exec(readFileSync(`${ROOT}docs/how-to/console.md`, 'utf8')) ?? []
  assert.equal(listed.split(/\s/), Object.keys(icons))
  for (const path of globSync('packages/*/package.json', { cwd: ROOT })) {
    const { steeple }: { readonly steeple?: Manifest } = JSON.parse(readFileSync(ROOT + path, 'utf8'))
    for (const { path: page, group, icon = '' } of steeple?.pages ?? [])
      if (group !== undefined) assert.is(iconOf(icon), icon, `the icon of ${page}`)
  }
  assert.is(iconOf('constructor'), 'puzzle')
})
console.run()
