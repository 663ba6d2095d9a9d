import { assert, suite } from '@steeple/testkit'
import { imsiOf, patient } from '../support/clients.ts'
import { makeWorld } from '../support/world.ts'

const attaches = suite('driver-core-b/attaches')

const line = (second: number, imsi: string, text: string): string =>
  `2026-11-23T05:24:0${second}.1Z 2026-11-23T05:24:0${second}.103591801Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-${imsi}] ${text}\n`

attaches("tells of each registration once, by the output of the AMF's container", async () => {
  await using world = await makeWorld()
  const { engine, b } = world
  const [one, other] = [imsiOf(1), imsiOf(2)]
  const before = line(1, one, 'Handle Registration Complete')
  engine.say('c-amf', before)
  const begun = await b.driver.attaches?.(undefined, patient())
  assert.equal(begun?.imsis, [])
  const then = line(2, one, 'Handle Registration Complete') + line(3, other, 'Handle Registration Request')
  engine.say('c-amf', before + then + line(4, one, 'Handle Registration Complete'))
  const told = await b.driver.attaches?.(begun?.position, patient())
  assert.equal([told?.imsis, told?.isWhole], [[one, one], true])
  assert.equal((await b.driver.attaches?.(told?.position, patient()))?.imsis, [])
})

attaches('says that phones cannot register when three are refused and none gets on', async () => {
  await using world = await makeWorld()
  const { engine, b, fake } = world
  const refused = (second: number, number: number): string =>
    [
      `MobileIdentity5GS: SUCI[suci-0-999-70-0-0-0-000000000${number}]`,
      'Nausf_UEAU Authenticate Request Error: 404, Not Found',
      'Send Registration Reject',
    ]
      .map(
        (text) =>
          `2026-11-23T05:24:0${second}.1Z 2026-11-23T05:24:0${second}.1Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:${number}(3GPP)][supi:SUPI:] ${text}\n`,
      )
      .join('')
  await b.registration.look(patient())
  const two = refused(1, 1) + refused(2, 2) + refused(3, 2)
  engine.say('c-amf', two)
  await b.registration.look(patient())
  assert.is(b.registration.health().status, 'ok')
  engine.say('c-amf', two + refused(4, 3))
  await b.registration.look(patient())
  const { status, incident, detail } = b.registration.health()
  assert.equal([status, incident], ['degraded', 'no_registration'])
  assert.match(detail, /^3 phones were refused .* most: the UDM does not know it$/)
  assert.not.match(detail, /99970/)
  engine.say('c-amf', two + refused(4, 3) + line(5, imsiOf(9), 'Handle Registration Complete'))
  await b.registration.look(patient())
  assert.is(b.registration.health().status, 'ok')
  await fake.clock.advance(6 * 60_000)
  assert.match(b.registration.health().detail, /^0 phones/)
})

attaches('does not tell where the container is not known, or says nothing on that level', async () => {
  const world = await makeWorld()
  try {
    world.engine.say('c-amf', '2026-11-23T05:24:01Z 2026-11-23T05:24:01Z [ERRO][AMF][Gmm] no')
    assert.is((await world.b.driver.attaches?.(undefined, patient()))?.isTelling, false)
  } finally {
    await world.close()
  }
  await using unnamed = await makeWorld({ containers: {} })
  assert.is(await unnamed.b.driver.attaches?.(undefined, patient()), undefined)
})

attaches.run()
