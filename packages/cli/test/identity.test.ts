import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { bearerToken } from '../src/client/credentials.ts'
import { identityOf } from '../src/client/identity.ts'
import type { Terminal } from '../src/terminal.ts'
import { deafTerminal } from './fake-service.ts'

const identity = suite('cli/identity')
let root: TempDir
identity.before(async () => {
  root = await tempDir()
  const folder = join(root.path, 'svc')
  mkdirSync(folder)
  for (const name of ['cert', 'key', 'ca'])
    writeFileSync(join(folder, `${name}.pem`), `${name} in place`, { mode: 0o600 })
  writeFileSync(join(folder, 'box.json'), '{"node_id":"box"}')
  for (const name of ['other-ca', 'other-cert', 'other-key'])
    writeFileSync(join(root.path, name), name, { mode: 0o600 })
})
identity.after(() => root.remove())

const terminal = (env: Terminal['env']): Terminal =>
  deafTerminal({ XDG_CONFIG_HOME: root.path, ...env }, root.path)

const file = (name: string): string => join(root.path, name)
const IN_PLACE = { cert: 'cert in place', key: 'key in place' }

identity('is what stands in its place, with the CA that came with it', () => {
  assert.equal(identityOf(terminal({}), {}), { client: IN_PLACE, ca: 'ca in place', nodeId: 'box' })
})

identity('keeps the certificate in its place where another CA is given', () => {
  const wanted = { client: IN_PLACE, ca: 'other-ca', nodeId: 'box' }
  assert.equal(identityOf(terminal({ SVC_CA: file('other-ca') }), {}), wanted)
  assert.equal(identityOf(terminal({}), { ca: file('other-ca') }), wanted)
})

identity('is nothing of what stands in its place where a certificate is given', () => {
  const env = { SVC_CERT: file('other-cert'), SVC_KEY: file('other-key') }
  const client = { cert: 'other-cert', key: 'other-key' }
  assert.equal(identityOf(terminal(env), {}), { client, ca: undefined, nodeId: undefined })
  assert.equal(identityOf(terminal({ ...env, SVC_CA: file('other-ca') }), {}), {
    client,
    ca: 'other-ca',
    nodeId: undefined,
  })
})

identity('is a CA alone where nothing stands in its place', () => {
  const nowhere = { XDG_CONFIG_HOME: file('nowhere'), SVC_CA: file('other-ca') }
  assert.equal(identityOf(terminal(nowhere), {}), { client: undefined, ca: 'other-ca', nodeId: undefined })
  assert.is(identityOf(terminal({ XDG_CONFIG_HOME: file('nowhere') }), {}), undefined)
})

identity('warns of a token that others see once, however often a command connects', () => {
  let said = ''
  const err = (text: string): void => {
    said += text
  }
  const watched = { ...terminal({}), err }
  for (let n = 0; n < 3; n += 1) assert.is(bearerToken(watched, { token: 'svc_typed' }), 'svc_typed')
  assert.is(said, 'svc: warning: --token is visible in the process list; use SVC_TOKEN or --token-file\n')
})

identity.run()
