import { type ClientCertificate, isServiceError, type Role } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import {
  countLive,
  findCertificate,
  insertCertificate,
  removeOver,
  revokeCertificate,
} from '../src/certificates/certificate-store.ts'
import { createOperatorCertificates } from '../src/certificates/operator-certificates.ts'
import { MIGRATIONS } from '../src/migrations.ts'
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

async function setting() {
  const db = memoryDb(MIGRATIONS)
  const users = new Map<string, readonly Role[]>([['u1', ['operator']]])
  await db.write((tx) => insertCertificate(tx, ROW))
  const service = createOperatorCertificates({
    ...UNBOUND,
    reader: db,
    caSha256: CA_SHA256,
    findHolder: async (_, id) => {
      const roles = users.get(id)
      return roles && { id, name: 'zoe', roles }
    },
  })
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
  users.set('u1', ['viewer'])
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
  users.delete('u1')
  assert.is(await ask(), 'certificate_revoked')
  users.set('u1', ['admin'])
  assert.match(await ask(), 'admin')
  await db.write((tx) => revokeCertificate(tx, ROW, 5_000))
  assert.is(await ask(), 'certificate_revoked')
  assert.is((await findCertificate(db, 'abc1'))?.revoked_at_ms, 5_000)
  assert.is(await countLive(db, 'u1', 1_000), 0)
})

operators('is forgotten a while after its end', async () => {
  const { db, ask } = await setting()
  assert.is(await db.write((tx) => removeOver(tx, 9_000, 10)), 0)
  assert.is(await db.write((tx) => removeOver(tx, 9_001, 10)), 1)
  assert.is(await ask(), 'nobody')
})

operators.run()
