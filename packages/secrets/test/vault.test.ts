import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TempDir, tempDir } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { createVault, type Keyring, openKeyring, sealedKeyId } from '../src/vault.ts'
import { withFrozenDisk } from './frozen-disk.ts'

const vault = suite('secrets/vault')

let root: TempDir
let count = 0
vault.before(async () => {
  root = await tempDir()
})
vault.after(() => root.remove())

/** A keys directory with a vault key and nothing else. */
function directory(): string {
  count++
  const path = join(root.path, `keys-${count}`)
  mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(path, 'vault.key'), randomBytes(32), { mode: 0o600 })
  return path
}

function ring(): Keyring {
  return openKeyring(directory())
}

function isCorrupt(work: () => unknown): boolean {
  try {
    work()
    return false
  } catch (error) {
    assert.is((error as { code?: unknown }).code, 'store_corrupt')
    return true
  }
}

vault('opens what it sealed, for the same row only', () => {
  const { seal, open } = createVault(ring())
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), fc.string(), (plain, rowId, other) => {
      const sealed = seal(plain, rowId)
      assert.equal([...open(sealed, rowId)], [...plain])
      if (other !== rowId) assert.ok(isCorrupt(() => open(sealed, other)))
    }),
  )
})

vault('never seals twice alike and adds 33 octets', () => {
  const { seal, keyId } = createVault(ring())
  // Long enough not to turn up by chance among random octets.
  const plain = 'sixteen octets !'
  const sealed = Array.from({ length: 100 }, () => Buffer.from(seal(Buffer.from(plain), 'a/1')))
  assert.is(new Set(sealed.map((value) => value.toString('hex'))).size, 100)
  assert.ok(sealed.every((value) => value.length === 33 + plain.length && value[0] === 1))
  assert.ok(sealed.every((value) => sealedKeyId(value) === keyId))
  assert.ok(sealed.every((value) => !value.includes(plain)))
})

vault('refuses a value with any octet changed, cut or added', () => {
  const { seal, open } = createVault(ring())
  const sealed = seal(Buffer.from('secret'), 'a/1')
  for (let at = 0; at < sealed.length; at++) {
    for (const bit of [1, 128]) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ bit
      assert.ok(
        isCorrupt(() => open(changed, 'a/1')),
        `octet ${at}`,
      )
    }
    assert.ok(isCorrupt(() => open(sealed.subarray(0, at), 'a/1')))
  }
  assert.ok(isCorrupt(() => open(Buffer.concat([sealed, Buffer.of(0)]), 'a/1')))
})

vault('survives any value', () => {
  const { open } = createVault(ring())
  fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (value) => isCorrupt(() => open(value, 'a/1'))))
})

vault('names the table, and nothing of the row, when a value does not open', () => {
  const { open } = createVault(ring())
  try {
    open(Buffer.alloc(50), 'sims_secrets/999990000000001')
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /sims_secrets/)
    assert.not.match((error as Error).message, /99999/)
  }
})

vault('seals under the new key at once and still opens what the old ones sealed', () => {
  const keyring = ring()
  const { seal, open } = createVault(keyring)
  const values = [seal(Buffer.from('0'), 'a/1')]
  for (const text of ['1', '2', '3']) {
    const before = keyring.current.id
    keyring.replace()
    assert.is.not(keyring.current.id, before)
    values.push(seal(Buffer.from(text), 'a/1'))
  }
  assert.is(keyring.replaced.length, 3)
  assert.is(new Set(values.map(sealedKeyId)).size, 4)
  assert.equal(
    values.map((value) => Buffer.from(open(value, 'a/1')).toString()),
    ['0', '1', '2', '3'],
  )
})

vault('forgets a retired key on the disk and refuses to retire the current one', () => {
  const path = directory()
  const keyring = openKeyring(path)
  const sealed = createVault(keyring).seal(Buffer.from('x'), 'a/1')
  const old = keyring.current.id
  keyring.replace()
  assert.equal(readdirSync(path).toSorted(), [`vault-${old}.key`, 'vault.key'])
  keyring.retire(old)
  assert.equal(readdirSync(path), ['vault.key'])
  assert.is(keyring.replaced.length, 0)
  assert.ok(isCorrupt(() => createVault(openKeyring(path)).open(sealed, 'a/1')))
  assert.throws(() => keyring.retire(keyring.current.id), /is in use/)
})

vault('loses no key when a replacement is killed at any point', async () => {
  for (let points = 0; ; points++) {
    const path = directory()
    const sealed = createVault(openKeyring(path)).seal(Buffer.from('x'), 'a/1')
    const { isFrozen } = await withFrozenDisk(points, () => openKeyring(path).replace())
    const keyring = openKeyring(path)
    assert.is(Buffer.from(createVault(keyring).open(sealed, 'a/1')).toString(), 'x', `after ${points}`)
    keyring.replace()
    assert.is(Buffer.from(createVault(openKeyring(path)).open(sealed, 'a/1')).toString(), 'x')
    if (!isFrozen) break
  }
})

vault('refuses a key file that is damaged or was renamed', () => {
  const path = directory()
  writeFileSync(join(path, 'vault-00000000.key'), randomBytes(32), { mode: 0o600 })
  assert.throws(() => openKeyring(path), /vault-00000000\.key is damaged/)
  const other = directory()
  writeFileSync(join(other, 'vault.key'), randomBytes(31), { mode: 0o600 })
  assert.throws(() => openKeyring(other), /must be 32 bytes/)
})

vault('remembers every table that was registered', () => {
  const path = directory()
  const { register } = createVault(openKeyring(path))
  register({ table: 'a_x', key: 'id', columns: ['k'] })
  register({ table: 'b_x', key: 'id', columns: ['k'] })
  const bytes = readFileSync(join(path, 'sealed-tables.json'), 'utf8')
  register({ table: 'a_x', key: 'id', columns: ['k'] })
  assert.is(readFileSync(join(path, 'sealed-tables.json'), 'utf8'), bytes)
  register({ table: 'b_x', key: 'id', columns: ['k', 'l'] })
  assert.equal(createVault(openKeyring(path)).registered(), [
    { table: 'a_x', key: 'id', columns: ['k'] },
    { table: 'b_x', key: 'id', columns: ['k', 'l'] },
  ])
  writeFileSync(join(path, 'sealed-tables.json'), '[{}]')
  assert.throws(() => openKeyring(path), /sealed-tables\.json is damaged/)
})

vault.run()
