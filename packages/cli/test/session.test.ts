import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { assert, suite, tempDir } from '@steeple/testkit'
import { keepSession, sessionFor } from '../src/client/session.ts'
import { deafTerminal } from './fake-service.ts'

const session = suite('cli/session')
const BASE = new URL('https://box.local')

session('is there for other commands at each moment while it is exchanged', async () => {
  await using dir = await tempDir()
  const terminal = deafTerminal({ XDG_CONFIG_HOME: dir.path }, dir.path)
  const keep = async (n: number): Promise<void> => {
    const data = { token: `jwt-${n}`, token_type: 'Bearer', expires_at: '2027-01-01T00:00:00Z', roles: [] }
    const headers = new Headers({ 'set-cookie': `svc_refresh=${n}; Path=/` })
    await keepSession(terminal, BASE, 'ada', { data, headers })
  }
  await keep(0)
  let looks = 0
  let isOver = false
  const exchanging = (async () => {
    for (let n = 1; n <= 100; n++) await keep(n)
    isOver = true
  })()
  while (!isOver) {
    assert.match(sessionFor(terminal, BASE)?.token ?? 'none', /^jwt-\d+$/)
    looks += 1
    await turn()
  }
  await exchanging
  assert.ok(looks > 100)
  assert.is(sessionFor(terminal, BASE)?.token, 'jwt-100')
  assert.equal(readdirSync(join(dir.path, 'svc')), ['session.json'])
})

session.run()
