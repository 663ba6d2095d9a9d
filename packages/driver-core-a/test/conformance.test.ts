import type { Imsi } from '@steeple/contracts'
import { coreDriverConformance } from '@steeple/testkit'
import { DESIRED } from './support/desired.ts'
import { phone } from './support/phones.ts'
import { world } from './support/world.ts'

for (const generation of ['epc', '5gc'] as const) {
  coreDriverConformance(`driver-core-a, ${generation}`, async () => {
    const it = await world(generation)
    it.core.phones.push(phone(1, generation === 'epc' ? 'lte' : 'nr'))
    const daemon = generation === 'epc' ? 'mme' : 'amf'
    return {
      driver: it.a.driver,
      desired: DESIRED,
      otherDesired: { ...DESIRED, plmn: { mcc: '001', mnc: '05' }, tac: 9 },
      stranger: '001010000000001' as Imsi, // 15 digits
      failNextApply: async () => {
        it.engine.failing.set(`core-${daemon}`, `No ${daemon}.tai in '/etc/open5gs/${daemon}.yaml'`)
      },
      world: () => it.text(),
      close: () => it.close(),
    }
  })
}
