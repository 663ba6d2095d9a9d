import { assert, suite } from '@steeple/testkit'
import { imsiOf, patient } from '../support/clients.ts'
import { makeWorld } from '../support/world.ts'

const attaches = suite('driver-core-b/attaches')

const line = (second: number, imsi: string, text: string): string =>
  `2026-11-23T05:24:0${second}.1Z 2026-11-23T05:24:0${second}.103591801Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-${imsi}] ${text}\n`

attaches("tells of each registration once, by the output of the AMF's container", async () => {
  const world = await makeWorld()
  try {
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
  } finally {
    await world.close()
  }
})

attaches('does not tell where the container is not known, or says nothing on that level', async () => {
  const world = await makeWorld()
  try {
    world.engine.say('c-amf', '2026-11-23T05:24:01Z 2026-11-23T05:24:01Z [ERRO][AMF][Gmm] no')
    assert.is((await world.b.driver.attaches?.(undefined, patient()))?.isTelling, false)
  } finally {
    await world.close()
  }
  const unnamed = await makeWorld({ containers: {} })
  try {
    assert.is(await unnamed.b.driver.attaches?.(undefined, patient()), undefined)
  } finally {
    await unnamed.close()
  }
})

attaches.run()
