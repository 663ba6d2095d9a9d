import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Reply, Request, Route } from '../src/route.ts'
import { staticRoutes } from '../src/static-files.ts'

const files = suite('contracts/static-files')
let folder = ''
let routes: readonly Route[] = []

files.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-static-'))
  writeFileSync(join(folder, 'index.html'), '<p>')
  writeFileSync(join(folder, 'main.0a1b2c3d4e.js'), 'script')
  writeFileSync(join(folder, 'main.0a1b2c3d4e.js.gz'), gzipSync('script'))
  const page = { file: 'index.html', path: '/', summary: 'a page' } as const
  routes = staticRoutes({ folder, prefix: '/pages', summary: 'files', page })
})
files.after(() => rmSync(folder, { recursive: true }))

async function ask(path: string, file: string, accepted?: string): Promise<Reply> {
  const route = routes.find((one) => one.path === path)
  const request = { params: { file }, header: () => accepted }
  if (route === undefined) throw new Error(`no route ${path}`)
  return route.handle(request as unknown as Request<never, never, never>)
}

files('keeps what carries a hash for good, and asks anew for all else', async () => {
  const script = await ask('/pages/:file', 'main.0a1b2c3d4e.js')
  assert.is(script.headers?.['Cache-Control'], 'public, max-age=31536000, immutable')
  assert.is(script.headers?.['Content-Type'], 'text/javascript; charset=utf-8')
  assert.is(String(script.body), 'script')
  const page = await ask('/', '')
  assert.is(page.headers?.['Cache-Control'], 'no-cache')
  assert.match(page.headers?.['Content-Security-Policy'] ?? '', "default-src 'none'; script-src 'self'")
})

files('gives a coding that there is and that is not refused', async () => {
  for (const [accepted, coding] of [
    ['br, gzip', 'gzip'],
    ['gzip;q=0.5', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip; q=0.00', undefined],
    ['br', undefined],
    ['xgzip', undefined],
    [undefined, undefined],
  ] as const) {
    const { headers } = await ask('/pages/:file', 'main.0a1b2c3d4e.js', accepted)
    assert.is(headers?.['Content-Encoding'], coding, accepted)
  }
})

files('reads nothing but what lay in the folder when it was opened', async () => {
  writeFileSync(join(folder, 'later.js'), 'x')
  for (const name of ['later.js', '../package.json', 'main.0a1b2c3d4e.js.gz', '', '.'])
    try {
      await ask('/pages/:file', name)
      assert.unreachable(name)
    } catch (error) {
      assert.is((error as { code?: string }).code, 'not_found', name)
    }
})

files.run()
