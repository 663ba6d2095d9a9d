import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type SealedColumns, storeCorrupt, type Vault } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { lookupBy, registerSealed } from '../src/plugin.ts'
import { KEYS } from '../src/store/rows.ts'

const lookup = suite('esim-smdp/lookup')

/** A vault with a key of its own. */
function vaultOf(): Vault & { readonly registered: SealedColumns[] } {
  const key = randomBytes(32)
  const registered: SealedColumns[] = []
  return {
    keyId: '00000001',
    registered,
    register: (columns) => void registered.push(columns),
    seal: (plain, rowId) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(rowId))
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open: (sealed, rowId) => {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
      decipher.setAAD(Buffer.from(rowId)).setAuthTag(sealed.subarray(-16))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
      } catch (cause) {
        throw storeCorrupt('test', { cause })
      }
    },
  }
}

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')

lookup('gives the same text the same octets, in every instance and after a restart', async () => {
  const db = memoryDb(MIGRATIONS)
  const vault = vaultOf()
  const instances = Array.from({ length: 5 }, () => lookupBy(db, vault))
  const macs = await Promise.all(instances.map((one) => one.mac('ABC')))
  assert.is(new Set(macs.map(hex)).size, 1)
  assert.is(macs[0]?.length, 32)
  assert.is(hex(await lookupBy(db, vault).mac('ABC')), hex(macs[0] ?? new Uint8Array()))
  assert.not.equal(hex(await lookupBy(db, vault).mac('ABD')), hex(macs[0] ?? new Uint8Array()))
  assert.is((await KEYS.select(db, '')).length, 1)
  db.close()
})

lookup('has another key in another store', async () => {
  const [one, other] = [memoryDb(MIGRATIONS), memoryDb(MIGRATIONS)]
  const vault = vaultOf()
  assert.not.equal(hex(await lookupBy(one, vault).mac('A')), hex(await lookupBy(other, vault).mac('A')))
  one.close()
  other.close()
})

lookup('draws no other key when the one that is there does not open', async () => {
  const db = memoryDb(MIGRATIONS)
  await lookupBy(db, vaultOf()).mac('A')
  const [before] = await KEYS.select(db, '')
  for (let tries = 0; tries < 2; tries += 1)
    await lookupBy(db, vaultOf())
      .mac('A')
      .then(
        () => assert.unreachable(),
        (error: { code?: string }) => assert.is(error.code, 'store_corrupt'),
      )
  assert.equal(await KEYS.select(db, ''), [before])
  db.close()
})

lookup('tells the vault of the columns that a rotation must seal anew', () => {
  const vault = vaultOf()
  registerSealed(vault)
  const columns = vault.registered.flatMap(({ table, columns }) =>
    columns.map((column) => `${table}.${column}`),
  )
  for (const column of [
    'esim_smdp_code.matching_sealed',
    'esim_smdp_code.confirmation_sealed',
    'esim_smdp_key.key_sealed',
  ])
    assert.ok(columns.includes(column), column)
})

lookup.run()
