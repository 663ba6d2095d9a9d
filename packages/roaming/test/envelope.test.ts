import { randomBytes } from 'node:crypto'
import type { Vault } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { drawKey, openFrom, sealTo } from '../src/envelope.ts'

const envelope = suite('roaming/envelope')
const HOME = '11111111-1111-4111-8111-111111111111'
const VISITED = '22222222-2222-4222-8222-222222222222'
const THIEF = '33333333-3333-4333-8333-333333333333'

/** A vault that seals nothing. */
const VAULT: Vault = {
  seal: (plain) => Uint8Array.from(plain),
  open: (sealed) => Uint8Array.from(sealed),
  keyId: '00000000',
  register: () => undefined,
}

async function refused(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  return String(Reflect.get(Object(error), 'code'))
}

envelope('opens for the box that it is sealed to, and for no other home or box', async () => {
  const [key, other] = [await drawKey(VAULT), await drawKey(VAULT)]
  const plain = randomBytes(300)
  const ends = { home: HOME, visited: VISITED }
  const sealed = await sealTo(key, ends, plain)
  assert.not.ok(sealed.includes(plain.toString('base64url')))
  assert.equal(Buffer.from((await openFrom(VAULT, key, ends, sealed)) ?? []), plain)
  assert.is(await openFrom(VAULT, other, ends, sealed), undefined, 'to another key')
  for (const wrong of [
    { home: THIEF, visited: VISITED },
    { home: HOME, visited: THIEF },
  ])
    assert.is(await refused(openFrom(VAULT, key, wrong, sealed)), 'validation_failed')
})

envelope('refuses what was changed, or is none, in whatever part', async () => {
  const key = await drawKey(VAULT)
  const ends = { home: HOME, visited: VISITED }
  const sealed = await sealTo(key, ends, randomBytes(300))
  for (let i = 0; i < sealed.length; i += 37) {
    const changed = `${sealed.slice(0, i)}${sealed[i] === 'A' ? 'B' : 'A'}${sealed.slice(i + 1)}`
    const code = await refused(
      openFrom(VAULT, key, ends, changed).then((opened) => assert.is(opened, undefined)),
    )
    assert.ok(code === 'validation_failed' || code === 'undefined', code)
  }
  for (const none of ['', '.', 'a.b.c.d.e', '....'])
    assert.is(await openFrom(VAULT, key, ends, none), undefined)
  assert.is(await refused(sealTo({ id: key.id, x: 'AAAA' }, ends, randomBytes(1))), 'validation_failed')
})

envelope.run()
