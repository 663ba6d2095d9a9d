import { type ClientCertificate, isServiceError, type Role } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { createOperatorCertificates } from '../src/authenticator.ts'
import {
  CERTIFICATES,
  countLive,
  removeOver,
  revokeCertificate,
} from '../src/certificates/certificate-store.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { USERS } from '../src/people/user-store.ts'
import { CA_SHA256, UNBOUND } from './helpers.ts'

const operators = suite('access/operator-certificates')

const ROW = {
  serial: 'abc1',
  user_id: 'u1',
  name: 'zoe',
  label: '',
  issued_at_ms: 1_000,
  expires_at_ms: 9_000,
  revoked_at_ms: null,
  created_by: '{}',
  parent: null,
}
const SHOWN: ClientCertificate = { serial: 'abc1', name: 'zoe', caSha256: CA_SHA256, notAfterMs: 9_500 }

const USER = {
  id: 'u1',
  name: 'zoe',
  name_key: 'zoe',
  password_hash: '',
  created_at_ms: 1_000,
  created_by: '{}',
  last_login_at_ms: null,
}

async function setting() {
  const db = memoryDb(MIGRATIONS)
  const users = {
    set: (roles: readonly Role[]) =>
      db.write((tx) => USERS.put(tx, { ...USER, roles: JSON.stringify(roles) })),
    remove: () => db.write((tx) => USERS.remove(tx, { id: USER.id })),
  }
  await users.set(['operator'])
  await db.write((tx) => CERTIFICATES.insert(tx, ROW))
  const service = createOperatorCertificates({ ...UNBOUND, reader: db, caSha256: CA_SHA256 })
  const ask = async (over: Partial<ClientCertificate> = {}): Promise<string> => {
    try {
      const principal = await service.holderOf({ ...SHOWN, ...over })
      return principal === undefined ? 'nobody' : [...principal.roles].sort().join(' ')
    } catch (error) {
      return isServiceError(error) ? error.code : String(error)
    }
  }
  return { db, users, service, ask }
}

operators('is the user with the roles that it has now', async () => {
  const { users, service, ask } = await setting()
  assert.equal(await service.holderOf(SHOWN), {
    kind: 'cli',
    id: 'u1',
    name: 'zoe',
    roles: new Set(['operator', 'viewer']),
    expiresAtMs: 9_000,
    via: 'certificate:abc1',
  })
  await users.set(['viewer'])
  assert.is(await ask(), 'viewer')
})

operators('is nobody with a serial, name or CA that was never written down here', async () => {
  const { ask } = await setting()
  assert.is(await ask({ serial: 'abc2' }), 'nobody')
  assert.is(await ask({ name: 'root' }), 'nobody')
  assert.is(await ask({ caSha256: 'cd'.repeat(32) }), 'nobody')
})

operators('is revoked from the next request on, by hand or with its user', async () => {
  const { db, users, ask } = await setting()
  await users.remove()
  assert.is(await ask(), 'certificate_revoked')
  await users.set(['admin'])
  assert.match(await ask(), 'admin')
  await db.write((tx) => revokeCertificate(tx, ROW, 5_000))
  assert.is(await ask(), 'certificate_revoked')
  assert.is((await CERTIFICATES.find(db, { serial: 'abc1' }))?.revoked_at_ms, 5_000)
  assert.is(await countLive(db, 'u1', 1_000), 0)
})

operators('is forgotten a while after its end', async () => {
  const { db, ask } = await setting()
  assert.is(await db.write((tx) => removeOver(tx, 9_000, 10)), 0)
  assert.is(await db.write((tx) => removeOver(tx, 9_001, 10)), 1)
  assert.is(await ask(), 'nobody')
})

operators.run()
