import { join } from 'node:path'
import { makeSigningKey, nodeIdentityRef, ownRoutesRef, type SigningKey } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { signLicense } from '../../src/routes/signed-license.ts'
import { settingsOf, type World, world } from '../support/world.ts'

const licenses = suite('policy/signed-license')

const PATH = '/v1/policy/license/signed'
const NODE = 'f00d'
const LICENSE = {
  node: NODE,
  country: 'DE',
  issued_at: '2020-11-01T00:00:00Z',
  reference: 'office 17',
  holder: 'Village',
  expires_at: '2099-01-01T00:00:00+01:00',
  allow_list: [{ technology: 'lte', band: 'b3', country: 'DE' }],
}

interface Office {
  readonly here: World
  readonly key: SigningKey
  sign(changed?: Partial<Record<keyof typeof LICENSE, unknown>>): object
  take(body: object): ReturnType<World['call']>
}

/** A box in a country, which trusts the key of an office. */
async function office(country = 'DE'): Promise<Office> {
  await using folder = await tempDir()
  const key = await makeSigningKey(join(folder.path, 'office.key'))
  const policy = { license_keys: [`${key.publicKey} office`] }
  const here = await world({ ...settingsOf(country), policy })
  here.fake.services.set(nodeIdentityRef.id, { nodeId: NODE, name: 'north' })
  return {
    here,
    key,
    sign: (changed = {}) => signLicense(JSON.stringify({ ...LICENSE, ...changed }), key),
    take: (body) => here.call('POST', PATH, body),
  }
}

async function spectrumOf(here: World): Promise<Record<string, unknown>> {
  return (await here.call('GET', '/v1/policy')).body.spectrum as Record<string, unknown>
}

licenses('says what a box may transmit, in place of what was allowed before; nothing is armed', async () => {
  const { here, sign, take } = await office()
  const other = [{ technology: 'nr', band: 'n78', country: 'DE' }]
  assert.is((await here.call('PUT', '/v1/policy', { spectrum: { allow_list: other } })).status, 200)
  assert.is((await here.call('GET', PATH)).body.license, null)
  const signed = sign()
  assert.equal((await take(signed)).status, 200)
  const { allow_list, license } = await spectrumOf(here)
  assert.equal(allow_list, LICENSE.allow_list)
  const { acknowledged_at, ...rest } = license as Record<string, unknown>
  assert.ok(acknowledged_at)
  assert.equal(rest, {
    ...{ acknowledged: true, reference: 'office 17', holder: 'Village' },
    ...{ expires_at: '2098-12-31T23:00:00.000Z', acknowledged_by: 'licence:office' },
  })
  assert.equal((await here.call('GET', '/v1/tx/arm')).body.armed, false)
  assert.is((await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })).status, 200)
  const { body } = await here.call('GET', PATH)
  assert.equal(
    { license: body.license, signature: body.signature, by: body.signed_by },
    { ...signed, by: 'office' },
  )
  await here.close()
})

licenses('ends what it does not allow, on the air too', async () => {
  const { here, sign, take } = await office()
  await take(sign())
  assert.is((await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })).status, 200)
  const narrow = [{ technology: 'lte', band: 'b3', country: 'DE', low_mhz: 1850, high_mhz: 1870 }]
  assert.is((await take(sign({ issued_at: '2020-11-02T00:00:00Z', allow_list: narrow }))).status, 200)
  await here.reconcile()
  assert.equal((await here.call('GET', '/v1/tx/arm')).body.armed, false)
  assert.equal(here.lifecycle, ['armed', 'disarmed'])
  await here.close()
})

licenses(
  'is refused for another box or country, when older, and when the rules would not take it',
  async () => {
    const { here, sign, take } = await office()
    await take(sign())
    const before = await spectrumOf(here)
    const changed = { reference: 'other', issued_at: '2020-11-02T00:00:00Z' }
    for (const [body, error, why] of [
      [sign({ ...changed, node: 'beef' }), 'validation_failed', /for the box beef/],
      [
        sign({ ...changed, country: 'FR' }),
        'validation_failed',
        /is for FR, and this box is set to stand in DE/,
      ],
      [sign({ ...changed, issued_at: '2020-10-31T23:59:59Z' }), 'invalid_transition', /older/],
      [sign({ reference: 'other' }), 'invalid_transition', /another licence of the same time/],
      [sign({ ...changed, issued_at: '2999-01-01T00:00:00Z' }), 'validation_failed', /ahead of the clock/],
      [
        sign({ ...changed, allow_list: [{ technology: 'lte', band: 'b999', country: 'DE' }] }),
        'validation_failed',
        /b999/,
      ],
    ] as const) {
      const answer = await take(body)
      assert.is(answer.error, error, JSON.stringify(answer))
      assert.match(String(answer.body.message), why)
    }
    assert.equal(await spectrumOf(here), before)
    await here.close()
  },
)

licenses('that a key has signed which was given up since binds nobody', async () => {
  const old = await office()
  await old.take(old.sign())
  const heir = await office()
  const policy = { license_keys: [`${heir.key.publicKey} heir`] }
  const here = await old.here.restart({ ...settingsOf('DE'), policy })
  here.fake.services.set(nodeIdentityRef.id, { nodeId: NODE, name: 'north' })
  const earlier = heir.sign({ issued_at: '2020-10-01T00:00:00Z', reference: 'heir' })
  assert.is((await here.call('POST', PATH, earlier)).status, 200)
  assert.is((await here.call('GET', PATH)).body.signed_by, 'heir')
  await heir.here.close()
  await here.close()
})

licenses('of anybody else, or changed by a character, is refused', async () => {
  const { here, sign, take } = await office()
  const foreign = await office()
  const answer = await take(foreign.sign())
  assert.match(String(answer.body.message), 'which is not in policy.license_keys of this box')
  assert.ok(String(answer.body.message).includes(foreign.key.publicKey))
  const { license, signature } = sign() as { license: string; signature: string }
  const other = (text: string, at: number): string =>
    `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`
  for (let at = 0; at < license.length; at++)
    assert.is(
      (await take({ license: other(license, at), signature })).error,
      'validation_failed',
      `license ${at}`,
    )
  // The last character of 64 octets in base64url has four bits that say nothing.
  const sum = signature.indexOf('"signature"') + '"signature": "'.length
  for (let at = sum; at < sum + 85; at++)
    assert.is(
      (await take({ license, signature: other(signature, at) })).error,
      'validation_failed',
      `signature ${at}`,
    )
  assert.equal((await spectrumOf(here)).allow_list, [])
  await foreign.here.close()
  await here.close()
})

licenses('names the country of a box that has none yet, as far as who brings it may set it', async () => {
  const { here, sign, take } = await office('LAB')
  const asked: object[] = []
  here.fake.services.set(ownRoutesRef.id, {
    ask: async ({ name }: { name: string }, question: object) => asked.push({ name, ...question }),
  })
  for (const refused of [
    { allow_list: [{ technology: 'lte', band: 'b999', country: 'DE' }] },
    { node: 'beef' },
  ])
    assert.is((await take(sign(refused))).error, 'validation_failed')
  assert.equal(asked, [], 'what is refused changes nothing')
  assert.is((await take(sign())).status, 200)
  assert.equal(asked, [
    { name: 'alice', method: 'PUT', path: '/v1/settings', body: { settings: { 'server.country': 'DE' } } },
  ])
  await here.close()
})
licenses.run()
