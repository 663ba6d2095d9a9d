import { assert, suite } from '@steeple/testkit'
import { attach, imsiOf, patient } from '../support/clients.ts'
import { makeWorld } from '../support/world.ts'

const diagnosis = suite('driver-core-b/diagnose')

const BLOCKED = (imsi: string): string =>
  `2026-11-23T05:24:50.103591801Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-${imsi}] CreateSmContextRequest Error: 403, Forbidden`

diagnosis(
  "tells a phone's state by the AMF's list and its attempts by the log of the AMF's container",
  async () => {
    await using world = await makeWorld()
    const { core, engine, b } = world
    const [on, off, stranger] = [imsiOf(1), imsiOf(2), imsiOf(3)]
    attach(core, on)
    engine.say('c-amf', BLOCKED(off))
    const ask = async (imsi: typeof on) => await b.driver.diagnose?.(imsi, patient())
    assert.match((await ask(on))?.state ?? '', /^registered/)
    assert.equal((await ask(on))?.attempts, [])
    const refused = await ask(off)
    assert.is(refused?.state, 'not registered')
    assert.equal(
      refused?.attempts?.map(({ refusal }) => refusal),
      ['not_allowed'],
    )
    assert.is((await ask(stranger))?.state, undefined)
    engine.say('c-amf', new Error('the engine does not answer'))
    assert.is((await ask(off))?.attempts, undefined)
    assert.is((await ask(off))?.logProblem, 'amf: the engine does not answer')
  },
)

diagnosis('says what to set where the log is not known', async () => {
  await using world = await makeWorld({ containers: {} })
  const found = await world.b.driver.diagnose?.(imsiOf(1), patient())
  assert.is(found?.attempts, undefined)
  assert.match(found?.logProblem ?? '', /core_b\.containers/)
})

diagnosis.run()
